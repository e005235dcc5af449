// out: refused 1
// out: 100000
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(int* out) { extern __shared__ char s[]; s[99999] = 1; *out = 99999 + s[99999]; }
int main() {
    int *d, h; CHECK(cudaMalloc(&d, 4));
    k<<<1, 1, 100000>>>(d); printf("refused %d\n", cudaGetLastError() != cudaSuccess);
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    k<<<1, 1, 100000>>>(d); CHECK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost)); printf("%d\n", h);
}
