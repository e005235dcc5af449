#include "suite.h"
// Tiles of 64 x 64 x 16, a square of 4 x 4 results in the registers of each thread; sizes need not be multiples.
#define N 64
#define D 16
#ifdef __CUDACC__
KERNEL(gemm_blocked)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT sa[D][N], sb[D][N];
    INDEX row = (INDEX)blockIdx.y * N, col = (INDEX)blockIdx.x * N;
    int t = threadIdx.y * 16 + threadIdx.x;
    ELEMENT sum[4][4] = {};
    for (INDEX k0 = 0; k0 < (INDEX)m; k0 += D) {
        for (int e = t; e < N * D; e += 256) {
            INDEX r = row + e / D, k = k0 + e % D, c = col + e % N, l = k0 + e / N;
            sa[e % D][e / D] = r < (INDEX)n && k < (INDEX)m ? a[r * m + k] : 0;
            sb[e / N][e % N] = c < (INDEX)n && l < (INDEX)m ? b[l * n + c] : 0;
        }
        __syncthreads();
        for (int k = 0; k < D; k++) {
            ELEMENT x[4], y[4];
            for (int i = 0; i < 4; i++) { x[i] = sa[k][threadIdx.y * 4 + i]; y[i] = sb[k][threadIdx.x * 4 + i]; }
            for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) sum[i][j] = fma(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) {
        INDEX r = row + threadIdx.y * 4 + i, c = col + threadIdx.x * 4 + j;
        if (r < (INDEX)n && c < (INDEX)n) out[r * n + c] = sum[i][j];
    }
}
#else
REFERENCE(gemm_blocked)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) for (int j = 0; j < n; j++) out[i * n + j] = fma(a[i * m + k], b[k * n + j], out[i * n + j]);
}
#endif
