#include "suite.h"
#ifdef __CUDACC__
KERNEL(warp_scan)(const int *a, const int *b, int *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int v = a[i];
    for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
    out[i] = v;
}
#else
REFERENCE(warp_scan)(const int *a, const int *b, int *out, int n, int m) {
    for (int base = 0; base < n; base += 32) { int v = 0; for (int t = 0; t < 32; t++) out[base + t] = v += a[base + t]; }
}
#endif
