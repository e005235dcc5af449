// args: -lcuda
// out: kernels 2
// out: first 5 second 6
// out: managed 7
// out: name 1 params 8 4
// out: unloaded 1
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

#include <cstring>
static const char* PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .attribute(.managed) .align 4 .u32 shared_value = 6;\n.visible .entry first(.param .u64 p, .param .u32 v) { .reg .b64 a; .reg .b32 x; ld.param.u64 a, [p]; ld.param.u32 x, [v]; st.global.u32 [a], x; ret; }\n"
    ".visible .entry second(.param .u64 p) { .reg .b64 a; .reg .b32 x; ld.param.u64 a, [p]; ld.global.u32 x, [shared_value]; st.global.u32 [a], x; add.u32 x, x, 1; st.global.u32 [shared_value], x; ret; }\n";
int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, 0)); CHECK(cuCtxSetCurrent(c)); CUlibrary l; CHECK(cuLibraryLoadData(&l, PTX, 0, 0, 0, 0, 0, 0));
    unsigned n; CHECK(cuLibraryGetKernelCount(&n, l)); CUkernel all[2], first, second; CHECK(cuLibraryEnumerateKernels(all, 2, l)); printf("kernels %u\n", n); CHECK(cuLibraryGetKernel(&first, l, "first")); CHECK(cuLibraryGetKernel(&second, l, "second"));
    CUdeviceptr d, g; size_t size; CHECK(cuMemAlloc(&d, 8)); unsigned v = 5; void* a1[] = {&d, &v}; CHECK(cuLaunchKernel((CUfunction)first, 1, 1, 1, 1, 1, 1, 0, 0, a1, 0)); CUdeviceptr d2 = d + 4; void* a2[] = {&d2}; CUfunction f2; CHECK(cuKernelGetFunction(&f2, second)); CHECK(cuLaunchKernel(f2, 1, 1, 1, 1, 1, 1, 0, 0, a2, 0));
    int h[2]; CHECK(cuMemcpyDtoH(h, d, 8)); printf("first %d second %d\n", h[0], h[1]); CHECK(cuLibraryGetManaged(&g, &size, l, "shared_value")); printf("managed %d\n", *(int*)g);
    const char* name; CHECK(cuKernelGetName(&name, first)); size_t off, bytes; CHECK(cuKernelGetParamInfo(first, 1, &off, &bytes)); printf("name %d params %zu %zu\n", !strcmp(name, "first"), off, bytes);
    CHECK(cuLibraryUnload(l)); printf("unloaded %d\n", cuLibraryGetKernel(&first, l, "first") != CUDA_SUCCESS);
}
