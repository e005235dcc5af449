#include "suite.h"
#ifdef __CUDACC__
KERNEL(kmeans)(const float *a, const float *b, int *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 3e38f; int which = 0;
    for (int c = 0; c < m; c++) {
        float d = 0;
        for (int k = 0; k < 4; k++) { float e = __fsub_rn(a[i * 4 + k], b[c * 4 + k]); d = __fmaf_rn(e, e, d); }
        if (d < best) { best = d; which = c; }
    }
    out[i] = which;
}
#else
REFERENCE(kmeans)(const float *a, const float *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        float best = 3e38f; int which = 0;
        for (int c = 0; c < m; c++) {
            float d = 0;
            for (int k = 0; k < 4; k++) { float e = a[i * 4 + k] - b[c * 4 + k]; d = fmaf(e, e, d); }
            if (d < best) { best = d; which = c; }
        }
        out[i] = which;
    }
}
#endif
