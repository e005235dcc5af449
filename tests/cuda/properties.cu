// out: Hostwarp 9.0 warp 32
// out: threads 1024 shared 49152
// out: 1 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

int main() {
    cudaDeviceProp p; int n, v; CHECK(cudaGetDeviceCount(&n)); CHECK(cudaGetDeviceProperties(&p, 0));
    printf("%s %d.%d warp %d\n", p.name, p.major, p.minor, p.warpSize);
    CHECK(cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0));
    printf("threads %d shared %zu\n", v, p.sharedMemPerBlock);
    printf("%d %d\n", n, p.multiProcessorCount >= 1 && p.totalGlobalMem > 1 << 20);
}
