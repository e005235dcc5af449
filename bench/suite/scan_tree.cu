#include "suite.h"
// Blelloch's exclusive scan, two elements to a thread.
#ifdef __CUDACC__
KERNEL(scan_tree)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[2 * BX];
    int t = threadIdx.x, offset = 1;
    INDEX base = (INDEX)blockIdx.x * (2 * BX);
    s[2 * t] = a[base + 2 * t];
    s[2 * t + 1] = a[base + 2 * t + 1];
    for (int d = BX; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0) s[2 * BX - 1] = 0;
    for (int d = 1; d <= BX; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int i = offset * (2 * t + 1) - 1, j = offset * (2 * t + 2) - 1;
            ELEMENT v = s[i];
            s[i] = s[j];
            s[j] += v;
        }
    }
    __syncthreads();
    out[base + 2 * t] = s[2 * t];
    out[base + 2 * t + 1] = s[2 * t + 1];
}
#else
REFERENCE(scan_tree)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int base = 0; base < n; base += 2 * BX) { ELEMENT v = 0; for (int t = 0; t < 2 * BX; t++) { out[base + t] = v; v += a[base + t]; } }
}
#endif
