#include "suite.h"
// A warp for each row.
#ifdef __CUDACC__
KERNEL(matvec)(const ELEMENT *a, const ELEMENT *__restrict__ b, ELEMENT *out, int n, int m) {
    INDEX row = FIRST(x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= (INDEX)m) return;
    ELEMENT sum = 0;
    for (INDEX i = lane; i < (INDEX)n; i += 32) sum = fma(a[row * n + i], b[i], sum);
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[row] = sum;
}
#else
REFERENCE(matvec)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int r = 0; r < m; r++) {
        ELEMENT lane[32] = {0};
        int i = 0;
        for (; i + 32 <= n; i += 32) for (int t = 0; t < 32; t++) lane[t] = fma(a[(long)r * n + i + t], b[i + t], lane[t]);
        for (int t = 0; i + t < n; t++) lane[t] = fma(a[(long)r * n + i + t], b[i + t], lane[t]);
        for (int d = 16; d; d /= 2) for (int t = 0; t < d; t++) lane[t] += lane[t + d];
        out[r] = lane[0];
    }
}
#endif
