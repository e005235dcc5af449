// out: later is longer 1
// out: order 1
// out: not recorded 1
// out: disabled 1
// out: query 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void work(int* x, int n) { int v = *x; for (int i = 0; i < n; i++) v = v * 3 + i; *x = v; }
int main() {
    int* d; CHECK(cudaMalloc(&d, 4)); CHECK(cudaMemset(d, 0, 4)); cudaEvent_t e[3]; for (auto& x : e) CHECK(cudaEventCreate(&x)); cudaStream_t s; CHECK(cudaStreamCreate(&s));
    float ms; printf("%s", cudaEventElapsedTime(&ms, e[0], e[1]) == cudaErrorInvalidResourceHandle ? "" : "an event that was not recorded has a time\n"); cudaGetLastError();
    CHECK(cudaEventRecord(e[0], s)); work<<<1, 1, 0, s>>>(d, 1000); CHECK(cudaEventRecord(e[1], s)); work<<<1, 1, 0, s>>>(d, 100000); CHECK(cudaEventRecordWithFlags(e[2], s, cudaEventRecordDefault)); CHECK(cudaEventSynchronize(e[2]));
    float a, b; CHECK(cudaEventElapsedTime(&a, e[0], e[1])); CHECK(cudaEventElapsedTime(&b, e[0], e[2])); printf("later is longer %d\n", b >= a && a >= 0);
    CHECK(cudaEventElapsedTime(&ms, e[2], e[0])); printf("order %d\n", ms <= 0);
    cudaEvent_t f; CHECK(cudaEventCreateWithFlags(&f, cudaEventDisableTiming | cudaEventBlockingSync)); CHECK(cudaEventQuery(f)); printf("not recorded %d\n", cudaEventSynchronize(f) == cudaSuccess);
    CHECK(cudaEventRecord(f, s)); CHECK(cudaEventSynchronize(f)); printf("disabled %d\n", cudaEventElapsedTime(&ms, e[0], f) == cudaErrorInvalidResourceHandle); cudaGetLastError();
    printf("query %d\n", cudaEventQuery(e[1]) == cudaSuccess); for (auto x : e) CHECK(cudaEventDestroy(x));
}
