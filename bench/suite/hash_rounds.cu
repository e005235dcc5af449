#include "suite.h"
#ifdef __CUDACC__
#define HD __device__
#else
#define HD static inline
#endif
HD unsigned hash_rounds_of(unsigned x, int m) {
    unsigned a = x, b = x * 0x9e3779b9u, c = ~x, d = x + 0x85ebca6bu;
    for (int i = 0; i < m; i++) {
        a += b; d ^= a; d = d << 16 | d >> 16; c += d; b ^= c; b = b << 12 | b >> 20;
        a += b; d ^= a; d = d << 8 | d >> 24; c += d; b ^= c; b = b << 7 | b >> 25;
    }
    return a ^ b ^ c ^ d;
}
#ifdef __CUDACC__
KERNEL(hash_rounds)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = hash_rounds_of(a[i], m);
}
#else
REFERENCE(hash_rounds)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = hash_rounds_of(a[i], m);
}
#endif
