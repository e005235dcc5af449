#include "suite.h"
#ifdef __CUDACC__
KERNEL(stencil)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    EACH_2D(x, y, n, m) {
        INDEX l = x > 0 ? x - 1 : 0, r = min(x + 1, (INDEX)(n - 1)), u = y > 0 ? y - 1 : 0, d = min(y + 1, (INDEX)(m - 1));
        out[y * n + x] = (ELEMENT)0.2 * ((a[y * n + l] + a[y * n + r]) + ((a[u * n + x] + a[d * n + x]) + a[y * n + x]));
    }
}
#else
REFERENCE(stencil)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int y = 0; y < m; y++) for (int x = 0; x < n; x++) {
        int l = x > 0 ? x - 1 : 0, r = x < n - 1 ? x + 1 : n - 1, u = y > 0 ? y - 1 : 0, d = y < m - 1 ? y + 1 : m - 1;
        out[y * n + x] = (ELEMENT)0.2 * ((a[y * n + l] + a[y * n + r]) + ((a[u * n + x] + a[d * n + x]) + a[y * n + x]));
    }
}
#endif
