#include "suite.h"
#ifdef __CUDACC__
KERNEL(stencil)(const float *a, const float *b, float *out, int n, int m) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= m) return;
    int l = max(x - 1, 0), r = min(x + 1, n - 1), u = max(y - 1, 0), d = min(y + 1, m - 1);
    out[y * n + x] = __fmul_rn(0.2f, __fadd_rn(__fadd_rn(a[y * n + l], a[y * n + r]), __fadd_rn(__fadd_rn(a[u * n + x], a[d * n + x]), a[y * n + x])));
}
#else
REFERENCE(stencil)(const float *a, const float *b, float *out, int n, int m) {
    for (int y = 0; y < m; y++) for (int x = 0; x < n; x++) {
        int l = x > 0 ? x - 1 : 0, r = x < n - 1 ? x + 1 : n - 1, u = y > 0 ? y - 1 : 0, d = y < m - 1 ? y + 1 : m - 1;
        out[y * n + x] = 0.2f * ((a[y * n + l] + a[y * n + r]) + ((a[u * n + x] + a[d * n + x]) + a[y * n + x]));
    }
}
#endif
