#include "suite.h"
#ifdef __CUDACC__
KERNEL(julia)(const float *a, const float *b, int *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i];
    int k = 0;
    while (k < m && __fmaf_rn(x, x, __fmul_rn(y, y)) < 4.0f) {
        float t = __fadd_rn(__fsub_rn(__fmul_rn(x, x), __fmul_rn(y, y)), -0.4f);
        y = __fmaf_rn(__fmul_rn(2.0f, x), y, 0.6f); x = t; k++;
    }
    out[i] = k;
}
#else
REFERENCE(julia)(const float *a, const float *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        float x = a[i], y = b[i];
        int k = 0;
        while (k < m && fmaf(x, x, y * y) < 4.0f) { float t = (x * x - y * y) + -0.4f; y = fmaf(2.0f * x, y, 0.6f); x = t; k++; }
        out[i] = k;
    }
}
#endif
