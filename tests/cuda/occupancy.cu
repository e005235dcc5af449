// out: 8 1
// out: attributes 1024 256
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(float* x) { __shared__ float s[64]; s[threadIdx.x % 64] = x[0]; __syncthreads(); x[threadIdx.x] = s[0]; }
int main() {
    int blocks, grid, block; CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, 0));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, k, 0, 0));
    printf("%d %d\n", blocks, grid >= 1 && block >= 32);
    cudaFuncAttributes a; CHECK(cudaFuncGetAttributes(&a, k));
    printf("attributes %d %zu\n", a.maxThreadsPerBlock, a.sharedSizeBytes);
}
