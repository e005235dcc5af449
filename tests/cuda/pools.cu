// out: 12
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(int* x) { *x = 12; }
int main() {
    cudaStream_t s; int *d, h; CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync(&d, 4, s)); k<<<1, 1, 0, s>>>(d); CHECK(cudaMemcpyAsync(&h, d, 4, cudaMemcpyDeviceToHost, s));
    CHECK(cudaFreeAsync(d, s)); CHECK(cudaStreamSynchronize(s)); printf("%d\n", h);
}
