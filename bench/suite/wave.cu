#include "suite.h"
// A step of a wave through shared memory with a border of one cell around each block.
#ifdef __CUDACC__
KERNEL(wave)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BY + 2][BX + 2];
    int x = FIRST(x), y = FIRST(y), tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    auto at = [=](int u, int v) { return u < 0 || v < 0 || u >= n || v >= m ? (ELEMENT)0 : a[(INDEX)v * n + u]; };
    s[ty][tx] = at(x, y);
    if (tx == 1) s[ty][0] = at(x - 1, y);
    if (tx == BX) s[ty][BX + 1] = at(x + 1, y);
    if (ty == 1) s[0][tx] = at(x, y - 1);
    if (ty == BY) s[BY + 1][tx] = at(x, y + 1);
    __syncthreads();
    if (x < n && y < m) {
        INDEX i = (INDEX)y * n + x;
        out[i] = 2 * s[ty][tx] - b[i] + (ELEMENT)0.25 * (s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx] - 4 * s[ty][tx]);
    }
}
#else
REFERENCE(wave)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    auto at = [=](int u, int v) { return u < 0 || v < 0 || u >= n || v >= m ? (ELEMENT)0 : a[(long)v * n + u]; };
    for (int y = 0; y < m; y++) for (int x = 0; x < n; x++) {
        long i = (long)y * n + x;
        out[i] = 2 * a[i] - b[i] + (ELEMENT)0.25 * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * a[i]);
    }
}
#endif
