// out: ok
// args: -lcuda
#include <string>
#include "compare.h"
#include <cuda.h>
#define DK(x) do { CUresult r_ = (x); if (r_) { const char* s; cuGetErrorName(r_, &s); printf("FAIL %d %s %s\n", __LINE__, #x, s); exit(3); } } while (0)
static const char* ptx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 counter = 5;
.visible .const .align 4 .f32 coef[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.extern .shared .align 16 .b8 dyn[];
.visible .entry poly(.param .u64 .ptr .global .align 16 x, .param .u64 y, .param .u32 n)
.maxntid 256,1,1
{ .reg .pred %p; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;
 ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r1, [n];
 mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p, %r5, %r1; @%p bra END;
 cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2; mul.wide.s32 %d3, %r5, 4; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
 ld.global.f32 %f1, [%d1]; ld.const.v4.f32 {%f2,%f3,%f4,%f5}, [coef]; fma.rn.f32 %f6, %f5, %f1, %f4; fma.rn.f32 %f6, %f6, %f1, %f3; fma.rn.f32 %f6, %f6, %f1, %f2; mov.u32 %r6, dyn; mad.lo.s32 %r6, %r4, 4, %r6; st.shared.f32 [%r6], %f6; ld.shared.f32 %f7, [%r6]; st.global.f32 [%d2], %f7; atom.global.inc.u32 %r7, [counter], 1000000;
END: ret; }
.visible .entry bump() { .reg .b32 %r; atom.global.add.u32 %r, [counter], 100; ret; })";
int main() { DK(cuInit(0)); CUdevice dev; DK(cuDeviceGet(&dev, 0)); CUcontext ctx; DK(cuDevicePrimaryCtxRetain(&ctx, dev)); DK(cuCtxSetCurrent(ctx)); char log[4096] = "", err[4096] = ""; CUjit_option o[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_LOG_VERBOSE}; void* v[] = {log, (void*)4096, err, (void*)4096, (void*)32, (void*)2, (void*)1}; CUmodule m; DK(cuModuleLoadDataEx(&m, ptx, 7, o, v));
  CUfunction f; DK(cuModuleGetFunction(&f, m, "poly")); int a; DK(cuFuncGetAttribute(&a, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f)); eq("maxthr", 0, a, 256); unsigned nf; DK(cuModuleGetFunctionCount(&nf, m)); eq("nf", 0, nf, 2u); std::vector<CUfunction> fs(nf); DK(cuModuleEnumerateFunctions(fs.data(), nf, m)); const char* nm; DK(cuFuncGetName(&nm, f)); eq("name", 0, strcmp(nm, "poly"), 0); size_t po, ps; DK(cuFuncGetParamInfo(f, 2, &po, &ps)); eq("poff", 0, po, (size_t)16); eq("psz", 0, ps, (size_t)4); eq("pbad", 0, (int)cuFuncGetParamInfo(f, 3, &po, &ps), (int)CUDA_ERROR_INVALID_VALUE);
  const int N = 1000; std::vector<float> x(N), y(N); for (int i = 0; i < N; i++) x[i] = i * .01f; CUdeviceptr dx, dy; DK(cuMemAlloc(&dx, N * 4)); DK(cuMemAlloc(&dy, N * 4)); DK(cuMemcpyHtoD(dx, x.data(), N * 4)); int n = N; void* args[] = {&dx, &dy, &n}; DK(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 1024, 0, args, 0)); DK(cuMemcpyDtoH(y.data(), dy, N * 4)); for (int i = 0; i < N; i++) eq("y", i, y[i], fmaf(fmaf(fmaf(4, x[i], 3), x[i], 2), x[i], 1));
  CUdeviceptr g; size_t gs; DK(cuModuleGetGlobal(&g, &gs, m, "counter")); unsigned c; DK(cuMemcpyDtoH(&c, g, 4)); eq("counter", 0, c, 1005u); eq("gs", 0, gs, (size_t)4); eq("nog", 0, (int)cuModuleGetGlobal(&g, &gs, m, "nope"), (int)CUDA_ERROR_NOT_FOUND); eq("nof", 0, (int)cuModuleGetFunction(&f, m, "nope"), (int)CUDA_ERROR_NOT_FOUND);
  CUmodule bad; std::string b = ptx; b.replace(b.find("fma.rn.f32 %f6, %f5"), 10, "fmx.rn.f32"); v[1] = v[3] = (void*)4096; eq("bad", 0, (int)cuModuleLoadDataEx(&bad, b.c_str(), 7, o, v), (int)CUDA_ERROR_INVALID_PTX); eq("log", 0, strstr(err, "fmx") != nullptr, true);
  eq("toobig", 0, (int)cuLaunchKernel(fs[0], 8, 1, 1, 512, 1, 1, 0, 0, args, 0), (int)CUDA_ERROR_INVALID_VALUE); CUlinkState ls; DK(cuLinkCreate(0, 0, 0, &ls)); const char* A = ".version 7.0\n.target sm_75\n.address_size 64\n.extern .func (.param .b32 r) sq(.param .b32 a);\n.visible .entry k(.param .u64 p){ .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d,[p]; { .param .b32 a; .param .b32 q; st.param.b32 [a], 12; call (q), sq, (a); ld.param.b32 %r,[q]; } st.global.u32 [%d], %r; ret; }"; const char* B2 = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .func (.param .b32 r) sq(.param .b32 a){ .reg .b32 %r; ld.param.b32 %r,[a]; mul.lo.s32 %r,%r,%r; st.param.b32 [r],%r; ret; }"; DK(cuLinkAddData(ls, CU_JIT_INPUT_PTX, (void*)A, strlen(A) + 1, "a", 0, 0, 0)); DK(cuLinkAddData(ls, CU_JIT_INPUT_PTX, (void*)B2, strlen(B2) + 1, "b", 0, 0, 0)); void* cub; size_t cs; DK(cuLinkComplete(ls, &cub, &cs)); CUmodule lm; DK(cuModuleLoadData(&lm, cub)); DK(cuLinkDestroy(ls)); DK(cuModuleGetFunction(&f, lm, "k")); void* a2[] = {&dy}; DK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, a2, 0)); DK(cuCtxSynchronize()); int r; DK(cuMemcpyDtoH(&r, dy, 4)); eq("link", 0, r, 144);
  // undefined function at link time
  char lerr[2048] = ""; CUjit_option lo[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}; void* lv[] = {lerr, (void*)2048}; DK(cuLinkCreate(2, lo, lv, &ls)); DK(cuLinkAddData(ls, CU_JIT_INPUT_PTX, (void*)A, strlen(A) + 1, "a", 0, 0, 0)); CUresult lr = cuLinkComplete(ls, &cub, &cs); eq("undef", 0, lr != CUDA_SUCCESS, true); eq("undeflog", 0, strstr(lerr, "sq") != nullptr, true); cuLinkDestroy(ls);
  int mb, gsz; DK(cuModuleGetFunction(&f, m, "poly")); DK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mb, f, 128, 0)); eq("occ", 0, mb > 0, true); DK(cuOccupancyMaxPotentialBlockSize(&gsz, &mb, f, 0, 0, 0)); eq("mps", 0, mb <= 256 && mb >= 32, true); DK(cuMemsetD32(dx, 0xabcd, N)); DK(cuMemsetD8(dx + 5, 1, 3)); std::vector<unsigned> u(N); DK(cuMemcpyDtoH(u.data(), dx, N * 4)); eq("ms", 1, u[1], 0x010101cdu); eq("ms", 2, u[2], 0xabcdu); CUdeviceptr base; size_t sz; DK(cuMemGetAddressRange(&base, &sz, dx + 40)); eq("range", 0, base == dx && sz == N * 4, true); DK(cuModuleUnload(m)); DK(cuDevicePrimaryCtxRelease(dev)); printf(bad_ ? "WRONG\n" : "ok\n"); return bad_; }
