#include "suite.h"
#ifdef __CUDACC__
KERNEL(transpose)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BX][BX + 1];
    INDEX x = (INDEX)blockIdx.x * BX + threadIdx.x, y = (INDEX)blockIdx.y * BX + threadIdx.y;
    for (int j = 0; j < BX; j += BY) if (x < n && y + j < m) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
    __syncthreads();
    x = (INDEX)blockIdx.y * BX + threadIdx.x; y = (INDEX)blockIdx.x * BX + threadIdx.y;
    for (int j = 0; j < BX; j += BY) if (x < m && y + j < n) out[(y + j) * m + x] = s[threadIdx.x][threadIdx.y + j];
}
#else
REFERENCE(transpose)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int y = 0; y < m; y += 32) for (int x = 0; x < n; x += 32)
        for (int j = y; j < min(y + 32, m); j++) for (int i = x; i < min(x + 32, n); i++) out[i * m + j] = a[j * n + i];
}
#endif
