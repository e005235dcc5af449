#include "suite.h"
// Powers modulo a prime of 61 bits, with products of 128 bits.
#define P 0x1fffffffffffffffull
#ifdef __CUDACC__
HD uint64_t times(uint64_t x, uint64_t y) {
    uint64_t lo = x * y, hi = __umul64hi(x, y), s = (lo & P) + (lo >> 61 | hi << 3);
    return s >= P ? s - P : s;
}
#else
HD uint64_t times(uint64_t x, uint64_t y) { return (unsigned __int128)x * y % P; }
#endif
HD uint64_t power(uint64_t x, uint64_t e) {
    uint64_t r = 1;
    for (; e; e >>= 1) { if (e & 1) r = times(r, x); x = times(x, x); }
    return r;
}
#ifdef __CUDACC__
KERNEL(mod_power)(const uint64_t *a, const uint64_t *b, uint64_t *out, int n, int m) {
    EACH(i, n) out[i] = power(a[i] % P, b[i] >> m);
}
#else
REFERENCE(mod_power)(const uint64_t *a, const uint64_t *b, uint64_t *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = power(a[i] % P, b[i] >> m);
}
#endif
