#include "suite.h"
#ifdef __CUDACC__
KERNEL(histogram)(const unsigned char *a, const int *b, int *out, int n, int m) {
    __shared__ int s[256];
    for (int t = threadIdx.x; t < 256; t += BX) s[t] = 0;
    __syncthreads();
    for (INDEX i = FIRST(x); i < (INDEX)n; i += STEP(x)) atomicAdd(&s[a[i]], 1);
    __syncthreads();
    for (int t = threadIdx.x; t < 256; t += BX) atomicAdd(&out[t], s[t]);
}
#else
REFERENCE(histogram)(const unsigned char *a, const int *b, int *out, int n, int m) {
    int s[256] = {0};
    for (int i = 0; i < n; i++) s[a[i]]++;
    for (int t = 0; t < 256; t++) out[t] += s[t];
}
#endif
