// out: cudaErrorInvalidValue: invalid argument
// out: cudaErrorInvalidConfiguration
// out: no error
// out: cudaErrorMemoryAllocation
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k() {}
int main() {
    cudaError_t e = cudaMemcpy(0, 0, 16, cudaMemcpyHostToDevice);
    printf("%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e));
    cudaGetLastError();
    k<<<1, 4096>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorString(cudaPeekAtLastError()));
    void* p; printf("%s\n", cudaGetErrorName(cudaMalloc(&p, (size_t)1 << 50)));
}
