#include "suite.h"
// The root of both slopes, to bytes; nothing at the border.
#ifdef __CUDACC__
KERNEL(sobel)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    EACH_2D(x, y, n, m) {
        unsigned char v = 0;
        if (x > 0 && y > 0 && x < n - 1 && y < m - 1) {
            const unsigned char *p = a + y * n + x;
            int h = p[1 - n] + 2 * p[1] + p[1 + n] - p[-1 - n] - 2 * p[-1] - p[-1 + n];
            int u = p[n - 1] + 2 * p[n] + p[n + 1] - p[-n - 1] - 2 * p[-n] - p[-n + 1];
            v = min((int)sqrtf((float)(h * h + u * u)), 255);
        }
        out[y * n + x] = v;
    }
}
#else
REFERENCE(sobel)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    for (int y = 1; y < m - 1; y++) for (int x = 1; x < n - 1; x++) {
        const unsigned char *p = a + (long)y * n + x;
        int h = p[1 - n] + 2 * p[1] + p[1 + n] - p[-1 - n] - 2 * p[-1] - p[-1 + n];
        int u = p[n - 1] + 2 * p[n] + p[n + 1] - p[-n - 1] - 2 * p[-n] - p[-n + 1];
        out[(long)y * n + x] = min((int)sqrtf((float)(h * h + u * u)), 255);
    }
}
#endif
