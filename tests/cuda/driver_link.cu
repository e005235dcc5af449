// args: -lcuda
// out: from two files 43
// out: own names 11 22
// out: undefined 209 named 1
// out: wrong 218 named 1
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

#include <cstring>
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
static const char* LIBRARY = HEAD ".visible .global .align 4 .u32 base = 40;\n.visible .func (.param .b32 r) add3(.param .b32 x) { .reg .b32 a; ld.param.b32 a, [x]; add.s32 a, a, 3; st.param.b32 [r], a; ret; }\n";
static const char* USER = HEAD ".extern .global .align 4 .u32 base;\n.extern .func (.param .b32 r) add3(.param .b32 x);\n.visible .entry k(.param .u64 out) { .reg .b64 p; .reg .b32 a; ld.param.u64 p, [out]; ld.global.u32 a, [base];\n"
    "{ .param .b32 x; .param .b32 y; st.param.b32 [x], a; call.uni (y), add3, (x); ld.param.b32 a, [y]; } st.global.u32 [p], a; ret; }\n";
// Both have a variable and a function of the same name that is their own.
static const char* ONE = HEAD ".global .align 4 .u32 own = 11;\n.func (.param .b32 r) get() { .reg .b32 a; ld.global.u32 a, [own]; st.param.b32 [r], a; ret; }\n.visible .entry one(.param .u64 out) { .reg .b64 p; .reg .b32 a; ld.param.u64 p, [out]; { .param .b32 y; call.uni (y), get; ld.param.b32 a, [y]; } st.global.u32 [p], a; ret; }\n";
static const char* TWO = HEAD ".global .align 4 .u32 own = 22;\n.func (.param .b32 r) get() { .reg .b32 a; ld.global.u32 a, [own]; st.param.b32 [r], a; ret; }\n.visible .entry two(.param .u64 out) { .reg .b64 p; .reg .b32 a; ld.param.u64 p, [out]; { .param .b32 y; call.uni (y), get; ld.param.b32 a, [y]; } st.global.u32 [p], a; ret; }\n";
static int run(CUmodule m, const char* name) {
    CUfunction f; CUdeviceptr d; int h = -1; CHECK(cuModuleGetFunction(&f, m, name)); CHECK(cuMemAlloc(&d, 4)); void* args[] = {&d}; CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0)); CHECK(cuMemcpyDtoH(&h, d, 4)); CHECK(cuMemFree(d)); return h;
}
static CUresult link(const char** texts, int n, void** image, size_t* size, CUlinkState* state, char* log, size_t room) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}; void* values[] = {log, (void*)room};
    CHECK(cuLinkCreate(2, options, values, state));
    for (int i = 0; i < n; i++) if (CUresult r = cuLinkAddData(*state, CU_JIT_INPUT_PTX, (void*)texts[i], strlen(texts[i]) + 1, i ? "second.ptx" : "first.ptx", 0, 0, 0)) return r;
    return cuLinkComplete(*state, image, size);
}
int main() {
    CHECK(cuInit(0)); CUdevice dev; CUcontext c; CHECK(cuDeviceGet(&dev, 0)); CHECK(cuDevicePrimaryCtxRetain(&c, dev)); CHECK(cuCtxSetCurrent(c));
    CUlinkState s; void* image; size_t size; char log[4096] = ""; CUmodule m;
    const char* first[] = {USER, LIBRARY}; if (link(first, 2, &image, &size, &s, log, sizeof log)) { printf("%s\n", log); return 1; } CHECK(cuModuleLoadData(&m, image)); CHECK(cuLinkDestroy(s)); printf("from two files %d\n", run(m, "k"));
    const char* second[] = {ONE, TWO}; if (link(second, 2, &image, &size, &s, log, sizeof log)) { printf("%s\n", log); return 1; } CHECK(cuModuleLoadData(&m, image)); CHECK(cuLinkDestroy(s)); printf("own names %d %d\n", run(m, "one"), run(m, "two"));
    // What nobody defines is an error of the linker, which names it.
    const char* third[] = {USER}; int undefined = link(third, 1, &image, &size, &s, log, sizeof log); printf("undefined %d named %d\n", undefined, strstr(log, "undefined reference to") != 0 && strstr(log, "first.ptx") != 0);
    const char* bad[] = {ONE, HEAD ".visible .entry one() { nonsense; }"}; int failed = link(bad, 2, &image, &size, &s, log, sizeof log); printf("wrong %d named %d\n", failed, strstr(log, "second.ptx") != 0);
}
