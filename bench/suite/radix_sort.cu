#include "suite.h"
// Sorts the lowest 8 bits of each part, bit by bit: a split by a scan of ballots, stable.
#ifdef __CUDACC__
KERNEL(radix_sort)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    __shared__ unsigned s[BX];
    __shared__ int zeros[BX / 32];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    INDEX base = (INDEX)blockIdx.x * BX;
    unsigned v = a[base + t];
    for (int bit = 0; bit < 8; bit++) {
        bool one = v >> bit & 1;
        unsigned votes = __ballot_sync(0xffffffffu, !one);
        if (lane == 0) zeros[warp] = __popc(votes);
        __syncthreads();
        int before = __popc(votes & ((1u << lane) - 1)), total = 0;
        for (int w = 0; w < BX / 32; w++) { if (w < warp) before += zeros[w]; total += zeros[w]; }
        s[one ? total + t - before : before] = v;
        __syncthreads();
        v = s[t];
    }
    out[base + t] = v;
}
#else
REFERENCE(radix_sort)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int base = 0; base < n; base += BX) {
        int start[257] = {0};
        for (int t = 0; t < BX; t++) start[(a[base + t] & 255) + 1]++;
        for (int v = 0; v < 256; v++) start[v + 1] += start[v];
        for (int t = 0; t < BX; t++) out[base + start[a[base + t] & 255]++] = a[base + t];
    }
}
#endif
