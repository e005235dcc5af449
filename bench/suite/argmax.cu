#include "suite.h"
// The greatest of each part and where it is first: a tree over pairs.
struct Best { ELEMENT value; int at; };
HD Best better(Best p, Best q) { return q.value > p.value || (q.value == p.value && q.at < p.at) ? q : p; }
#ifdef __CUDACC__
KERNEL(argmax)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    __shared__ Best s[BX];
    int t = threadIdx.x;
    const ELEMENT *row = a + (INDEX)blockIdx.x * n;
    Best best = {row[0], 0};
    for (int i = t; i < n; i += BX) best = better(best, Best{row[i], i});
    s[t] = best;
    __syncthreads();
    for (int d = BX / 2; d > 0; d >>= 1) {
        if (t < d) s[t] = better(s[t], s[t + d]);
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0].at;
}
#else
REFERENCE(argmax)(const ELEMENT *a, const ELEMENT *b, int *out, int n, int m) {
    for (int r = 0; r < m; r++) {
        const ELEMENT *row = a + (long)r * n;
        int at = 0;
        for (int i = 1; i < n; i++) if (row[i] > row[at]) at = i;
        out[r] = at;
    }
}
#endif
