// args: -lcuda
// out: good 1 log 0
// out: bad 218 mentions 1
// out: size 1
// out: short 1
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

#include <cstring>
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, 0)); CHECK(cuCtxSetCurrent(c)); CUmodule m;
    char error[1024], info[1024]; memset(error, 'x', 1024); memset(info, 'x', 1024);
    CUjit_option o[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_MAX_REGISTERS};
    void* v[] = {info, (void*)1024, error, (void*)1024, (void*)1, (void*)4, (void*)64};
    int good = cuModuleLoadDataEx(&m, HEAD ".visible .entry k() { ret; }", 7, o, v) == CUDA_SUCCESS; printf("good %d log %d\n", good, (int)(size_t)v[3]);
    v[1] = v[3] = (void*)1024; int bad = cuModuleLoadDataEx(&m, HEAD ".visible .entry k() { nonsense.u32 a, b; ret; }", 7, o, v); printf("bad %d mentions %d\n", bad, strstr(error, "nonsense") != 0);
    printf("size %d\n", (size_t)v[3] > 0 && (size_t)v[3] < 1024 && strlen(error) <= (size_t)v[3]);
    v[1] = v[3] = (void*)16; memset(error, 'x', 1024); bad = cuModuleLoadDataEx(&m, HEAD ".visible .entry k() { nonsense.u32 a, b; ret; }", 7, o, v); printf("short %d\n", bad != 0 && memchr(error, 0, 16) != 0 && error[16] == 'x');
}
