// cuda: 13
// args: -lcuda
// out: none 201
// out: stack 1 1
// out: popped 1
// out: threads 4
// out: gone 1
// out: errors 3 100 1
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

#include <thread>
#include <vector>
#include <atomic>
int main() {
    CUdeviceptr p; int before = cuMemAlloc(&p, 4); CHECK(cuInit(0)); printf("none %d\n", cuMemAlloc(&p, 4)); CUcontext a, b, now; CHECK(cuCtxCreate(&a, 0, 0, 0)); CHECK(cuCtxCreate(&b, 0, CU_CTX_SCHED_SPIN, 0)); CHECK(cuCtxGetCurrent(&now)); unsigned flags; CHECK(cuCtxGetFlags(&flags)); printf("stack %d %d\n", now == b, (flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_SPIN);
    CHECK(cuCtxPopCurrent(&now)); CUcontext top; CHECK(cuCtxGetCurrent(&top)); printf("popped %d\n", now == b && top == a); std::atomic<int> good{0}; std::vector<std::thread> all;
    for (int i = 0; i < 4; i++) all.emplace_back([&] { CUcontext none; CHECK(cuCtxGetCurrent(&none)); CHECK(cuCtxSetCurrent(a)); CUdeviceptr q; CHECK(cuMemAlloc(&q, 1024)); CHECK(cuMemsetD8(q, 1, 1024)); CHECK(cuCtxSynchronize()); CHECK(cuMemFree(q)); good += !none; }); for (auto& t : all) t.join(); printf("threads %d\n", good.load());
    CHECK(cuCtxDestroy(b)); printf("gone %d\n", cuCtxSetCurrent(b) != CUDA_SUCCESS); CUdevice d; const char* text; printf("errors %d %d %d\n", before, cuDeviceGet(&d, 9) == CUDA_ERROR_INVALID_DEVICE ? 100 : 0, cuGetErrorName((CUresult)123456, &text) == CUDA_ERROR_INVALID_VALUE);
}
