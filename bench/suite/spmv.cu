#include "suite.h"
#ifdef __CUDACC__
KERNEL(spmv)(const float *a, const int *b, float *out, int n, int m) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float sum = 0;
    int count = (b[r] >> 8 & 15) + 1;
    for (int k = 0; k < count; k++) { int c = (unsigned)b[r * 16 + k] % n; sum = __fmaf_rn(a[r * 16 + k], a[c], sum); }
    out[r] = sum;
}
#else
REFERENCE(spmv)(const float *a, const int *b, float *out, int n, int m) {
    for (int r = 0; r < n; r++) {
        float sum = 0;
        int count = (b[r] >> 8 & 15) + 1;
        for (int k = 0; k < count; k++) { int c = (unsigned)b[r * 16 + k] % n; sum = fmaf(a[r * 16 + k], a[c], sum); }
        out[r] = sum;
    }
}
#endif
