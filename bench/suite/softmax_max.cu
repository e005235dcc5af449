#include "suite.h"
#ifdef __CUDACC__
KERNEL(softmax_max)(const float *a, const float *b, float *out, int n, int m) {
    __shared__ float s[128];
    const float *row = a + (long)blockIdx.x * n;
    float best = -3e38f;
    for (int i = threadIdx.x; i < n; i += 128) best = fmaxf(best, row[i]);
    s[threadIdx.x] = best;
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) { if (threadIdx.x < d) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + d]); __syncthreads(); }
    best = s[0];
    for (int i = threadIdx.x; i < n; i += 128) { float e = __fsub_rn(row[i], best); out[(long)blockIdx.x * n + i] = __fmaf_rn(e, __fmaf_rn(e, 0.5f, 1.0f), 1.0f); }
}
#else
REFERENCE(softmax_max)(const float *a, const float *b, float *out, int n, int m) {
    for (int r = 0; r < m; r++) {
        const float *row = a + (long)r * n;
        float best = -3e38f;
        for (int i = 0; i < n; i++) best = row[i] > best ? row[i] : best;
        for (int i = 0; i < n; i++) { float e = row[i] - best; out[(long)r * n + i] = fmaf(e, fmaf(e, 0.5f, 1.0f), 1.0f); }
    }
}
#endif
