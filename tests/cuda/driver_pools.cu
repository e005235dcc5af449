// args: -lcuda
// out: supported 1
// out: value 9
// out: used 0
// out: pool of pointer 1
// out: access 3
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

#include <cstring>
static const char* PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) { .reg .b64 a; ld.param.u64 a, [p]; st.global.u32 [a], 9; ret; }\n";
int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, 0)); CHECK(cuCtxSetCurrent(c)); CUmodule m; CUfunction k; CHECK(cuModuleLoadData(&m, PTX)); CHECK(cuModuleGetFunction(&k, m, "k"));
    int supported; CHECK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0)); printf("supported %d\n", supported);
    CUmemPoolProps p = {}; p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED; p.location.type = CU_MEM_LOCATION_TYPE_DEVICE; CUmemoryPool pool; CHECK(cuMemPoolCreate(&pool, &p)); CUstream s; CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr d; CHECK(cuMemAllocFromPoolAsync(&d, 4, pool, s)); void* args[] = {&d}; CHECK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, s, args, 0)); int h; CHECK(cuMemcpyDtoHAsync(&h, d, 4, s));
    CUmemoryPool of; CHECK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, d)); CHECK(cuMemFreeAsync(d, s)); CHECK(cuStreamSynchronize(s)); printf("value %d\n", h);
    cuuint64_t used; CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used)); printf("used %llu\npool of pointer %d\n", (unsigned long long)used, of == pool);
    CUmemAccess_flags flags; CUmemLocation at = {CU_MEM_LOCATION_TYPE_DEVICE, 0}; CUmemAccessDesc desc = {at, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}; CHECK(cuMemPoolSetAccess(pool, &desc, 1)); CHECK(cuMemPoolGetAccess(&flags, pool, &at)); printf("access %d\n", (int)flags); CHECK(cuMemPoolTrimTo(pool, 0)); CHECK(cuMemPoolDestroy(pool));
}
