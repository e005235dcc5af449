// args: -lcuda
// out: created 16 8 1
// out: back 5 6 7 69 70 71
// out: 1d 3 4
// out: d2a 9
// out: 3d 2 3 4
// out: destroyed CUDA_SUCCESS twice CUDA_ERROR_INVALID_HANDLE
#include "driver_check.h"
int main() {
    begin(); CUDA_ARRAY_DESCRIPTOR ad = {}; ad.Width = 16; ad.Height = 8; ad.Format = CU_AD_FORMAT_UNSIGNED_INT32; ad.NumChannels = 1; CUarray a; CHECK(cuArrayCreate(&a, &ad)); CUDA_ARRAY_DESCRIPTOR q; CHECK(cuArrayGetDescriptor(&q, a)); printf("created %zu %zu %u\n", q.Width, q.Height, q.NumChannels);
    unsigned src[128], dst[6]; for (int i = 0; i < 128; i++) src[i] = i; CUDA_MEMCPY2D c = {}; c.srcMemoryType = CU_MEMORYTYPE_HOST; c.srcHost = src; c.srcPitch = 64; c.dstMemoryType = CU_MEMORYTYPE_ARRAY; c.dstArray = a; c.WidthInBytes = 64; c.Height = 8; CHECK(cuMemcpy2D(&c)); CUDA_MEMCPY2D e = {}; e.srcMemoryType = CU_MEMORYTYPE_ARRAY; e.srcArray = a; e.srcXInBytes = 20; e.srcY = 0; e.dstMemoryType = CU_MEMORYTYPE_HOST; e.dstHost = dst; e.dstPitch = 12; e.WidthInBytes = 12; e.Height = 1; CHECK(cuMemcpy2D(&e)); e.srcY = 4; e.dstY = 1; CHECK(cuMemcpy2D(&e)); printf("back %u %u %u %u %u %u\n", dst[0], dst[1], dst[2], dst[3], dst[4], dst[5]);
    CUarray l; ad.Width = 10; ad.Height = 0; CHECK(cuArrayCreate(&l, &ad)); CHECK(cuMemcpyHtoA(l, 8, src + 3, 8)); unsigned two[2]; CHECK(cuMemcpyAtoH(two, l, 8, 8)); printf("1d %u %u\n", two[0], two[1]); CUdeviceptr d; CHECK(cuMemAlloc(&d, 64)); CHECK(cuMemsetD32(d, 9, 16)); CHECK(cuMemcpyDtoA(l, 0, d, 4)); CHECK(cuMemcpyAtoD(d + 8, l, 0, 4)); CHECK(cuMemcpyDtoH(two, d + 8, 4)); printf("d2a %u\n", two[0]);
    CUDA_ARRAY3D_DESCRIPTOR t = {}; t.Width = 2; t.Height = 3; t.Depth = 4; t.Format = CU_AD_FORMAT_FLOAT; t.NumChannels = 2; CUarray v; CHECK(cuArray3DCreate(&v, &t)); CUDA_ARRAY3D_DESCRIPTOR t2; CHECK(cuArray3DGetDescriptor(&t2, v)); printf("3d %zu %zu %zu\n", t2.Width, t2.Height, t2.Depth); CUresult r = cuArrayDestroy(a); printf("destroyed %s twice %s\n", N(r), N(cuArrayDestroy(a)));
}
