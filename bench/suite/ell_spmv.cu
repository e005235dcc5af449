#include "suite.h"
// ELL: column by column, 12 to a row, -1 ends a row early.
#ifdef __CUDACC__
KERNEL(ell_spmv)(const ELEMENT *__restrict__ a, const int *__restrict__ b, ELEMENT *out, int n, int m) {
    EACH(r, n) {
        ELEMENT sum = 0;
        for (int k = 0; k < 12; k++) {
            int word = b[(INDEX)k * n + r], c = (word & 31) == 0 ? -1 : (word >> 5 & 0x7ffffff) % n;
            if (c < 0) break;
            sum += a[(INDEX)k * n + r] * __ldg(a + c);
        }
        out[r] = sum;
    }
}
#else
REFERENCE(ell_spmv)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    for (int r = 0; r < n; r++) {
        ELEMENT sum = 0;
        for (int k = 0; k < 12; k++) {
            int word = b[k * n + r], c = (word & 31) == 0 ? -1 : (word >> 5 & 0x7ffffff) % n;
            if (c < 0) break;
            sum += a[k * n + r] * a[c];
        }
        out[r] = sum;
    }
}
#endif
