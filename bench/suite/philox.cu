#include "suite.h"
// Philox 4x32 of ten rounds.
struct Four { unsigned x, y, z, w; };
HD Four philox_of(unsigned count, unsigned k0, unsigned k1) {
    Four c = {count, 0, 0x12345, ~count};
    for (int r = 0; r < 10; r++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        unsigned long long p = 0xd2511f53ull * c.x, q = 0xcd9e8d57ull * c.z;
        c = Four{(unsigned)(q >> 32) ^ c.y ^ k0, (unsigned)q, (unsigned)(p >> 32) ^ c.w ^ k1, (unsigned)p};
    }
    return c;
}
#ifdef __CUDACC__
KERNEL(philox)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    EACH(i, n) { Four v = philox_of(i, a[0], a[1]); ((uint4 *)out)[i] = make_uint4(v.x, v.y, v.z, v.w); }
}
#else
REFERENCE(philox)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) ((Four *)out)[i] = philox_of(i, a[0], a[1]);
}
#endif
