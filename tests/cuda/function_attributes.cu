// out: static 400 dynamic 48752 threads 128
// out: refused 1
// out: asked 98304
// out: sum 24576
// out: carveout 50
// out: named 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#include <cstring>
__global__ void __launch_bounds__(128) k(int* out, int n) { __shared__ int s[100]; extern __shared__ int d[]; for (int i = threadIdx.x; i < n; i += blockDim.x) d[i] = 1; s[threadIdx.x % 100] = 0; __syncthreads();
    if (threadIdx.x == 0) { int t = s[0]; for (int i = 0; i < n; i++) t += d[i]; *out = t; } }
int main() {
    cudaFuncAttributes a; CHECK(cudaFuncGetAttributes(&a, k)); printf("static %zu dynamic %d threads %d\n", a.sharedSizeBytes, a.maxDynamicSharedSizeBytes, a.maxThreadsPerBlock);
    int* out; CHECK(cudaMallocManaged(&out, 4));
    k<<<1, 128, 98304>>>(out, 24576); printf("refused %d\n", cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304)); CHECK(cudaFuncGetAttributes(&a, k)); printf("asked %d\n", a.maxDynamicSharedSizeBytes);
    k<<<1, 128, 98304>>>(out, 24576); CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize()); printf("sum %d\n", *out);
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 50)); CHECK(cudaFuncGetAttributes(&a, k)); printf("carveout %d\n", a.preferredShmemCarveout);
    CHECK(cudaFuncSetCacheConfig(k, cudaFuncCachePreferShared));
    const char* name; CHECK(cudaFuncGetName(&name, (const void*)k)); printf("named %d\n", strstr(name, "k") != 0);
}
