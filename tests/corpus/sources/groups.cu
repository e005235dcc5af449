#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups_tiles(const int *in, int *out) {
    cg::thread_block b = cg::this_thread_block();
    auto t = cg::tiled_partition<8>(b);
    int v = in[b.thread_rank()];
    v = cg::reduce(t, v, cg::plus<int>());
    v += cg::inclusive_scan(t, v);
    t.sync();
    out[b.thread_rank()] = v + t.shfl(v, 0) + t.ballot(v > 3) + t.any(v) + t.meta_group_rank();
    b.sync();
}
extern "C" __global__ void groups_coalesced(const int *in, int *out) {
    if (in[threadIdx.x] > 0) { cg::coalesced_group g = cg::coalesced_threads(); out[threadIdx.x] = g.size() + g.thread_rank() + g.shfl_down(in[threadIdx.x], 1); }
}
extern "C" __global__ void groups_grid(int *data, int n) {
    cg::grid_group g = cg::this_grid();
    for (int i = g.thread_rank(); i < n; i += g.size()) data[i] *= 2;
    g.sync();
    if (g.thread_rank() == 0) data[n] = data[0] + data[n - 1];
}
