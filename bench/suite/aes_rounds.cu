#include "suite.h"
// Rounds like those of AES: bytes by a table, rows turned, columns mixed in GF(2^8). The table is made by each CTA.
HD unsigned char twice(unsigned char x) { return x << 1 ^ (x & 0x80 ? 0x1b : 0); }
HD unsigned char box(int i) {
    // An affine map of i's power of 254.
    unsigned char p = 1, base = i;
    for (int e = 254; e; e >>= 1) {
        unsigned char s = 0, t = 0;
        for (int k = 7; k >= 0; k--) { s = twice(s); t = twice(t); if (base >> k & 1) { s ^= base; t ^= p; } }
        if (e & 1) p = t;
        base = s;
    }
    if (i == 0) p = 0;
    return p ^ (unsigned char)(p << 1 | p >> 7) ^ (unsigned char)(p << 2 | p >> 6) ^ (unsigned char)(p << 3 | p >> 5) ^ (unsigned char)(p << 4 | p >> 4) ^ 0x63;
}
HD void rounds(const unsigned char *table, const unsigned char *in, const unsigned char *key, unsigned char *out, int m) {
    unsigned char s[16];
    for (int i = 0; i < 16; i++) s[i] = in[i] ^ key[i];
    for (int r = 1; r <= m; r++) {
        unsigned char t[16];
        for (int i = 0; i < 16; i++) t[i] = table[s[(i + 4 * (i % 4)) % 16]];
        for (int c = 0; c < 16; c += 4) {
            unsigned char all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3];
            for (int i = 0; i < 4; i++) s[c + i] = t[c + i] ^ all ^ twice(t[c + i] ^ t[c + (i + 1) % 4]) ^ key[r * 16 % 64 + c + i];
        }
    }
    for (int i = 0; i < 16; i++) out[i] = s[i];
}
#ifdef __CUDACC__
KERNEL(aes_rounds)(const unsigned char *a, const unsigned char *b, unsigned char *out, int n, int m) {
    __shared__ unsigned char table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = box(i);
    __syncthreads();
    INDEX i = FIRST(x);
    if (i < (INDEX)n) rounds(table, a + i * 16, b, out + i * 16, m);
}
#else
REFERENCE(aes_rounds)(const unsigned char *a, const unsigned char *b, unsigned char *out, int n, int m) {
    unsigned char table[256];
    for (int i = 0; i < 256; i++) table[i] = box(i);
    for (int i = 0; i < n; i++) rounds(table, a + i * 16, b, out + i * 16, m);
}
#endif
