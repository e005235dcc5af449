#include "suite.h"
#ifdef __CUDACC__
KERNEL(histogram)(const unsigned char *a, const int *b, int *out, int n, int m) {
    __shared__ int s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[a[i]], 1);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], s[threadIdx.x]);
}
#else
REFERENCE(histogram)(const unsigned char *a, const int *b, int *out, int n, int m) {
    int s[256] = {0};
    for (int i = 0; i < n; i++) s[a[i]]++;
    for (int t = 0; t < 256; t++) out[t] += s[t];
}
#endif
