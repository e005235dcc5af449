// out: launch no error
// out: sync cudaErrorIllegalAddress
// out: again cudaErrorIllegalAddress
// out: after reset 5
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void bad(int* p) { p[1000] = 1; }
__global__ void good(int* p) { *p = 5; }
int main() {
    int *d, h = 0; CHECK(cudaMalloc(&d, 16));
    bad<<<1, 1>>>(d);
    printf("launch %s\n", cudaGetErrorString(cudaSuccess));
    printf("sync %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("again %s\n", cudaGetErrorName(cudaMalloc(&d, 4)));
    CHECK(cudaDeviceReset());
    CHECK(cudaMalloc(&d, 4)); good<<<1, 1>>>(d); CHECK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
    printf("after reset %d\n", h);
}
