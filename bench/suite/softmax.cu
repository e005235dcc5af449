#include "suite.h"
// Of each row, by a polynomial and a power of two: the greatest, the sum and the quotients, each by all threads.
HD ELEMENT power_of_e(ELEMENT x) {
    ELEMENT t = x * (ELEMENT)1.44269504, k = floor(t), f = t - k, p = (ELEMENT)0.00133336;
    p = fma(p, f, (ELEMENT)0.00961813); p = fma(p, f, (ELEMENT)0.0555041); p = fma(p, f, (ELEMENT)0.240227);
    p = fma(p, f, (ELEMENT)0.693147); p = fma(p, f, (ELEMENT)1);
    return k < -100 ? (ELEMENT)0 : ldexp(p, (int)k);
}
#ifdef __CUDACC__
template <class Op> __device__ ELEMENT over_block(ELEMENT v, ELEMENT *s, Op op) {
    for (int d = 16; d; d >>= 1) v = op(v, __shfl_xor_sync(~0u, v, d));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = s[0];
    for (int w = 1; w < BX / 32; w++) v = op(v, s[w]);
    __syncthreads();
    return v;
}
KERNEL(softmax)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BX / 32];
    const ELEMENT *row = a + (INDEX)blockIdx.x * n;
    ELEMENT *to = out + (INDEX)blockIdx.x * n, best = row[0], sum = 0;
    for (INDEX i = threadIdx.x; i < (INDEX)n; i += BX) best = max(best, row[i]);
    best = over_block(best, s, [](ELEMENT x, ELEMENT y) { return max(x, y); });
    for (INDEX i = threadIdx.x; i < (INDEX)n; i += BX) sum += to[i] = power_of_e(row[i] - best);
    sum = over_block(sum, s, [](ELEMENT x, ELEMENT y) { return x + y; });
    for (INDEX i = threadIdx.x; i < (INDEX)n; i += BX) to[i] /= sum;
}
#else
REFERENCE(softmax)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int r = 0; r < m; r++, a += n, out += n) {
        ELEMENT best = a[0], lane[BX] = {0};
        for (int i = 0; i < n; i++) best = max(best, a[i]);
        for (int i = 0; i < n; i++) out[i] = power_of_e(a[i] - best);
        for (int i = 0; i < n; i += BX) for (int t = 0; t < min(BX, n - i); t++) lane[t] += out[i + t];
        for (int d = 16; d; d /= 2) for (int w = 0; w < BX; w += 32) for (int t = 0; t < d; t++) lane[w + t] += lane[w + t + d];
        for (int w = 32; w < BX; w += 32) lane[0] += lane[w];
        for (int i = 0; i < n; i++) out[i] /= lane[0];
    }
}
#endif
