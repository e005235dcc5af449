// out: asynchronous 1
// out: registered 4950
// out: flags 1
// out: write combined 9
// out: pinned kinds 1 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void spin(volatile int* go, int* out, const int* in, int n) { while (!*go); int s = 0; for (int i = 0; i < n; i++) s += in[i]; *out = s; }
int main() {
    const int n = 100; int *h, *d, *out, *go, result = 0; cudaStream_t s; CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&h, n * 4)); CHECK(cudaMalloc(&d, n * 4)); CHECK(cudaMalloc(&out, 4)); CHECK(cudaHostAlloc(&go, 4, cudaHostAllocMapped | cudaHostAllocPortable));
    for (int i = 0; i < n; i++) h[i] = i;
    *go = 0; int* device_go; CHECK(cudaHostGetDevicePointer(&device_go, go, 0));
    CHECK(cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s));
    spin<<<1, 1, 0, s>>>(device_go, out, d, n);
    printf("asynchronous %d\n", cudaStreamQuery(s) == cudaErrorNotReady);
    cudaGetLastError();
    *(volatile int*)go = 1; CHECK(cudaStreamSynchronize(s));
    static char plain[8192]; int* at = (int*)(((size_t)plain + 4095) & ~(size_t)4095);
    CHECK(cudaHostRegister(at, 4096, cudaHostRegisterDefault));
    CHECK(cudaMemcpyAsync(at, out, 4, cudaMemcpyDeviceToHost, s)); CHECK(cudaStreamSynchronize(s)); printf("registered %d\n", *at);
    unsigned flags; CHECK(cudaHostGetFlags(&flags, go)); printf("flags %d\n", (flags & cudaHostAllocMapped) != 0);
    int* w; CHECK(cudaHostAlloc(&w, 4, cudaHostAllocWriteCombined)); *w = 9; CHECK(cudaMemcpy(&result, w, 4, cudaMemcpyHostToHost)); printf("write combined %d\n", result);
    cudaPointerAttributes a, b; CHECK(cudaPointerGetAttributes(&a, h)); CHECK(cudaPointerGetAttributes(&b, at)); printf("pinned kinds %d %d\n", a.type, b.type);
    CHECK(cudaHostUnregister(at)); CHECK(cudaFreeHost(h)); CHECK(cudaFreeHost(go)); CHECK(cudaFreeHost(w)); CHECK(cudaFree(d)); CHECK(cudaFree(out));
}
