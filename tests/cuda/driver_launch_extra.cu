// cuda: 13
// args: -lcuda
// out: packed 10
// out: structure 1 2 3.5
// out: misfit 1
// out: old 8
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

#include <cstring>
static const char* PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .align 8 .b8 s[16]) { .reg .b64 a; .reg .b32 x; .reg .f64 f; ld.param.u64 a, [p]; ld.param.u8 x, [s]; st.global.u32 [a], x; ld.param.u16 x, [s+2]; st.global.u32 [a+4], x; ld.param.f64 f, [s+8]; st.global.f64 [a+8], f; ret; }\n"
    ".visible .entry t(.param .u64 p) { .reg .b64 a; .reg .b32 x; ld.param.u64 a, [p]; mov.u32 x, %ntid.x; st.global.u32 [a], x; ret; }\n.visible .entry sum(.param .u8 a, .param .u64 p, .param .u16 b) { .reg .b64 q; .reg .b32 x, y; ld.param.u64 q, [p]; ld.param.u8 x, [a]; ld.param.u16 y, [b]; add.u32 x, x, y; st.global.u32 [q], x; ret; }\n";
int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuCtxCreate(&c, 0, 0, 0)); CUmodule m; CUfunction k, t, sum; CHECK(cuModuleLoadData(&m, PTX)); CHECK(cuModuleGetFunction(&k, m, "k")); CHECK(cuModuleGetFunction(&t, m, "t")); CHECK(cuModuleGetFunction(&sum, m, "sum")); CUdeviceptr d; CHECK(cuMemAlloc(&d, 16));
    struct { unsigned char a; CUdeviceptr p; unsigned short b; } packed = {3, d, 7}; size_t size = 18; void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END}; CHECK(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, 0, 0, extra)); int h; CHECK(cuMemcpyDtoH(&h, d, 4)); printf("packed %d\n", h);
    struct { unsigned char a; unsigned short b; double f; } s = {1, 2, 3.5}, *sp = &s; void* args[] = {&d, sp}; CHECK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, 0, args, 0)); struct { int a, b; double f; } r; CHECK(cuMemcpyDtoH(&r, d, 16)); printf("structure %d %d %.1f\n", r.a, r.b, r.f);
    size = 4; printf("misfit %d\n", cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, 0, 0, extra) != CUDA_SUCCESS);
    CHECK(cuFuncSetBlockShape(t, 8, 1, 1)); CHECK(cuParamSetSize(t, 8)); CHECK(cuParamSetv(t, 0, &d, 8)); CHECK(cuLaunchGrid(t, 1, 1)); CHECK(cuMemcpyDtoH(&h, d, 4)); printf("old %d\n", h);
}
