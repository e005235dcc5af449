#include "suite.h"
// Rows to signed bytes by their greatest magnitude; the scale goes behind each row.
#ifdef __CUDACC__
KERNEL(quantise)(const float *a, const float *b, signed char *out, int n, int m) {
    __shared__ float s[BX];
    const float *row = a + (INDEX)blockIdx.x * n;
    signed char *to = out + (INDEX)blockIdx.x * (n + 4);
    float most = 0;
    for (INDEX i = threadIdx.x; i < (INDEX)n; i += BX) most = fmaxf(most, fabsf(row[i]));
    s[threadIdx.x] = most;
    for (int d = BX / 2; d; d >>= 1) { __syncthreads(); if (threadIdx.x < d) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + d]); }
    __syncthreads();
    float scale = 127.0f / s[0];
    for (INDEX i = threadIdx.x; i < (INDEX)n; i += BX) to[i] = max(-127, min(127, (int)rintf(row[i] * scale)));
    if (threadIdx.x < 4) to[n + threadIdx.x] = __float_as_uint(scale) >> 8 * threadIdx.x;
}
#else
REFERENCE(quantise)(const float *a, const float *b, signed char *out, int n, int m) {
    for (int r = 0; r < m; r++, a += n, out += n + 4) {
        float most = 0;
        for (int i = 0; i < n; i++) most = max(most, fabsf(a[i]));
        float scale = 127.0f / most;
        for (int i = 0; i < n; i++) out[i] = max(-127, min(127, (int)rintf(a[i] * scale)));
        memcpy(out + n, &scale, 4);
    }
}
#endif
