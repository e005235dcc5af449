#include "suite.h"
HD int escape(ELEMENT x, ELEMENT y, int m) {
    int k = 0;
    while (k < m && fma(x, x, y * y) < 4) {
        ELEMENT t = (x * x - y * y) + (ELEMENT)-0.4;
        y = fma(2 * x, y, (ELEMENT)0.6); x = t; k++;
    }
    return k;
}
#ifdef __CUDACC__
KERNEL(julia)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    EACH(i, n) out[i] = escape(a[i], b[i], m);
}
#else
REFERENCE(julia)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = escape(a[i], b[i], m);
}
#endif
