#include "suite.h"
// Three bytes to four characters.
HD unsigned char digit(unsigned v) { return v < 26 ? 'A' + v : v < 52 ? 'a' + v - 26 : v < 62 ? '0' + v - 52 : v == 62 ? '+' : '/'; }
#ifdef __CUDACC__
KERNEL(base64)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    EACH(i, n) {
        unsigned v = a[3 * i] << 16 | a[3 * i + 1] << 8 | a[3 * i + 2];
        uchar4 text = {digit(v >> 18), digit(v >> 12 & 63), digit(v >> 6 & 63), digit(v & 63)};
        ((uchar4 *)out)[i] = text;
    }
}
#else
REFERENCE(base64)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    unsigned char table[64];
    for (int v = 0; v < 64; v++) table[v] = digit(v);
    for (int i = 0; i < n; i++) {
        unsigned v = a[3 * i] << 16 | a[3 * i + 1] << 8 | a[3 * i + 2];
        for (int k = 0; k < 4; k++) out[4 * i + k] = table[v >> (18 - 6 * k) & 63];
    }
}
#endif
