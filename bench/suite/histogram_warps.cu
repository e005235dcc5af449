#include "suite.h"
// 64 bins of bytes, four to a word, a histogram to each warp, put together at the end.
#ifdef __CUDACC__
KERNEL(histogram_warps)(const unsigned *a, const int *b, unsigned *out, int n, int m) {
    __shared__ unsigned s[BX / 32][64];
    int warp = threadIdx.x >> 5;
    for (int i = threadIdx.x; i < BX / 32 * 64; i += BX) s[0][i] = 0;
    __syncthreads();
    for (INDEX i = FIRST(x); i < (INDEX)n; i += STEP(x)) {
        unsigned word = a[i];
        atomicAdd(&s[warp][word >> 2 & 63], 1u);
        atomicAdd(&s[warp][word >> 10 & 63], 1u);
        atomicAdd(&s[warp][word >> 18 & 63], 1u);
        atomicAdd(&s[warp][word >> 26], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += BX) {
        unsigned sum = 0;
        for (int w = 0; w < BX / 32; w++) sum += s[w][i];
        atomicAdd(&out[i], sum);
    }
}
#else
REFERENCE(histogram_warps)(const unsigned *a, const int *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) { unsigned w = a[i]; out[w >> 2 & 63]++; out[w >> 10 & 63]++; out[w >> 18 & 63]++; out[w >> 26]++; }
}
#endif
