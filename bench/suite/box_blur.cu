#include "suite.h"
#ifdef __CUDACC__
KERNEL(box_blur)(const unsigned char *a, const float *b, unsigned char *out, int n, int m) {
    EACH_2D(x, y, n, m) if (x >= 1 && x < n - 1 && y >= 1 && y < m - 1) {
        int sum = 0;
        for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) sum += a[(y + j) * n + x + i];
        out[y * n + x] = sum / 9;
    }
}
#else
REFERENCE(box_blur)(const unsigned char *a, const float *b, unsigned char *out, int n, int m) {
    for (int y = 1; y < m - 1; y++) for (int x = 1; x < n - 1; x++) {
        int sum = 0;
        for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) sum += a[(y + j) * n + x + i];
        out[y * n + x] = sum / 9;
    }
}
#endif
