#include "suite.h"
#ifdef __CUDACC__
KERNEL(bitonic)(const int *a, const int *b, int *out, int n, int m) {
    __shared__ int s[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    s[t] = a[base + t];
    __syncthreads();
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int o = t ^ j;
            if (o > t) {
                int x = s[t], y = s[o];
                if ((x > y) == ((t & k) == 0)) { s[t] = y; s[o] = x; }
            }
            __syncthreads();
        }
    out[base + t] = s[t];
}
#else
static int order(const void *x, const void *y) { int a = *(const int *)x, b = *(const int *)y; return (a > b) - (a < b); }
REFERENCE(bitonic)(const int *a, const int *b, int *out, int n, int m) {
    int s[256];
    for (int base = 0; base < n; base += 256) {
        memcpy(s, a + base, sizeof s);
        for (int k = 2; k <= 256; k *= 2) for (int j = k / 2; j > 0; j /= 2)
            for (int t = 0; t < 256; t++) { int o = t ^ j; if (o > t && (s[t] > s[o]) == ((t & k) == 0)) { int x = s[t]; s[t] = s[o]; s[o] = x; } }
        memcpy(out + base, s, sizeof s);
    }
    (void)order;
}
#endif
