// out: roots 1 nodes 5
// out: host saw 42
// out: 42
// out: new argument 52
// out: dependencies 1 dependents 1
// out: child 62
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#if CUDART_VERSION >= 13000
#define NO_DATA nullptr,
#else
#define NO_DATA
#endif
__global__ void add(int* x, int n) { *x += n; }
static void CUDART_CB see(void* p) { printf("host saw %d\n", *(int*)p); }
int main() {
    int *d, *h; CHECK(cudaMalloc(&d, 4)); CHECK(cudaMallocHost(&h, 4)); cudaStream_t s; CHECK(cudaStreamCreate(&s));
    cudaGraph_t g; CHECK(cudaGraphCreate(&g, 0)); cudaGraphNode_t fill, kernel, copy, host, none;
    cudaMemsetParams m = {}; m.dst = d; m.value = 0; m.elementSize = 4; m.width = 1; m.height = 1; CHECK(cudaGraphAddMemsetNode(&fill, g, 0, 0, &m));
    int n = 42; void* args[] = {&d, &n}; cudaKernelNodeParams k = {}; k.func = (void*)add; k.gridDim = 1; k.blockDim = 1; k.kernelParams = args; CHECK(cudaGraphAddKernelNode(&kernel, g, &fill, 1, &k));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, g, &kernel, 1, h, d, 4, cudaMemcpyDeviceToHost));
    cudaHostNodeParams c = {}; c.fn = see; c.userData = h; CHECK(cudaGraphAddHostNode(&host, g, &copy, 1, &c));
    CHECK(cudaGraphAddEmptyNode(&none, g, 0, 0)); CHECK(cudaGraphAddDependencies(g, &fill, &none, NO_DATA 1));
    size_t roots = 0, nodes = 0; CHECK(cudaGraphGetRootNodes(g, 0, &roots)); CHECK(cudaGraphGetNodes(g, 0, &nodes)); printf("roots %zu nodes %zu\n", roots, nodes);
    cudaGraphExec_t e; CHECK(cudaGraphInstantiate(&e, g, 0)); CHECK(cudaGraphLaunch(e, s)); CHECK(cudaStreamSynchronize(s)); printf("%d\n", *h);
    CHECK(cudaGraphDestroyNode(host)); cudaGraphExec_t e1; CHECK(cudaGraphInstantiate(&e1, g, 0));
    n = 52; CHECK(cudaGraphExecKernelNodeSetParams(e1, kernel, &k)); CHECK(cudaGraphLaunch(e1, s)); CHECK(cudaStreamSynchronize(s)); printf("new argument %d\n", *h);
    size_t before = 0, after = 0; CHECK(cudaGraphNodeGetDependencies(kernel, 0, NO_DATA &before)); CHECK(cudaGraphNodeGetDependentNodes(kernel, 0, NO_DATA &after)); printf("dependencies %zu dependents %zu\n", before, after);
    n = 62; CHECK(cudaGraphKernelNodeSetParams(kernel, &k)); cudaGraph_t outer; cudaGraphNode_t child; CHECK(cudaGraphCreate(&outer, 0)); CHECK(cudaGraphAddChildGraphNode(&child, outer, 0, 0, g));
    cudaGraphExec_t e2; CHECK(cudaGraphInstantiate(&e2, outer, 0)); CHECK(cudaGraphLaunch(e2, s)); CHECK(cudaStreamSynchronize(s)); printf("child %d\n", *h);
}
