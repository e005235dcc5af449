#include "suite.h"
#ifdef __CUDACC__
KERNEL(nbody)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BX];
    INDEX i = FIRST(x);
    ELEMENT x = i < (INDEX)n ? a[i] : 0, f = 0;
    for (INDEX tile = 0; tile < (INDEX)n; tile += BX) {
        s[threadIdx.x] = a[min(tile + (INDEX)threadIdx.x, (INDEX)(n - 1))];
        __syncthreads();
        for (int j = 0; j < min(BX, (int)(n - tile)); j++) { ELEMENT d = s[j] - x; f = fma(d, 1 / fma(d, d, (ELEMENT)0.01), f); }
        __syncthreads();
    }
    if (i < (INDEX)n) out[i] = f;
}
#else
REFERENCE(nbody)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int i = 0; i < n; i += 16) {
        ELEMENT f[16] = {0};
        for (int j = 0; j < n; j++) for (int t = 0; t < 16; t++) { ELEMENT d = a[j] - a[i + t]; f[t] = fma(d, 1 / fma(d, d, (ELEMENT)0.01), f[t]); }
        memcpy(out + i, f, sizeof f);
    }
}
#endif
