#include "suite.h"
#ifdef __CUDACC__
KERNEL(transpose)(const float *a, const float *b, float *out, int n, int m) {
    __shared__ float s[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * m + x] = s[threadIdx.x][threadIdx.y + j];
}
#else
REFERENCE(transpose)(const float *a, const float *b, float *out, int n, int m) {
    for (int y = 0; y < m; y += 32) for (int x = 0; x < n; x += 32)
        for (int j = 0; j < 32; j++) for (int i = 0; i < 32; i++) out[(x + i) * m + y + j] = a[(y + j) * n + x + i];
}
#endif
