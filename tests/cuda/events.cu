// out: order 1
// out: time 1
// out: ready
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void work(int* x, int n) { for (int i = 0; i < n; i++) atomicAdd(x, 1); }
int main() {
    cudaEvent_t start, stop; cudaStream_t s, t; int* d; int h = 0;
    CHECK(cudaMalloc(&d, 4)); CHECK(cudaMemset(d, 0, 4));
    CHECK(cudaEventCreate(&start)); CHECK(cudaEventCreate(&stop));
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventRecord(start, s));
    work<<<1, 32, 0, s>>>(d, 1000);
    CHECK(cudaEventRecord(stop, s));
    CHECK(cudaStreamWaitEvent(t, stop, 0));
    CHECK(cudaMemcpyAsync(&h, d, 4, cudaMemcpyDeviceToHost, t));
    CHECK(cudaStreamSynchronize(t));
    printf("order %d\n", h == 32000);
    CHECK(cudaEventSynchronize(stop));
    float ms = -1; CHECK(cudaEventElapsedTime(&ms, start, stop));
    printf("time %d\n", ms > 0 && ms < 60000);
    if (cudaEventQuery(stop) == cudaSuccess) puts("ready");
}
