#include "suite.h"
HD int nearest(const ELEMENT *a, const ELEMENT *b, ELEMENT dx, ELEMENT dy, int m) {
    ELEMENT near = 1e30f; int hit = -1;
    for (int k = 0; k < m; k++) {
        ELEMENT cx = a[k], cy = b[k], r = (ELEMENT)0.01;
        ELEMENT t = fma(cx, dx, cy * dy), d = fma(cx, cx, cy * cy) - t * t;
        if (d < r && t < near) { near = t; hit = k; }
    }
    return hit;
}
#ifdef __CUDACC__
KERNEL(ray)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    EACH(i, n) out[i] = nearest(a, b, a[i], b[i], m);
}
#else
REFERENCE(ray)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = nearest(a, b, a[i], b[i], m);
}
#endif
