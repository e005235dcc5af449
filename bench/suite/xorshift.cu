#include "suite.h"
HD unsigned inside(unsigned seed, int m) {
    unsigned long long x = seed | 1ull << 40;
    unsigned inside = 0;
    for (int k = 0; k < m; k++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; inside += (unsigned)(x >> 33) < 0x40000000u; }
    return inside;
}
#ifdef __CUDACC__
KERNEL(xorshift)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    EACH(i, n) out[i] = inside(a[i], m);
}
#else
REFERENCE(xorshift)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = inside(a[i], m);
}
#endif
