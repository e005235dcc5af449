#include "suite.h"
#ifdef __CUDACC__
KERNEL(ray)(const float *a, const float *b, int *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float dx = a[i], dy = b[i], near = 1e30f; int hit = -1;
    for (int k = 0; k < m; k++) {
        float cx = a[k], cy = b[k], r = 0.01f;
        float t = __fmaf_rn(cx, dx, __fmul_rn(cy, dy));
        float d = __fsub_rn(__fmaf_rn(cx, cx, __fmul_rn(cy, cy)), __fmul_rn(t, t));
        if (d < r && t < near) { near = t; hit = k; }
    }
    out[i] = hit;
}
#else
REFERENCE(ray)(const float *a, const float *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        float dx = a[i], dy = b[i], near = 1e30f; int hit = -1;
        for (int k = 0; k < m; k++) {
            float cx = a[k], cy = b[k], r = 0.01f;
            float t = fmaf(cx, dx, cy * dy), d = fmaf(cx, cx, cy * cy) - t * t;
            if (d < r && t < near) { near = t; hit = k; }
        }
        out[i] = hit;
    }
}
#endif
