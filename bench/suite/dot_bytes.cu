#include "suite.h"
// A matrix of signed bytes times a vector of them, four at a time.
#ifdef __CUDACC__
KERNEL(dot_bytes)(const int *a, const int *b, int *out, int n, int m) {
    EACH(r, n) {
        int sum = 0;
        for (int k = 0; k < m; k++) sum = __dp4a(a[(INDEX)k * n + r], b[k], sum);
        out[r] = sum;
    }
}
#else
REFERENCE(dot_bytes)(const signed char *a, const signed char *b, int *out, int n, int m) {
    for (int k = 0; k < m; k++) for (int r = 0; r < n; r++) for (int i = 0; i < 4; i++) out[r] += a[((long)k * n + r) * 4 + i] * b[k * 4 + i];
}
#endif
