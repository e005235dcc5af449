#include "suite.h"
// Conway's game on a torus, a byte to a cell; all of its rules in one expression.
#ifdef __CUDACC__
KERNEL(life)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    EACH_2D(x, y, n, m) {
        INDEX l = (x + n - 1) % n, r = (x + 1) % n, u = (y + m - 1) % m * n, d = (y + 1) % m * n, c = y * n;
        int sum = (a[u + l] & 1) + (a[u + x] & 1) + (a[u + r] & 1) + (a[c + l] & 1) + (a[c + r] & 1) + (a[d + l] & 1) + (a[d + x] & 1) + (a[d + r] & 1);
        out[c + x] = sum == 3 || (sum == 2 && a[c + x] & 1);
    }
}
#else
REFERENCE(life)(const unsigned char *a, const int *b, unsigned char *out, int n, int m) {
    for (int y = 0; y < m; y++) for (int x = 0; x < n; x++) {
        int sum = 0;
        for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) if (i || j) sum += a[(y + j + m) % m * n + (x + i + n) % n] & 1;
        out[y * n + x] = sum == 3 || (sum == 2 && a[y * n + x] & 1);
    }
}
#endif
