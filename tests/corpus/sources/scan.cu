// Prefix sums: in a warp, in a block, and with segments.
extern "C" __global__ void scan_block(const int *in, int *out, int n) {
    __shared__ int s[1024];
    int t = threadIdx.x;
    s[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t < n) out[t] = s[t];
}
extern "C" __global__ void scan_segments(const int *in, const unsigned char *head, int *out) {
    int lane = threadIdx.x & 31, i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
    unsigned heads = __ballot_sync(~0u, head[i]) | 1;
    int start = 31 - __clz(heads & (2u << lane) - 1);
    for (int d = 1; d < 32; d *= 2) {
        int w = __shfl_up_sync(~0u, v, d);
        if (lane - d >= start) v += w;
    }
    out[i] = v;
}
