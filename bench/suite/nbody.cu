#include "suite.h"
#ifdef __CUDACC__
KERNEL(nbody)(const float *a, const float *b, float *out, int n, int m) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float x = a[i], f = 0;
    for (int tile = 0; tile < n; tile += 256) {
        s[threadIdx.x] = a[tile + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) { float d = __fsub_rn(s[j], x); f = __fmaf_rn(d, __fdiv_rn(1.0f, __fmaf_rn(d, d, 0.01f)), f); }
        __syncthreads();
    }
    out[i] = f;
}
#else
REFERENCE(nbody)(const float *a, const float *b, float *out, int n, int m) {
    for (int i = 0; i < n; i += 16) {
        float f[16] = {0};
        for (int j = 0; j < n; j++) for (int t = 0; t < 16; t++) { float d = a[j] - a[i + t]; f[t] = fmaf(d, 1.0f / fmaf(d, d, 0.01f), f[t]); }
        memcpy(out + i, f, sizeof f);
    }
}
#endif
