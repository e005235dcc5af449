// cuda: 13
// args: -lcuda
// out: sum 64
// out: too large 720
// out: events 1
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

static const char* PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n) { .reg .b64 a; .reg .b32 x, y, n0; .reg .pred q; ld.param.u64 a, [p]; ld.param.u32 n0, [n];\n"
    "atom.global.add.u32 x, [a], 1;\nwait: ld.volatile.global.u32 y, [a]; setp.lt.u32 q, y, n0; @q bra wait; red.global.add.u32 [a+4], 1; ret; }\n";
int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuCtxCreate(&c, 0, 0, 0)); CUmodule m; CUfunction k; CHECK(cuModuleLoadData(&m, PTX)); CHECK(cuModuleGetFunction(&k, m, "k")); CUdeviceptr d; CHECK(cuMemAlloc(&d, 8)); CHECK(cuMemsetD32(d, 0, 2));
    CUevent a, b; CHECK(cuEventCreate(&a, 0)); CHECK(cuEventCreate(&b, 0)); CUstream s; CHECK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, 0)); unsigned n = 64; void* args[] = {&d, &n}; CHECK(cuEventRecord(a, s)); CHECK(cuLaunchCooperativeKernel(k, 4, 1, 1, 16, 1, 1, 0, s, args)); CHECK(cuEventRecord(b, s)); CHECK(cuEventSynchronize(b));
    int h[2]; CHECK(cuMemcpyDtoH(h, d, 8)); printf("sum %d\n", h[1]); printf("too large %d\n", cuLaunchCooperativeKernel(k, 1 << 20, 1, 1, 1024, 1, 1, 0, s, args)); float ms; CHECK(cuEventElapsedTime(&ms, a, b)); printf("events %d\n", ms >= 0); CHECK(cuCtxDestroy(c));
}
