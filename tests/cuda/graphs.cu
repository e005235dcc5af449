// out: 3 nodes
// out: 30
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void add(int* x, int n) { *x += n; }
int main() {
    cudaStream_t s; int *d, h; CHECK(cudaStreamCreate(&s)); CHECK(cudaMalloc(&d, 4)); CHECK(cudaMemset(d, 0, 4));
    cudaGraph_t g; cudaGraphExec_t e; size_t n = 0;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int i = 1; i <= 3; i++) add<<<1, 1, 0, s>>>(d, i);
    CHECK(cudaStreamEndCapture(s, &g)); CHECK(cudaGraphGetNodes(g, 0, &n)); printf("%zu nodes\n", n);
    CHECK(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 5; i++) CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s)); CHECK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost)); printf("%d\n", h);
    CHECK(cudaGraphExecDestroy(e)); CHECK(cudaGraphDestroy(g));
}
