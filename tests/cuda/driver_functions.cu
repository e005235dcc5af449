// args: -lcuda
// out: max threads 1024 shared 1024 const 64 local 0 ptx 80
// out: dynamic 60000
// out: occupancy 1 blocks 1
// out: launch ex 5
// out: param 0 0 8 1 8 4
// out: name k
// out: module same 1
// out: loaded 1
// out: lazy CUDA_SUCCESS
// out: too large CUDA_ERROR_INVALID_VALUE
// out: grid 0 CUDA_ERROR_INVALID_VALUE
// out: count 1
#include "driver_check.h"
static const char* ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .b8 c[64];\n.visible .entry k(.param .u64 p, .param .u32 v){.shared .align 4 .b8 s[1024]; .reg .b32 %r<4>; .reg .b64 %rd<3>; ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[v]; ld.const.u32 %r2,[c]; add.u32 %r1,%r1,%r2; st.shared.u32 [s],%r1; ld.shared.u32 %r3,[s]; st.global.u32 [%rd1],%r3; ret;}";
int main() {
    begin(); CUmodule m; CHECK(cuModuleLoadData(&m, ptx)); CUfunction f; CHECK(cuModuleGetFunction(&f, m, "k")); auto at = [&](CUfunction_attribute a) { int v = -1; CHECK(cuFuncGetAttribute(&v, a, f)); return v; };
    printf("max threads %d shared %d const %d local %d ptx %d\n", at(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), at(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), at(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), at(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), at(CU_FUNC_ATTRIBUTE_PTX_VERSION)); CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000)); printf("dynamic %d\n", at(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)); CHECK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_SHARED));
    int g, b, n; CHECK(cuOccupancyMaxPotentialBlockSize(&g, &b, f, 0, 0, 0)); CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 256, 1000)); printf("occupancy %d blocks %d\n", g > 0 && b > 0, n > 0);
    CUdeviceptr d; CHECK(cuMemAlloc(&d, 4)); int v = 5, h; void* args[] = {&d, &v}; CUlaunchConfig c = {}; c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimX = c.blockDimY = c.blockDimZ = 1; CUlaunchAttribute la[1]; la[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY; la[0].value.priority = 0; c.attrs = la; c.numAttrs = 1; CHECK(cuLaunchKernelEx(&c, f, args, 0)); CHECK(cuMemcpyDtoH(&h, d, 4)); printf("launch ex %d\n", h);
    size_t o0, s0, o1, s1; CHECK(cuFuncGetParamInfo(f, 0, &o0, &s0)); CHECK(cuFuncGetParamInfo(f, 1, &o1, &s1)); printf("param 0 %zu %zu 1 %zu %zu\n", o0, s0, o1, s1); const char* name; CHECK(cuFuncGetName(&name, f)); printf("name %s\n", name); CUmodule mm; CHECK(cuFuncGetModule(&mm, f)); printf("module same %d\n", mm == m); CUfunctionLoadingState st; CHECK(cuFuncIsLoaded(&st, f)); printf("loaded %d\n", st == CU_FUNCTION_LOADING_STATE_LOADED); printf("lazy %s\n", N(cuFuncLoad(f)));
    printf("too large %s\n", N(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, 0, args, 0))); printf("grid 0 %s\n", N(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, 0, args, 0))); unsigned count; CHECK(cuModuleGetFunctionCount(&count, m)); printf("count %u\n", count);
}
