// out: 5 6
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

typedef int (*Op)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int mul(int a, int b) { return a * b; }
__device__ Op ops[2] = {add, mul};
__global__ void k(int* x) { x[threadIdx.x] = ops[threadIdx.x](2, 3); }
int main() { int* x; CHECK(cudaMallocManaged(&x, 8)); k<<<1, 2>>>(x); CHECK(cudaDeviceSynchronize()); printf("%d %d\n", x[0], x[1]); }
