// cuda: 13
// args: -lcuda
// out: nodes 3
// out: value 15
// out: params 1
// out: disabled 5
// out: generic 8
// out: capture to graph 9
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

static const char* PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry add(.param .u64 p, .param .u32 n) { .reg .b64 a; .reg .b32 x, y; ld.param.u64 a, [p]; ld.param.u32 y, [n]; ld.global.u32 x, [a]; add.u32 x, x, y; st.global.u32 [a], x; ret; }\n";
int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, 0)); CHECK(cuCtxSetCurrent(c)); CUmodule m; CUfunction k; CHECK(cuModuleLoadData(&m, PTX)); CHECK(cuModuleGetFunction(&k, m, "add")); CUdeviceptr d; CHECK(cuMemAlloc(&d, 4)); CUstream s; CHECK(cuStreamCreate(&s, 0));
    auto value = [&] { int h; CHECK(cuStreamSynchronize(s)); CHECK(cuMemcpyDtoH(&h, d, 4)); return h; };
    CUgraph g; CHECK(cuGraphCreate(&g, 0)); CUgraphNode fill, one, two; CUDA_MEMSET_NODE_PARAMS f = {}; f.dst = d; f.value = 5; f.elementSize = 4; f.width = 1; f.height = 1; CHECK(cuGraphAddMemsetNode(&fill, g, 0, 0, &f, c));
    unsigned n = 4; void* args[] = {&d, &n}; CUDA_KERNEL_NODE_PARAMS p = {}; p.func = k; p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1; p.kernelParams = args; CHECK(cuGraphAddKernelNode(&one, g, &fill, 1, &p)); n = 6; CHECK(cuGraphAddKernelNode(&two, g, &one, 1, &p));
    size_t count = 0; CHECK(cuGraphGetNodes(g, 0, &count)); printf("nodes %zu\n", count); CUgraphExec e; CHECK(cuGraphInstantiate(&e, g, 0)); CHECK(cuGraphLaunch(e, s)); printf("value %d\n", value());
    CUDA_KERNEL_NODE_PARAMS back = {}; CHECK(cuGraphKernelNodeGetParams(two, &back)); printf("params %d\n", back.func == k && back.blockDimX == 1 && *(unsigned*)back.kernelParams[1] == 6);
    CHECK(cuGraphNodeSetEnabled(e, one, 0)); CHECK(cuGraphNodeSetEnabled(e, two, 0)); unsigned on; CHECK(cuGraphNodeGetEnabled(e, one, &on)); CHECK(cuGraphLaunch(e, s)); printf("disabled %d\n", on ? -1 : value());
    CUgraphNode any; CUgraph g2; CHECK(cuGraphCreate(&g2, 0)); CUgraphNodeParams any_of = {}; any_of.type = CU_GRAPH_NODE_TYPE_KERNEL; any_of.kernel.func = k; any_of.kernel.gridDimX = any_of.kernel.gridDimY = any_of.kernel.gridDimZ = any_of.kernel.blockDimX = any_of.kernel.blockDimY = any_of.kernel.blockDimZ = 1; any_of.kernel.kernelParams = args; n = 3; CHECK(cuGraphAddNode(&any, g2, 0, 0, 0, &any_of));
    CUgraphExec e2; CHECK(cuGraphInstantiate(&e2, g2, 0)); CHECK(cuGraphLaunch(e2, s)); printf("generic %d\n", value());
    CUgraph g3; CHECK(cuGraphCreate(&g3, 0)); CHECK(cuStreamBeginCaptureToGraph(s, g3, 0, 0, 0, CU_STREAM_CAPTURE_MODE_RELAXED)); n = 1; CHECK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, s, args, 0)); CUgraph same; CHECK(cuStreamEndCapture(s, &same)); CUgraphExec e3; CHECK(cuGraphInstantiate(&e3, g3, 0)); CHECK(cuGraphLaunch(e3, s)); printf("capture to graph %d\n", same == g3 ? value() : -1);
}
