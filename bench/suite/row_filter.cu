#include "suite.h"
// One dimension of a separable filter, through shared memory with a halo of R on both sides; borders repeat.
#define R 8
#ifdef __CUDACC__
__constant__ float WEIGHTS[2 * R + 1] = {.01f, .02f, .03f, .04f, .06f, .08f, .1f, .12f, .14f, .12f, .1f, .08f, .06f, .04f, .03f, .02f, .01f};
KERNEL(row_filter)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BY][BX + 2 * R];
    int x = FIRST(x), y = min((int)FIRST(y), m - 1), tx = threadIdx.x, ty = threadIdx.y;
    for (int e = tx; e < BX + 2 * R; e += BX) s[ty][e] = a[(INDEX)y * n + min(max((int)(blockIdx.x * BX) + e - R, 0), n - 1)];
    __syncthreads();
    if (x >= n || FIRST(y) >= (INDEX)m) return;
    ELEMENT sum = 0;
#pragma unroll
    for (int k = 0; k <= 2 * R; k++) sum += WEIGHTS[k] * s[ty][tx + k];
    out[(INDEX)y * n + x] = sum;
}
#else
static const float WEIGHTS[2 * R + 1] = {.01f, .02f, .03f, .04f, .06f, .08f, .1f, .12f, .14f, .12f, .1f, .08f, .06f, .04f, .03f, .02f, .01f};
REFERENCE(row_filter)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int y = 0; y < m; y++) {
        const ELEMENT *row = a + (long)y * n;
        for (int x = 0; x < n; x++) {
            ELEMENT sum = 0;
            if (x >= R && x < n - R) for (int k = 0; k <= 2 * R; k++) sum += WEIGHTS[k] * row[x + k - R];
            else for (int k = 0; k <= 2 * R; k++) sum += WEIGHTS[k] * row[min(max(x + k - R, 0), n - 1)];
            out[(long)y * n + x] = sum;
        }
    }
}
#endif
