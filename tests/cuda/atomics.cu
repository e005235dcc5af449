// out: 64 63 0 2016 7
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(int* x) {
    int t = threadIdx.x;
    atomicAdd(x, 1); atomicMax(x + 1, t); atomicMin(x + 2, t); atomicAdd(x + 3, t); atomicCAS(x + 4, 0, 7);
}
int main() { int *d, h[5] = {0, -1, 99, 0, 0}; CHECK(cudaMalloc(&d, 20)); CHECK(cudaMemcpy(d, h, 20, cudaMemcpyHostToDevice)); k<<<1, 64>>>(d); CHECK(cudaMemcpy(h, d, 20, cudaMemcpyDeviceToHost)); printf("%d %d %d %d %d\n", h[0], h[1], h[2], h[3], h[4]); }
