// out: callback 0
// out: host 3
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

static void CUDART_CB done(cudaStream_t, cudaError_t e, void*) { printf("callback %d\n", (int)e); }
static void CUDART_CB host(void* p) { printf("host %d\n", *(int*)p); }
__global__ void k(int* x) { *x = 3; }
int main() {
    cudaStream_t s; int* x; CHECK(cudaStreamCreate(&s)); CHECK(cudaMallocHost(&x, 4));
    k<<<1, 1, 0, s>>>(x);
    CHECK(cudaStreamAddCallback(s, done, 0, 0)); CHECK(cudaLaunchHostFunc(s, host, x));
    CHECK(cudaStreamSynchronize(s));
}
