#include "suite.h"
// A pair of words of n letters for each CTA, one diagonal after the other.
#define MOST 1024
#ifdef __CUDACC__
KERNEL(edit_distance)(const unsigned char *a, const unsigned char *b, int *out, int n, int m) {
    __shared__ int s[3][MOST + 1];
    const unsigned char *x = a + (INDEX)blockIdx.x * n, *y = b + (INDEX)blockIdx.x * n;
    int *before = s[0], *last = s[1], *now = s[2];
    for (int d = 0; d <= 2 * n; d++) {
        for (int i = max(0, d - n) + threadIdx.x; i <= min(d, n); i += BX) {
            int j = d - i;
            if (i == 0 || j == 0) now[i] = d;
            else now[i] = min(min(last[i], last[i - 1]) + 1, before[i - 1] + ((x[i - 1] & 3) != (y[j - 1] & 3)));
        }
        __syncthreads();
        int *t = before; before = last; last = now; now = t;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = last[n];
}
#else
REFERENCE(edit_distance)(const unsigned char *a, const unsigned char *b, int *out, int n, int m) {
    int row[MOST + 1];
    for (int p = 0; p < m; p++, a += n, b += n) {
        for (int j = 0; j <= n; j++) row[j] = j;
        for (int i = 1; i <= n; i++) {
            int corner = row[0];
            row[0] = i;
            for (int j = 1; j <= n; j++) { int v = min(min(row[j], row[j - 1]) + 1, corner + ((a[i - 1] & 3) != (b[j - 1] & 3))); corner = row[j]; row[j] = v; }
        }
        out[p] = row[n];
    }
}
#endif
