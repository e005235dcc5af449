// Sums by tree, by shuffles and by atomics.
extern "C" __global__ void reduce_tree(const float *in, float *out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void reduce_shuffle(const int *in, int *out, int n) {
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}
template <typename T, typename F> __device__ T fold(const T *in, int n, T start, F f) {
    T v = start;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v = f(v, in[i]);
    for (int d = 16; d; d >>= 1) v = f(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
struct Max { template <typename T> __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
extern "C" __global__ void reduce_max(const double *a, const unsigned *b, double *x, unsigned *y, int n) {
    double m = fold(a, n, -1e300, Max());
    unsigned k = fold(b, n, 0u, Max());
    if (threadIdx.x == 0) { *x = m; *y = k; }
}
