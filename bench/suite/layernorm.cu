#include "suite.h"
#ifdef __CUDACC__
KERNEL(layernorm)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BX / 32];
    const ELEMENT *row = a + (INDEX)blockIdx.x * n;
    ELEMENT sum = 0;
    for (INDEX i = threadIdx.x; i < (INDEX)n; i += BX) sum += row[i];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x / 32] = sum;
    __syncthreads();
    ELEMENT mean = 0;
    for (int w = 0; w < BX / 32; w++) mean += s[w];
    mean /= n;
    for (INDEX i = threadIdx.x; i < (INDEX)n; i += BX) out[(INDEX)blockIdx.x * n + i] = (row[i] - mean) * (ELEMENT)0.5;
}
#else
REFERENCE(layernorm)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int r = 0; r < m; r++) {
        const ELEMENT *row = a + (long)r * n;
        ELEMENT lane[BX] = {0}, mean = 0;
        for (int i = 0; i < n; i += BX) for (int t = 0; t < min(BX, n - i); t++) lane[t] += row[i + t];
        for (int d = 16; d; d /= 2) { ELEMENT o[BX]; for (int t = 0; t < BX; t++) o[t] = lane[t] + lane[t ^ d]; memcpy(lane, o, sizeof o); }
        for (int w = 0; w < BX / 32; w++) mean += lane[w * 32];
        mean /= n;
        for (int i = 0; i < n; i++) out[(long)r * n + i] = (row[i] - mean) * (ELEMENT)0.5;
    }
}
#endif
