// cuda: 13
// args: -lcuda
// out: 2d 1
// out: 3d 1
// out: fills 1
// out: async 1
// out: unified 1
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#define CHECK(call) do { CUresult error_ = (call); if (error_ != CUDA_SUCCESS) { const char* text_ = "?"; cuGetErrorString(error_, &text_); printf("%s: %s\n", #call, text_); exit(1); } } while (0)

int main() {
    CHECK(cuInit(0)); CUcontext c; CHECK(cuCtxCreate(&c, 0, 0, 0)); const int w = 12, h = 5; unsigned char *a, b[w * h * 2] = {}; CHECK(cuMemAllocHost((void**)&a, w * h * 2)); for (int i = 0; i < w * h * 2; i++) a[i] = i;
    CUdeviceptr d; size_t pitch; CHECK(cuMemAllocPitch(&d, &pitch, w, h * 2, 4)); CUstream s; CHECK(cuStreamCreate(&s, 0));
    CUDA_MEMCPY2D m = {}; m.srcMemoryType = CU_MEMORYTYPE_HOST; m.srcHost = a; m.srcPitch = w; m.srcXInBytes = 2; m.srcY = 1; m.dstMemoryType = CU_MEMORYTYPE_DEVICE; m.dstDevice = d; m.dstPitch = pitch; m.dstXInBytes = 4; m.dstY = 2; m.WidthInBytes = 6; m.Height = 3; CHECK(cuMemcpy2DAsync(&m, s)); CHECK(cuStreamSynchronize(s));
    unsigned char row[6]; CHECK(cuMemcpyDtoH(row, d + 4 * pitch + 4, 6)); bool ok = true; for (int i = 0; i < 6; i++) ok = ok && row[i] == 3 * w + 2 + i; printf("2d %d\n", ok);
    CUDA_MEMCPY3D q = {}; q.srcMemoryType = CU_MEMORYTYPE_HOST; q.srcHost = a; q.srcPitch = w; q.srcHeight = h; q.dstMemoryType = CU_MEMORYTYPE_DEVICE; q.dstDevice = d; q.dstPitch = pitch; q.dstHeight = h; q.WidthInBytes = w; q.Height = h; q.Depth = 2; CHECK(cuMemcpy3D(&q));
    CUDA_MEMCPY3D r = {}; r.srcMemoryType = CU_MEMORYTYPE_UNIFIED; r.srcDevice = d; r.srcPitch = pitch; r.srcHeight = h; r.dstMemoryType = CU_MEMORYTYPE_HOST; r.dstHost = b; r.dstPitch = w; r.dstHeight = h; r.WidthInBytes = w; r.Height = h; r.Depth = 2; CHECK(cuMemcpy3DAsync(&r, s)); CHECK(cuStreamSynchronize(s)); ok = true; for (int i = 0; i < w * h * 2; i++) ok = ok && a[i] == b[i]; printf("3d %d\n", ok);
    CUdeviceptr f; CHECK(cuMemAlloc(&f, 64)); CHECK(cuMemsetD8(f, 1, 16)); CHECK(cuMemsetD16(f + 16, 0x0203, 8)); CHECK(cuMemsetD32Async(f + 32, 0x04050607, 8, s)); CHECK(cuStreamSynchronize(s)); unsigned char g[64]; CHECK(cuMemcpyDtoH(g, f, 64)); printf("fills %d\n", g[15] == 1 && g[16] == 3 && g[17] == 2 && g[32] == 7 && g[63] == 4);
    CHECK(cuMemcpyHtoDAsync(f, a, 64, s)); CHECK(cuMemcpyDtoDAsync(d, f, 64, s)); CHECK(cuMemcpyDtoHAsync(g, d, 64, s)); CHECK(cuStreamSynchronize(s)); ok = true; for (int i = 0; i < 64; i++) ok = ok && g[i] == i; printf("async %d\n", ok);
    CHECK(cuMemcpy((CUdeviceptr)g, f, 8)); CUmemorytype type; CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)a)); CUdeviceptr base; size_t size; CHECK(cuMemGetAddressRange(&base, &size, f + 7)); printf("unified %d\n", type == CU_MEMORYTYPE_HOST && base == f && size == 64);
}
