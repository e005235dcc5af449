#include "suite.h"
HD int steps(ELEMENT cx, ELEMENT cy, int m) {
    ELEMENT x = 0, y = 0, xx = 0, yy = 0;
    int k = 0;
    for (; k < m && xx + yy <= 4; k++) { y = 2 * x * y + cy; x = xx - yy + cx; xx = x * x; yy = y * y; }
    return k;
}
#ifdef __CUDACC__
KERNEL(mandelbrot)(const ELEMENT *a, const ELEMENT *b, unsigned char *out, int n, int m) {
    EACH_2D(x, y, n, m) out[y * n + x] = steps((ELEMENT)3 * (int)x / n - 2, (ELEMENT)2 * (int)y / m - 1, 255);
}
#else
REFERENCE(mandelbrot)(const ELEMENT *a, const ELEMENT *b, unsigned char *out, int n, int m) {
    for (int y = 0; y < m; y++) for (int x = 0; x < n; x++) out[y * n + x] = steps((ELEMENT)3 * x / n - 2, (ELEMENT)2 * y / m - 1, 255);
}
#endif
