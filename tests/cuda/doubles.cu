// out: 2.000000 1.732051 0.333333
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(double* x) { x[0] = sqrt(4.0 * x[3]); x[1] = sqrt(3.0 * x[3]); x[2] = x[3] / 3.0; }
int main() { double* x; CHECK(cudaMallocManaged(&x, 32)); x[3] = 1; k<<<1, 1>>>(x); CHECK(cudaDeviceSynchronize()); printf("%f %f %f\n", x[0], x[1], x[2]); }
