// out: inside 21
// out: errors 1 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void set(int* x, int v) { *x = v; }
__global__ void twice(const int* x, int* out) { *out = *x * 2 + 1; }
int main() {
    cudaStream_t s; CHECK(cudaStreamCreate(&s)); int *h, *out; CHECK(cudaMallocHost(&h, 4)); CHECK(cudaMalloc(&out, 4));
    // Memory that lives inside the graph.
    int* tmp; cudaGraph_t g; CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMallocAsync(&tmp, 4, s)); set<<<1, 1, 0, s>>>(tmp, 10); twice<<<1, 1, 0, s>>>(tmp, out); CHECK(cudaFreeAsync(tmp, s)); CHECK(cudaMemcpyAsync(h, out, 4, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamEndCapture(s, &g)); cudaGraphExec_t e; CHECK(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s)); printf("inside %d\n", *h);
    // What a capture does not allow ends it.
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); int one = cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported; cudaGetLastError(); int two = cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated;
    printf("errors %d %d\n", one, two);
}
