#include "suite.h"
// One query to a CTA over n keys of 32 numbers: scores, weights that add up to one, the sum of values.
#define D 32
#define MOST 512
HD float weight(float x) { x = 1 + x / 64; for (int k = 0; k < 6; k++) x *= x; return x; }
#ifdef __CUDACC__
KERNEL(attention)(const float *a, const float *b, float *out, int n, int m) {
    __shared__ float score[MOST], part[BX], query[D];
    int t = threadIdx.x;
    for (int i = t; i < D; i += BX) query[i] = a[(INDEX)blockIdx.x * D + i] * 0.125f;
    __syncthreads();
    float best = -1e30f, sum = 0;
    for (int k = t; k < n; k += BX) {
        float dot = 0;
        for (int i = 0; i < D; i++) dot = fmaf(query[i], b[(INDEX)k * D + i], dot);
        score[k] = dot;
        best = fmaxf(best, dot);
    }
    part[t] = best;
    __syncthreads();
    for (int d = BX / 2; d; d /= 2) { if (t < d) part[t] = fmaxf(part[t], part[t + d]); __syncthreads(); }
    best = part[0];
    __syncthreads();
    for (int k = t; k < n; k += BX) sum += score[k] = weight(score[k] - best);
    part[t] = sum;
    __syncthreads();
    for (int d = BX / 2; d; d /= 2) { if (t < d) part[t] += part[t + d]; __syncthreads(); }
    for (int i = t; i < D; i += BX) {
        float v = 0;
        for (int k = 0; k < n; k++) v = fmaf(score[k], b[(INDEX)(n + k) * D + i], v);
        out[(INDEX)blockIdx.x * D + i] = v / part[0];
    }
}
#else
REFERENCE(attention)(const float *a, const float *b, float *out, int n, int m) {
    float score[MOST];
    for (int q = 0; q < m; q++) {
        float best = -1e30f, part[BX] = {0}, v[D] = {0};
        for (int k = 0; k < n; k++) {
            float dot = 0;
            for (int i = 0; i < D; i++) dot = fmaf(a[q * D + i] * 0.125f, b[k * D + i], dot);
            score[k] = dot;
            best = fmaxf(best, dot);
        }
        for (int k = 0; k < n; k++) part[k % BX] += score[k] = weight(score[k] - best);
        for (int d = BX / 2; d; d /= 2) for (int t = 0; t < d; t++) part[t] += part[t + d];
        for (int k = 0; k < n; k++) for (int i = 0; i < D; i++) v[i] = fmaf(score[k], b[(n + k) * D + i], v[i]);
        for (int i = 0; i < D; i++) out[q * D + i] = v[i] / part[0];
    }
}
#endif
