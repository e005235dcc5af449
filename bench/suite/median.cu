#include "suite.h"
// Of 3 by 3 bytes, borders repeat.
HD void order(unsigned char &a, unsigned char &b) { unsigned char t = min(a, b); b = max(a, b); a = t; }
HD unsigned char middle(unsigned char p[9]) {
    order(p[1], p[2]); order(p[4], p[5]); order(p[7], p[8]); order(p[0], p[1]); order(p[3], p[4]); order(p[6], p[7]); order(p[1], p[2]);
    order(p[4], p[5]); order(p[7], p[8]); p[3] = max(p[0], p[3]); p[5] = min(p[5], p[8]); order(p[4], p[7]); p[6] = max(p[3], p[6]);
    p[4] = max(p[1], p[4]); p[2] = min(p[2], p[5]); p[4] = min(p[4], p[7]); order(p[4], p[2]); p[4] = max(p[6], p[4]); return min(p[4], p[2]);
}
#ifdef __CUDACC__
KERNEL(median)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    EACH_2D(x, y, n, m) {
        unsigned char p[9];
        for (int k = 0; k < 9; k++) {
            int u = min(max((int)x + k % 3 - 1, 0), n - 1), v = min(max((int)y + k / 3 - 1, 0), m - 1);
            p[k] = a[(INDEX)v * n + u];
        }
        out[y * n + x] = middle(p);
    }
}
#else
REFERENCE(median)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    for (int y = 0; y < m; y++) for (int x = 0; x < n; x++) {
        unsigned char p[9];
        for (int k = 0; k < 9; k++) p[k] = a[min(max(y + k / 3 - 1, 0), m - 1) * n + min(max(x + k % 3 - 1, 0), n - 1)];
        out[y * n + x] = middle(p);
    }
}
#endif
