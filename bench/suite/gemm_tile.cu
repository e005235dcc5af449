#include "suite.h"
// Square tiles of any size, a result in each thread.
#ifdef __CUDACC__
KERNEL(gemm_tile)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT sa[BY][BX], sb[BX][BX];
    INDEX x = FIRST(x), y = FIRST(y);
    ELEMENT sum = 0;
    for (INDEX k0 = 0; k0 < (INDEX)m; k0 += BX) {
        INDEX k = k0 + threadIdx.x;
        sa[threadIdx.y][threadIdx.x] = y < (INDEX)n && k < (INDEX)m ? a[y * m + k] : 0;
        for (int j = threadIdx.y; j < BX; j += BY) sb[j][threadIdx.x] = x < (INDEX)n && k0 + j < (INDEX)m ? b[(k0 + j) * n + x] : 0;
        __syncthreads();
        for (int j = 0; j < BX; j++) sum += sa[threadIdx.y][j] * sb[j][threadIdx.x];
        __syncthreads();
    }
    if (x < (INDEX)n && y < (INDEX)n) out[y * n + x] = sum;
}
#else
REFERENCE(gemm_tile)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) for (int j = 0; j < n; j++) out[i * n + j] += a[i * m + k] * b[k * n + j];
}
#endif
