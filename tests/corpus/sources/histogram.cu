extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned h[256];
    h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&h[in[i]], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], h[threadIdx.x]);
}
extern "C" __global__ void histogram_matched(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(~0u, i < n);
    if (i >= n) return;
    int k = in[i] & 63;
    unsigned same = __match_any_sync(active, k);
    if (__ffs(same) - 1 == (threadIdx.x & 31)) atomicAdd(&out[k], __popc(same));
}
