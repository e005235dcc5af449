#include "suite.h"
// A step over incoming edges in CSR: a warp for each node, as many edges as the offsets say.
HD int begins(const int *b, int r) { return r * 24 + (b[r] & 15); }
#ifdef __CUDACC__
KERNEL(pagerank)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    int lane = threadIdx.x & 31;
    for (INDEX r = FIRST(x) >> 5; r < (INDEX)n; r += STEP(x) >> 5) {
        ELEMENT sum = 0;
        for (int e = begins(b, r) + lane, end = begins(b, r + 1); e < end; e += 32) sum += a[(unsigned)b[e] % n];
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
        if (lane == 0) out[r] = (ELEMENT)0.15 + (ELEMENT)0.85 * sum;
    }
}
#else
REFERENCE(pagerank)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    for (int r = 0; r < n; r++) {
        ELEMENT lane[32] = {0};
        for (int s = begins(b, r), e = s; e < begins(b, r + 1); e++) lane[(e - s) % 32] += a[(unsigned)b[e] % n];
        for (int d = 1; d < 32; d *= 2) for (int t = 0; t < 32; t += 2 * d) lane[t] += lane[t + d];
        out[r] = (ELEMENT)0.15 + (ELEMENT)0.85 * lane[0];
    }
}
#endif
