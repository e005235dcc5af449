// cuda: 13
// out: nodes 6 edges 6
// out: result 33
// out: updated 63
// out: after change 0
// out: type kernel 1 memset 1
// out: cloned 33
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void add(int* x, int n) { *x += n; }
__global__ void join(const int* a, const int* b, int* out) { *out = *a + *b; }
int main() {
    cudaStream_t s, t; CHECK(cudaStreamCreate(&s)); CHECK(cudaStreamCreate(&t)); int* d; CHECK(cudaMalloc(&d, 16)); int* h; CHECK(cudaMallocHost(&h, 4));
    cudaEvent_t fork, joined; CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming)); CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    auto record = [&](int a, int b) { cudaGraph_t g;
        CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        CHECK(cudaMemsetAsync(d, 0, 16, s)); CHECK(cudaEventRecord(fork, s)); CHECK(cudaStreamWaitEvent(t, fork, 0));
        add<<<1, 1, 0, s>>>(d, a); add<<<1, 1, 0, t>>>(d + 1, b); add<<<1, 1, 0, t>>>(d + 1, 2);
        CHECK(cudaEventRecord(joined, t)); CHECK(cudaStreamWaitEvent(s, joined, 0));
        join<<<1, 1, 0, s>>>(d, d + 1, d + 2); CHECK(cudaMemcpyAsync(h, d + 2, 4, cudaMemcpyDeviceToHost, s));
        cudaStreamCaptureStatus st; CHECK(cudaStreamIsCapturing(t, &st)); if (st != cudaStreamCaptureStatusActive) puts("the other stream does not capture");
        CHECK(cudaStreamEndCapture(s, &g)); CHECK(cudaStreamIsCapturing(t, &st)); if (st != cudaStreamCaptureStatusNone) puts("the other stream still captures"); return g; };
    cudaGraph_t g = record(1, 30); size_t nodes = 0, edges = 0; CHECK(cudaGraphGetNodes(g, 0, &nodes)); CHECK(cudaGraphGetEdges(g, 0, 0, 0, &edges)); printf("nodes %zu edges %zu\n", nodes, edges);
    cudaGraphExec_t e; CHECK(cudaGraphInstantiate(&e, g, 0)); CHECK(cudaGraphUpload(e, s)); CHECK(cudaGraphLaunch(e, s)); CHECK(cudaStreamSynchronize(s)); printf("result %d\n", *h);
    cudaGraph_t g2 = record(11, 50); cudaGraphExecUpdateResultInfo info = {}; CHECK(cudaGraphExecUpdate(e, g2, &info)); CHECK(cudaGraphLaunch(e, s)); CHECK(cudaStreamSynchronize(s)); printf("updated %d\n", *h);
    cudaGraph_t other; CHECK(cudaGraphCreate(&other, 0)); cudaGraphNode_t empty; CHECK(cudaGraphAddEmptyNode(&empty, other, 0, 0)); printf("after change %d\n", (int)cudaGraphExecUpdate(e, other, &info) == 0); cudaGetLastError();
    cudaGraphNode_t all[16]; size_t room = 16; CHECK(cudaGraphGetNodes(g, all, &room)); int kernels = 0, fills = 0;
    for (size_t i = 0; i < room; i++) { cudaGraphNodeType type; CHECK(cudaGraphNodeGetType(all[i], &type)); kernels += type == cudaGraphNodeTypeKernel; fills += type == cudaGraphNodeTypeMemset; }
    printf("type kernel %d memset %d\n", kernels == 4, fills == 1);
    cudaGraph_t clone; CHECK(cudaGraphClone(&clone, g)); CHECK(cudaGraphDestroy(g)); cudaGraphExec_t e2; CHECK(cudaGraphInstantiate(&e2, clone, 0)); *h = 0; CHECK(cudaGraphLaunch(e2, s)); CHECK(cudaStreamSynchronize(s)); printf("cloned %d\n", *h);
    CHECK(cudaGraphExecDestroy(e)); CHECK(cudaGraphExecDestroy(e2)); CHECK(cudaGraphDestroy(g2)); CHECK(cudaGraphDestroy(clone));
}
