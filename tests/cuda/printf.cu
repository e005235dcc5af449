// out: thread 0 of 2: 1.50 abc
// out: thread 1 of 2: 2.50 abc
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(float x) { printf("thread %d of %d: %.2f %s\n", threadIdx.x, blockDim.x, x + threadIdx.x, "abc"); }
int main() { k<<<1, 2>>>(1.5f); CHECK(cudaDeviceSynchronize()); }
