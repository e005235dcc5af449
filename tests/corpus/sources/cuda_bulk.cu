#include <cuda/barrier>
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// The programming guide's example: a tile in by cp_async_bulk with a barrier, out by a bulk group.
extern "C" __global__ void add_one(int *data, int offset) {
  __shared__ alignas(16) int tile[1024];
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::memcpy_async(tile, data + offset + blockIdx.x * 1024, cuda::aligned_size_t<16>(sizeof(tile)), bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, 0);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data + offset + blockIdx.x * 1024, tile, sizeof(tile));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// One warp copies, the others add; several stages.
extern "C" __global__ void stream(const int *in, int *out, int n) {
  constexpr int depth = 3;
  __shared__ alignas(16) int tile[depth][128];
  __shared__ uint64_t full[depth], empty[depth];
  if (threadIdx.x == 0)
    for (int i = 0; i < depth; i++) { ptx::mbarrier_init(&full[i], 1); ptx::mbarrier_init(&empty[i], 128); }
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128)
      for (int i = 0; i < n; i++) {
        int s = i % depth, phase = i / depth & 1;
        while (!ptx::mbarrier_try_wait_parity(&empty[s], phase ^ 1)) {}
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 512);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[s], in + i * 128, 512, &full[s]);
      }
  } else {
    int sum = 0;
    for (int i = 0; i < n; i++) {
      int s = i % depth, phase = i / depth & 1;
      while (!ptx::mbarrier_try_wait_parity(&full[s], phase)) {}
      sum += tile[s][127 - threadIdx.x] * (i + 1);
      ptx::mbarrier_arrive(&empty[s]);
    }
    out[threadIdx.x] = sum;
  }
}
