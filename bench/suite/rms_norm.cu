#include "suite.h"
// Rows divided by the root of their mean square, a warp to each.
#ifdef __CUDACC__
KERNEL(rms_norm)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    INDEX r = (INDEX)blockIdx.x * (BX / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r < (INDEX)m) {
        const ELEMENT *row = a + r * n;
        ELEMENT sum = 0;
        for (INDEX i = lane; i < (INDEX)n; i += 32) sum = fma(row[i], row[i], sum);
        for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(~0u, sum, d);
        ELEMENT root = sqrt(sum / n + (ELEMENT)1e-5);
        for (INDEX i = lane; i < (INDEX)n; i += 32) out[r * n + i] = row[i] / root * b[i];
    }
}
#else
REFERENCE(rms_norm)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int r = 0; r < m; r++, a += n, out += n) {
        ELEMENT lane[32] = {0};
        for (int i = 0; i < n; i += 32) for (int t = 0; t < min(32, n - i); t++) lane[t] = fma(a[i + t], a[i + t], lane[t]);
        for (int d = 1; d < 32; d *= 2) for (int t = 0; t < 32; t += 2 * d) lane[t] += lane[t + d];
        ELEMENT root = std::sqrt(lane[0] / n + (ELEMENT)1e-5);
        for (int i = 0; i < n; i++) out[i] = a[i] / root * b[i];
    }
}
#endif
