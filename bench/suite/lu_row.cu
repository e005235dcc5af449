#include "suite.h"
#ifdef __CUDACC__
KERNEL(lu_row)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    EACH_2D(x, y, n, m) if (x >= 1 && y >= 1) {
        ELEMENT f = a[y * n] / (a[0] + 4);
        out[y * n + x] = a[y * n + x] - f * a[x];
    }
}
#else
REFERENCE(lu_row)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int y = 1; y < m; y++) { ELEMENT f = a[y * n] / (a[0] + 4); for (int x = 1; x < n; x++) out[y * n + x] = a[y * n + x] - f * a[x]; }
}
#endif
