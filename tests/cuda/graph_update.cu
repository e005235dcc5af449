// out: nodes 5 edges 4
// out: captured 3 9
// out: status 1
// out: update 0 result 0
// out: updated 5 25
// out: update of another shape: cudaErrorGraphExecUpdateFailure result 2
// out: clone 25
// out: type 0
// out: forked 2 4 8 16
// out: in capture: cudaErrorStreamCaptureUnsupported
// out: invalidated: cudaErrorStreamCaptureInvalidated
// out: disabled 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
__global__ void set(int* p, int v) { *p = v; }
__global__ void sq(int* a, const int* b) { *a = *b * *b; }
__global__ void shl(int* p, int i) { p[i] = 2 << i; }
static cudaGraph_t record(cudaStream_t s, int* d, int* h, int v) {
    cudaGraph_t g; CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); CHECK(cudaMemsetAsync(d, 0, 8, s)); set<<<1, 1, 0, s>>>(d, v); sq<<<1, 1, 0, s>>>(d + 1, d);
    CHECK(cudaMemcpyAsync(h, d, 4, cudaMemcpyDeviceToHost, s)); CHECK(cudaMemcpyAsync(h + 1, d + 1, 4, cudaMemcpyDeviceToHost, s)); CHECK(cudaStreamEndCapture(s, &g)); return g;
}
int main() {
    int *d, *h; CHECK(cudaMalloc(&d, 64)); CHECK(cudaMallocHost(&h, 64)); cudaStream_t s, t; CHECK(cudaStreamCreate(&s)); CHECK(cudaStreamCreate(&t));
    cudaGraph_t g = record(s, d, h, 3); size_t nodes = 0, edges = 0; CHECK(cudaGraphGetNodes(g, nullptr, &nodes));
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphGetEdges(g, nullptr, nullptr, nullptr, &edges));
#else
    CHECK(cudaGraphGetEdges(g, nullptr, nullptr, &edges));
#endif
   ; printf("nodes %zu edges %zu\n", nodes, edges);
    cudaGraphExec_t e; CHECK(cudaGraphInstantiate(&e, g, 0)); CHECK(cudaGraphUpload(e, s)); CHECK(cudaGraphLaunch(e, s)); CHECK(cudaStreamSynchronize(s)); printf("captured %d %d\n", h[0], h[1]);
    cudaStreamCaptureStatus st; CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); CHECK(cudaStreamIsCapturing(s, &st)); printf("status %d\n", st); cudaGraph_t empty; CHECK(cudaStreamEndCapture(s, &empty));
    cudaGraph_t g2 = record(s, d, h, 5); cudaGraphExecUpdateResultInfo info; cudaError_t r = cudaGraphExecUpdate(e, g2, &info); printf("update %d result %d\n", r, info.result); CHECK(cudaGraphLaunch(e, s)); CHECK(cudaStreamSynchronize(s)); printf("updated %d %d\n", h[0], h[1]);
    r = cudaGraphExecUpdate(e, empty, &info); printf("update of another shape: %s result %d\n", cudaGetErrorName(r), info.result); cudaGetLastError();
    cudaGraph_t c; CHECK(cudaGraphClone(&c, g2)); cudaGraphExec_t e2; CHECK(cudaGraphInstantiate(&e2, c, 0)); h[1] = 0; CHECK(cudaGraphLaunch(e2, t)); CHECK(cudaStreamSynchronize(t)); printf("clone %d\n", h[1]);
    cudaGraphNode_t all[8]; nodes = 8; CHECK(cudaGraphGetNodes(g2, all, &nodes)); for (size_t i = 0; i < nodes; i++) { cudaGraphNodeType ty; CHECK(cudaGraphNodeGetType(all[i], &ty)); if (ty == cudaGraphNodeTypeKernel) { printf("type %d\n", ty); break; } }
    cudaEvent_t ev, back; CHECK(cudaEventCreate(&ev)); CHECK(cudaEventCreate(&back)); cudaGraph_t f; CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); CHECK(cudaEventRecord(ev, s)); CHECK(cudaStreamWaitEvent(t, ev)); shl<<<1, 1, 0, s>>>(d, 0); shl<<<1, 1, 0, t>>>(d, 1); shl<<<1, 1, 0, s>>>(d, 2); shl<<<1, 1, 0, t>>>(d, 3); CHECK(cudaEventRecord(back, t)); CHECK(cudaStreamWaitEvent(s, back)); CHECK(cudaMemcpyAsync(h, d, 16, cudaMemcpyDeviceToHost, s)); CHECK(cudaStreamEndCapture(s, &f));
    cudaGraphExec_t fe; CHECK(cudaGraphInstantiate(&fe, f, 0)); CHECK(cudaGraphLaunch(fe, t)); CHECK(cudaStreamSynchronize(t)); printf("forked %d %d %d %d\n", h[0], h[1], h[2], h[3]);
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); printf("in capture: %s\n", cudaGetErrorName(cudaStreamSynchronize(s))); cudaGraph_t bad; printf("invalidated: %s\n", cudaGetErrorName(cudaStreamEndCapture(s, &bad))); cudaGetLastError();
    nodes = 8; CHECK(cudaGraphGetNodes(g, all, &nodes)); for (size_t i = 0; i < nodes; i++) { cudaGraphNodeType ty; CHECK(cudaGraphNodeGetType(all[i], &ty)); if (ty == cudaGraphNodeTypeKernel) { CHECK(cudaGraphNodeSetEnabled(e, all[i], 0)); unsigned on; CHECK(cudaGraphNodeGetEnabled(e, all[i], &on)); printf("disabled %d\n", !on); break; } }
    CHECK(cudaGraphExecDestroy(e)); CHECK(cudaGraphExecDestroy(e2)); CHECK(cudaGraphDestroy(g)); CHECK(cudaGraphDestroy(g2)); CHECK(cudaGraphDestroy(c));
}
