#include "suite.h"
#ifdef __CUDACC__
KERNEL(match_bytes)(const unsigned char *a, const unsigned char *b, int *out, int n, int m) {
    EACH(i, n - 7) {
        int hits = 0;
        for (int k = 0; k < 8; k++) hits += (a[i + k] & 3) == (b[k] & 3);
        out[i] = hits;
    }
}
#else
REFERENCE(match_bytes)(const unsigned char *a, const unsigned char *b, int *out, int n, int m) {
    for (int i = 0; i + 8 <= n; i++) { int hits = 0; for (int k = 0; k < 8; k++) hits += (a[i + k] & 3) == (b[k] & 3); out[i] = hits; }
}
#endif
