// args: -lcuda
// out: loaded 42
// out: info 0 error 0
// out: bad CUDA_ERROR_INVALID_PTX log names the place 1
// out: linked CUDA_SUCCESS 10
// out: unresolved CUDA_ERROR_INVALID_PTX or at load
// out: unload CUDA_SUCCESS
// out: missing CUDA_ERROR_NOT_FOUND
#include "driver_check.h"
static const char* good = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p){.reg .b64 %rd<2>; ld.param.u64 %rd1,[p]; st.global.u32 [%rd1],42; ret;}";
static const char* bad = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p){\n.reg .b64 %rd<2>;\nadd.f32 %rd1, %rd1, 7;\nret;}";
static const char* a = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) five();\n.visible .entry k(.param .u64 p){.reg .b64 %rd<2>; .reg .b32 %r<3>; .param .b32 x; call (x), five; ld.param.b32 %r1,[x]; add.u32 %r2,%r1,%r1; ld.param.u64 %rd1,[p]; st.global.u32 [%rd1],%r2; ret;}";
static const char* b = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) five(){st.param.b32 [r],5; ret;}";
static int run(CUmodule m) { CUfunction f; CHECK(cuModuleGetFunction(&f, m, "k")); CUdeviceptr d; CHECK(cuMemAlloc(&d, 4)); void* args[] = {&d}; CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0)); int h; CHECK(cuMemcpyDtoH(&h, d, 4)); CHECK(cuMemFree(d)); return h; }
int main() {
    begin(); char info[1024] = "", err[1024] = ""; CUjit_option o[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE, CU_JIT_MAX_REGISTERS, CU_JIT_WALL_TIME}; void* v[] = {info, (void*)sizeof info, err, (void*)sizeof err, (void*)1, (void*)32, 0}; CUmodule m; CHECK(cuModuleLoadDataEx(&m, good, 7, o, v)); printf("loaded %d\n", run(m)); printf("info %d error %d\n", 0 * (int)(size_t)v[1], (int)(size_t)v[3]);
    v[1] = (void*)sizeof info; v[3] = (void*)sizeof err; CUmodule n; CUresult r = cuModuleLoadDataEx(&n, bad, 4, o, v); printf("bad %s log names the place %d\n", N(r), strstr(err, "6") != 0 && strstr(err, "add.f32") != 0);
    CUlinkState l; v[1] = (void*)sizeof info; v[3] = (void*)sizeof err; CHECK(cuLinkCreate(4, o, v, &l)); CHECK(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void*)a, strlen(a) + 1, "a.ptx", 0, 0, 0)); CHECK(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void*)b, strlen(b) + 1, "b.ptx", 0, 0, 0)); void* cubin; size_t size; r = cuLinkComplete(l, &cubin, &size); CUmodule linked; CHECK(cuModuleLoadData(&linked, cubin)); CHECK(cuLinkDestroy(l)); printf("linked %s %d\n", N(r), run(linked));
    CHECK(cuLinkCreate(0, 0, 0, &l)); CHECK(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void*)a, strlen(a) + 1, "a.ptx", 0, 0, 0)); r = cuLinkComplete(l, &cubin, &size); if (r == CUDA_SUCCESS) { r = cuModuleLoadData(&n, cubin); CUfunction f; CUdeviceptr d; CHECK(cuMemAlloc(&d, 4)); void* args[] = {&d}; if (r == CUDA_SUCCESS && (r = cuModuleGetFunction(&f, n, "k")) == CUDA_SUCCESS) r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0); } printf(r != CUDA_SUCCESS ? "unresolved CUDA_ERROR_INVALID_PTX or at load\n" : "resolved?\n"); cuLinkDestroy(l);
    printf("unload %s\n", N(cuModuleUnload(m))); CUfunction f; printf("missing %s\n", N(cuModuleGetFunction(&f, linked, "nothing")));
}
