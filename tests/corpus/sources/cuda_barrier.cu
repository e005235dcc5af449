#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

// All threads of a CTA meet at a cuda::barrier between writing and reading, n times.
extern "C" __global__ void meet(int *out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int data[256];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  int v = threadIdx.x;
  for (int i = 0; i < n; i++) {
    data[threadIdx.x] = v;
    bar.arrive_and_wait();
    v = data[(threadIdx.x + 1) % blockDim.x] + 1;
    auto token = bar.arrive();
    bar.wait(std::move(token));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// Warps that make and warps that take, with a barrier for full and one for empty buffers.
extern "C" __global__ void specialised(const int *in, int *out, int n) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier ready[2], filled[2];
  __shared__ int buffer[2][64];
  auto block = cg::this_thread_block();
  if (block.thread_rank() < 2) { init(&ready[block.thread_rank()], block.size()); init(&filled[block.thread_rank()], block.size()); }
  block.sync();
  int half = block.size() / 2, t = threadIdx.x % half;
  if (threadIdx.x < half) {
    for (int i = 0; i < n; i++) {
      ready[i % 2].arrive_and_wait();
      buffer[i % 2][t] = in[i * half + t] * 2;
      (void)filled[i % 2].arrive();
    }
  } else {
    int sum = 0;
    (void)ready[0].arrive();
    (void)ready[1].arrive();
    for (int i = 0; i < n; i++) {
      filled[i % 2].arrive_and_wait();
      sum += buffer[i % 2][half - 1 - t];
      (void)ready[i % 2].arrive();
    }
    out[t] = sum;
  }
}

// memcpy_async with a barrier.
extern "C" __global__ void copied(const int *in, int *out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  extern __shared__ int tile[];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  int sum = 0;
  for (int i = 0; i < n; i++) {
    cuda::memcpy_async(block, tile, in + i * block.size(), sizeof(int) * block.size(), bar);
    bar.arrive_and_wait();
    sum += tile[block.size() - 1 - threadIdx.x];
    bar.arrive_and_wait();
  }
  out[threadIdx.x] = sum;
}
