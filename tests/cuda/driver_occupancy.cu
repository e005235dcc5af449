// args: -lcuda
// out: blocks 16 8 0
// out: potential 1
// out: available 1
// out: attributes 512 4096 90 90
// out: limits 1
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

static const char* PTX = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() .maxntid 512, 1, 1 { .shared .align 4 .b8 s[4096]; .reg .b32 a; mov.u32 a, s; st.shared.u32 [a], a; ret; }\n.visible .entry small() { ret; }\n";
static size_t shared_of(int threads) { return 64 * threads; }
int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, 0)); CHECK(cuCtxSetCurrent(c)); CUmodule m; CUfunction k, small; CHECK(cuModuleLoadData(&m, PTX)); CHECK(cuModuleGetFunction(&k, m, "k")); CHECK(cuModuleGetFunction(&small, m, "small"));
    int a, b, e; CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&a, small, 128, 0)); CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&b, small, 256, 0)); CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&e, small, 1024, 233000, 0)); printf("blocks %d %d %d\n", a, b, e);
    int grid, block, grid2, block2; CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, k, 0, 0, 0)); CHECK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid2, &block2, small, shared_of, 0, 256, 0)); printf("potential %d\n", grid > 0 && block > 0 && block <= 512 && block2 > 0 && block2 <= 256);
    size_t bytes; CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, k, 2, 256)); printf("available %d\n", bytes > 49152 && bytes < 233472 / 2);
    int most, statics, ptx, binary; CHECK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k)); CHECK(cuFuncGetAttribute(&statics, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k)); CHECK(cuFuncGetAttribute(&ptx, CU_FUNC_ATTRIBUTE_PTX_VERSION, k)); CHECK(cuFuncGetAttribute(&binary, CU_FUNC_ATTRIBUTE_BINARY_VERSION, k)); printf("attributes %d %d %d %d\n", most, statics, ptx, binary);
    size_t stack; CHECK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE)); printf("limits %d\n", stack >= 1024 && cuLaunchKernel(k, 1, 1, 1, 1024, 1, 1, 0, 0, 0, 0) != CUDA_SUCCESS);
}
