#include "suite.h"
#ifdef __CUDACC__
KERNEL(scan)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BX];
    INDEX t = threadIdx.x, i = (INDEX)blockIdx.x * BX + t;
    s[t] = a[i];
    __syncthreads();
    for (int d = 1; d < BX; d *= 2) {
        ELEMENT v = 0;
        if (t >= d) v = s[t - d];
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    out[i] = s[t];
}
#else
REFERENCE(scan)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int base = 0; base < n; base += BX) { ELEMENT v = 0; for (int t = 0; t < BX; t++) out[base + t] = v += a[base + t]; }
}
#endif
