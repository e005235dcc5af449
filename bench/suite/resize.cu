#include "suite.h"
// A picture of bytes to four thirds of its size, bilinear, with borders that repeat.
HD float between(float p, float q, float t) { return p + (q - p) * t; }
HD unsigned char sample(const unsigned char *a, int x, int y, int n, int m) {
    float u = (x + 0.5f) * 0.75f - 0.5f, v = (y + 0.5f) * 0.75f - 0.5f, fu = floorf(u), fv = floorf(v);
    int x0 = max((int)fu, 0), x1 = min((int)fu + 1, n - 1), y0 = max((int)fv, 0), y1 = min((int)fv + 1, m - 1);
    float up = between(a[y0 * n + x0], a[y0 * n + x1], u - fu), down = between(a[y1 * n + x0], a[y1 * n + x1], u - fu);
    return between(up, down, v - fv) + 0.5f;
}
#ifdef __CUDACC__
KERNEL(resize)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    EACH_2D(x, y, n, m) out[y * n + x] = sample(a, x, y, n * 3 / 4, m * 3 / 4);
}
#else
REFERENCE(resize)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    for (int y = 0; y < m; y++) for (int x = 0; x < n; x++) out[y * n + x] = sample(a, x, y, n * 3 / 4, m * 3 / 4);
}
#endif
