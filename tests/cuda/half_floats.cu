// out: 6.5 2.25
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void k(float* x) { x[0] = __half2float(__hfma(__float2half(2.0f), __float2half(3.0f), __float2half(0.5f))); x[1] = __bfloat162float(__hmul(__float2bfloat16(1.5f), __float2bfloat16(1.5f))); }
int main() { float* x; cudaMallocManaged(&x, 8); k<<<1, 1>>>(x); if (cudaDeviceSynchronize()) return 1; printf("%g %g\n", x[0], x[1]); }
