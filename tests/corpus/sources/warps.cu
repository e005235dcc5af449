// Warp intrinsics of every kind.
extern "C" __global__ void warps_votes(const int *in, unsigned *out) {
    int v = in[threadIdx.x];
    unsigned r = __ballot_sync(~0u, v > 0);
    r += __all_sync(~0u, v > 1) + __any_sync(~0u, v > 2) + __activemask();
    r += __syncthreads_count(v) + __syncthreads_and(v) + __syncthreads_or(v);
    __syncwarp();
    out[threadIdx.x] = r;
}
extern "C" __global__ void warps_shuffles(int *a, float *b, double *c, long long *d) {
    int t = threadIdx.x;
    a[t] = __shfl_sync(~0u, a[t], 3) + __shfl_up_sync(~0u, a[t], 2, 16) + __shfl_down_sync(~0u, a[t], t & 7) + __shfl_xor_sync(~0u, a[t], 5, 8);
    b[t] = __shfl_sync(~0u, b[t], t ^ 1); c[t] = __shfl_up_sync(~0u, c[t], 1); d[t] = __shfl_xor_sync(~0u, d[t], 16);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void warps_reduce(const int *in, const unsigned *un, unsigned *out) {
    int v = in[threadIdx.x]; unsigned u = un[threadIdx.x];
    out[threadIdx.x] = __reduce_add_sync(~0u, v) + __reduce_min_sync(~0u, v) + __reduce_max_sync(~0u, u) + __reduce_and_sync(~0u, u) + __reduce_or_sync(~0u, u) + __reduce_xor_sync(~0u, u);
}
#endif
extern "C" __global__ void warps_match(const int *in, unsigned *out) {
    int p; unsigned m = __match_all_sync(~0u, in[threadIdx.x], &p);
    out[threadIdx.x] = m + p + __match_any_sync(~0u, in[threadIdx.x]) + __match_any_sync(~0u, (long long)in[threadIdx.x]);
}
