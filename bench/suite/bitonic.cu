#include "suite.h"
#ifdef __CUDACC__
KERNEL(bitonic)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BX];
    INDEX t = threadIdx.x, base = (INDEX)blockIdx.x * BX;
    s[t] = a[base + t];
    __syncthreads();
    for (int k = 2; k <= BX; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            INDEX o = t ^ j;
            if (o > t) {
                ELEMENT x = s[t], y = s[o];
                if ((x > y) == ((t & k) == 0)) { s[t] = y; s[o] = x; }
            }
            __syncthreads();
        }
    out[base + t] = s[t];
}
#else
REFERENCE(bitonic)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    ELEMENT s[BX];
    for (int base = 0; base < n; base += BX) {
        memcpy(s, a + base, sizeof s);
        for (int k = 2; k <= BX; k *= 2) for (int j = k / 2; j > 0; j /= 2)
            for (int t = 0; t < BX; t++) { int o = t ^ j; if (o > t && (s[t] > s[o]) == ((t & k) == 0)) std::swap(s[t], s[o]); }
        memcpy(out + base, s, sizeof s);
    }
}
#endif
