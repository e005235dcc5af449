#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline_primitives.h>
namespace cg = cooperative_groups;

// Four stages, all threads make and take.
extern "C" __global__ void stages(const int *in, int *out, int n) {
  constexpr int depth = 4;
  __shared__ int tile[depth][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, depth> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int made = 0, taken = 0; taken < n; taken++) {
    for (; made < n && made < taken + depth; made++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[made % depth], in + made * 128, cuda::aligned_size_t<16>(512), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[taken % depth][127 - threadIdx.x] * (taken + 1);
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// Half of the threads make, half take.
extern "C" __global__ void roles(const int *in, int *out, int n) {
  constexpr int depth = 2;
  __shared__ int tile[depth][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, depth> state;
  auto block = cg::this_thread_block();
  auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  int t = threadIdx.x % 32;
  if (role == cuda::pipeline_role::producer) {
    for (int i = 0; i < n; i++) {
      pipe.producer_acquire();
      cuda::memcpy_async(&tile[i % depth][t], in + i * 32 + t, sizeof(int), pipe);
      pipe.producer_commit();
    }
  } else {
    int sum = 0;
    for (int i = 0; i < n; i++) {
      pipe.consumer_wait();
      sum += tile[i % depth][31 - t];
      pipe.consumer_release();
    }
    out[t] = sum;
  }
}

// A pipeline of each thread alone, and the primitives under it.
extern "C" __global__ void own(const int4 *in, int *out, int n) {
  __shared__ int4 tile[3][64];
  int sum = 0;
  for (int i = 0; i < 2; i++) { __pipeline_memcpy_async(&tile[i][threadIdx.x], &in[i * 64 + threadIdx.x], 16); __pipeline_commit(); }
  for (int i = 0; i < n; i++) {
    if (i + 2 < n) __pipeline_memcpy_async(&tile[(i + 2) % 3][threadIdx.x], &in[(i + 2) * 64 + threadIdx.x], 16, i % 3 == 0 ? 4 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    int4 v = tile[i % 3][threadIdx.x];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
  }
  out[threadIdx.x] = sum;
}
