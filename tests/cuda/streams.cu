// out: 1 4 13 40
// out: done
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void step(int* x) { *x = *x * 3 + 1; }
int main() {
    cudaStream_t s[4]; int* d; int h[4];
    CHECK(cudaMalloc(&d, sizeof h)); CHECK(cudaMemset(d, 0, sizeof h));
    for (int i = 0; i < 4; i++) {
        CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
        for (int k = 0; k <= i; k++) step<<<1, 1, 0, s[i]>>>(d + i);
    }
    for (auto x : s) CHECK(cudaStreamSynchronize(x));
    CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDefault));
    printf("%d %d %d %d\n", h[0], h[1], h[2], h[3]);
    for (auto x : s) { if (cudaStreamQuery(x) != cudaSuccess) return 1; CHECK(cudaStreamDestroy(x)); }
    puts("done");
}
