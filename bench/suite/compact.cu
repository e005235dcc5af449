#include "suite.h"
// Keeps what is odd, in order, in the part of each CTA: ballots, a count for each warp, a scan over the warps.
#ifdef __CUDACC__
KERNEL(compact)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ int counts[THREADS / 32];
    INDEX base = (INDEX)blockIdx.x * THREADS, i = base + threadIdx.x;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    bool keep = i < (INDEX)n && (a[i] & 1);
    unsigned votes = __ballot_sync(~0u, keep);
    if (lane == 0) counts[warp] = __popc(votes);
    __syncthreads();
    int before = 0;
    for (int w = 0; w < warp; w++) before += counts[w];
    if (keep) out[base + before + __popc(votes & ((1u << lane) - 1))] = a[i];
}
#else
REFERENCE(compact)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int base = 0; base < n; base += THREADS) { int at = base; for (int i = base; i < min(n, base + THREADS); i++) if (a[i] & 1) out[at++] = a[i]; }
}
#endif
