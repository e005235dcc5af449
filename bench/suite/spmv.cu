#include "suite.h"
#ifdef __CUDACC__
KERNEL(spmv)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    EACH(r, n) {
        ELEMENT sum = 0;
        int count = (b[r] >> 8 & 15) + 1;
        for (int k = 0; k < count; k++) { INDEX c = (unsigned)b[r * 16 + k] % n; sum = fma(a[r * 16 + k], a[c], sum); }
        out[r] = sum;
    }
}
#else
REFERENCE(spmv)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    for (int r = 0; r < n; r++) {
        ELEMENT sum = 0;
        int count = (b[r] >> 8 & 15) + 1;
        for (int k = 0; k < count; k++) { int c = (unsigned)b[r * 16 + k] % n; sum = fma(a[r * 16 + k], a[c], sum); }
        out[r] = sum;
    }
}
#endif
