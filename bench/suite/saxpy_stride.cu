#include "suite.h"
#ifdef __CUDACC__
KERNEL(saxpy_stride)(const float *a, const float *b, float *out, int n, int m) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2.5f * a[i] + b[i];
}
#else
REFERENCE(saxpy_stride)(const float *a, const float *b, float *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = fmaf(2.5f, a[i], b[i]);
}
#endif
