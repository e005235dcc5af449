#include "suite.h"
// The greatest within a distance of m: a loop whose ends depend on where it is.
#ifdef __CUDACC__
KERNEL(dilate)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    EACH(i, n) {
        ELEMENT most = a[i];
        INDEX from = i > m ? i - m : 0, to = min(i + m, (INDEX)(n - 1));
        for (INDEX k = from; k <= to; k++) most = max(most, a[k]);
        out[i] = most;
    }
}
#else
REFERENCE(dilate)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        ELEMENT most = a[i];
        for (int k = max(i - m, 0); k <= min(i + m, n - 1); k++) most = max(most, a[k]);
        out[i] = most;
    }
}
#endif
