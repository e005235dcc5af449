#include "suite.h"
#ifdef __CUDACC__
KERNEL(dot)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    __shared__ ELEMENT s[BX / 32];
    ELEMENT sum = 0;
    for (INDEX i = FIRST(x); i < (INDEX)n; i += STEP(x)) sum += a[i] * b[i];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < BX / 32; w++) sum += s[w];
        if (sizeof(ELEMENT) == 8) atomicAdd((unsigned long long *)out, (unsigned long long)sum); else atomicAdd((unsigned *)out, (unsigned)sum);
    }
}
#else
REFERENCE(dot)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    ELEMENT sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    out[0] += sum;
}
#endif
