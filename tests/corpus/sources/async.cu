#include <cuda_pipeline.h>
#include <cuda/barrier>
extern "C" __global__ void async_pipeline(const int4 *in, int *out) {
    __shared__ int4 s[128];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 16); __pipeline_commit(); __pipeline_wait_prior(0); __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x].x;
}
extern "C" __global__ void async_barrier(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0) init(&b, blockDim.x);
    __syncthreads();
    b.arrive_and_wait();
    out[threadIdx.x] = 1;
}
