// out: 7
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

// The default stream waits for blocking streams, and they for it.
__global__ void slow(volatile int* x) { for (int i = 0; i < 20000; i++) *x = *x + 1; *x = 5; }
__global__ void inc(int* x) { ++*x; }
int main() {
    cudaStream_t a, b; int *d, h;
    CHECK(cudaMalloc(&d, 4)); CHECK(cudaMemset(d, 0, 4));
    CHECK(cudaStreamCreate(&a)); CHECK(cudaStreamCreate(&b));
    slow<<<1, 1, 0, a>>>(d);
    inc<<<1, 1>>>(d);
    inc<<<1, 1, 0, b>>>(d);
    CHECK(cudaMemcpyAsync(&h, d, 4, cudaMemcpyDeviceToHost, b));
    CHECK(cudaStreamSynchronize(b));
    printf("%d\n", h);
}
