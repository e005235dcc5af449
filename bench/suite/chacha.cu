#include "suite.h"
// ChaCha20: a block of the key stream for each thread, over the text.
HD unsigned left(unsigned x, int k) { return x << k | x >> (32 - k); }
HD void quarter(unsigned &a, unsigned &b, unsigned &c, unsigned &d) {
    a += b; d = left(d ^ a, 16); c += d; b = left(b ^ c, 12);
    a += b; d = left(d ^ a, 8); c += d; b = left(b ^ c, 7);
}
HD void block(const unsigned *key, unsigned count, unsigned s[16]) {
    s[0] = 0x61707865; s[1] = 0x3320646e; s[2] = 0x79622d32; s[3] = 0x6b206574;
    for (int i = 0; i < 8; i++) s[4 + i] = key[i];
    s[12] = count; s[13] = 0x09000000; s[14] = 0x4a000000; s[15] = 0;
    unsigned before[16];
    for (int i = 0; i < 16; i++) before[i] = s[i];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++) quarter(s[i], s[4 + i], s[8 + i], s[12 + i]);
        quarter(s[0], s[5], s[10], s[15]); quarter(s[1], s[6], s[11], s[12]);
        quarter(s[2], s[7], s[8], s[13]); quarter(s[3], s[4], s[9], s[14]);
    }
    for (int i = 0; i < 16; i++) s[i] += before[i];
}
#ifdef __CUDACC__
KERNEL(chacha)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    EACH(i, n) {
        unsigned s[16];
        block(b, i, s);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint4 text = ((const uint4 *)a)[i * 4 + k];
            text.x ^= s[k * 4]; text.y ^= s[k * 4 + 1]; text.z ^= s[k * 4 + 2]; text.w ^= s[k * 4 + 3];
            ((uint4 *)out)[i * 4 + k] = text;
        }
    }
}
#else
REFERENCE(chacha)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) { unsigned s[16]; block(b, i, s); for (int k = 0; k < 16; k++) out[i * 16 + k] = a[i * 16 + k] ^ s[k]; }
}
#endif
