#include "suite.h"
#ifdef __CUDACC__
KERNEL(warp_scan)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    INDEX i = FIRST(x), lane = threadIdx.x & 31;
    ELEMENT v = i < (INDEX)n ? a[i] : 0;
    for (int d = 1; d < 32; d *= 2) { ELEMENT o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
    if (i < (INDEX)n) out[i] = v;
}
#else
REFERENCE(warp_scan)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int base = 0; base < n; base += 32) { ELEMENT v = 0; for (int t = 0; t < 32; t++) out[base + t] = v += a[base + t]; }
}
#endif
