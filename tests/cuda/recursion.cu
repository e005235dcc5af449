// out: fib 610
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void k(int* x) { *x = fib(15); }
int main() { int* x; CHECK(cudaMallocManaged(&x, 4)); k<<<1, 1>>>(x); CHECK(cudaDeviceSynchronize()); printf("fib %d\n", *x); }
