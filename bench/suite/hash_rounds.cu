#include "suite.h"
HD unsigned rounds(unsigned x, int m) {
    unsigned a = x, b = x * 0x9e3779b9u, c = ~x, d = x + 0x85ebca6bu;
    for (int i = 0; i < m; i++) {
        a += b; d ^= a; d = d << 16 | d >> 16; c += d; b ^= c; b = b << 12 | b >> 20;
        a += b; d ^= a; d = d << 8 | d >> 24; c += d; b ^= c; b = b << 7 | b >> 25;
    }
    return a ^ b ^ c ^ d;
}
#ifdef __CUDACC__
KERNEL(hash_rounds)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    EACH(i, n) out[i] = rounds(a[i], m);
}
#else
REFERENCE(hash_rounds)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = rounds(a[i], m);
}
#endif
