#include "suite.h"
#ifdef __CUDACC__
KERNEL(xorshift)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = a[i] | 1ull << 40;
    unsigned inside = 0;
    for (int k = 0; k < m; k++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; inside += (unsigned)(x >> 33) < 0x40000000u; }
    out[i] = inside;
}
#else
REFERENCE(xorshift)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        uint64_t x = a[i] | 1ull << 40; unsigned inside = 0;
        for (int k = 0; k < m; k++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; inside += (unsigned)(x >> 33) < 0x40000000u; }
        out[i] = inside;
    }
}
#endif
