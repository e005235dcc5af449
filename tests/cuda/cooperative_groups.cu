// out: tile 496
// out: block 2016
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* out) {
    auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<32>(block);
    __shared__ int s; if (block.thread_rank() == 0) s = 0; block.sync();
    int x = tile.thread_rank();
    for (int d = tile.size() / 2; d; d /= 2) x += tile.shfl_down(x, d);
    atomicAdd(&s, (int)block.thread_rank()); block.sync();
    if (block.thread_rank() == 0) { out[0] = x; out[1] = s; }
}
int main() { int* x; CHECK(cudaMallocManaged(&x, 8)); k<<<1, 64>>>(x); CHECK(cudaDeviceSynchronize()); printf("tile %d\nblock %d\n", x[0], x[1]); }
