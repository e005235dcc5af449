#include "suite.h"
#ifdef __CUDACC__
KERNEL(scan)(const int *a, const int *b, int *out, int n, int m) {
    __shared__ int s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = a[i];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int v = 0;
        if (t >= d) v = s[t - d];
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    out[i] = s[t];
}
#else
REFERENCE(scan)(const int *a, const int *b, int *out, int n, int m) {
    for (int base = 0; base < n; base += 256) { int v = 0; for (int t = 0; t < 256; t++) out[base + t] = v += a[base + t]; }
}
#endif
