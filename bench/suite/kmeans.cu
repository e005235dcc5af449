#include "suite.h"
#ifdef __CUDACC__
KERNEL(kmeans)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    EACH(i, n) {
        ELEMENT best = 3e38f; int which = 0;
        for (int c = 0; c < m; c++) {
            ELEMENT d = 0;
            for (int k = 0; k < 4; k++) { ELEMENT e = a[i * 4 + k] - b[c * 4 + k]; d = fma(e, e, d); }
            if (d < best) { best = d; which = c; }
        }
        out[i] = which;
    }
}
#else
REFERENCE(kmeans)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        ELEMENT best = 3e38f; int which = 0;
        for (int c = 0; c < m; c++) {
            ELEMENT d = 0;
            for (int k = 0; k < 4; k++) { ELEMENT e = a[i * 4 + k] - b[c * 4 + k]; d = fma(e, e, d); }
            if (d < best) { best = d; which = c; }
        }
        out[i] = which;
    }
}
#endif
