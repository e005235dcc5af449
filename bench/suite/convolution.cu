#include "suite.h"
#ifdef __CUDACC__
KERNEL(convolution)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    EACH_2D(x, y, n - 4, m - 4) {
        ELEMENT sum = 0;
        for (int j = 0; j < 5; j++) for (int i = 0; i < 5; i++) sum = fma(a[(y + j) * n + x + i], b[j * 5 + i], sum);
        out[y * n + x] = sum;
    }
}
#else
REFERENCE(convolution)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int y = 0; y < m - 4; y++) for (int x = 0; x < n - 4; x++) {
        ELEMENT sum = 0;
        for (int j = 0; j < 5; j++) for (int i = 0; i < 5; i++) sum = fma(a[(y + j) * n + x + i], b[j * 5 + i], sum);
        out[y * n + x] = sum;
    }
}
#endif
