// args: -lcuda
// out: pitch ok 1
// out: 2d 1 2 3 5 6 7
// out: range base 1 size 1
// out: attribute 2 1
// out: set 32 7 7 16 9 9
// out: async 99
// out: pool 13
// out: host flags ok 1
// out: wait 1
// out: write/wait value CUDA_SUCCESS 77
#include "driver_check.h"
int main() {
    begin(); CUdeviceptr d; size_t pitch; CHECK(cuMemAllocPitch(&d, &pitch, 100, 10, 16)); printf("pitch ok %d\n", pitch >= 100 && pitch % 32 == 0); unsigned char src[8] = {1, 2, 3, 4, 5, 6, 7, 8}, dst[6] = {}; CUDA_MEMCPY2D c = {}; c.srcMemoryType = CU_MEMORYTYPE_HOST; c.srcHost = src; c.srcPitch = 4; c.dstMemoryType = CU_MEMORYTYPE_DEVICE; c.dstDevice = d; c.dstPitch = pitch; c.WidthInBytes = 3; c.Height = 2; CHECK(cuMemcpy2D(&c)); CUDA_MEMCPY2D e = {}; e.srcMemoryType = CU_MEMORYTYPE_DEVICE; e.srcDevice = d; e.srcPitch = pitch; e.dstMemoryType = CU_MEMORYTYPE_HOST; e.dstHost = dst; e.dstPitch = 3; e.WidthInBytes = 3; e.Height = 2; CHECK(cuMemcpy2DUnaligned(&e)); printf("2d %d %d %d %d %d %d\n", dst[0], dst[1], dst[2], dst[3], dst[4], dst[5]);
    CUdeviceptr base; size_t size; CHECK(cuMemGetAddressRange(&base, &size, d + 17)); printf("range base %d size %d\n", base == d, size >= pitch * 10); CUmemorytype t; unsigned managed; CUdeviceptr md; CHECK(cuMemAllocManaged(&md, 64, CU_MEM_ATTACH_GLOBAL)); CHECK(cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d)); CHECK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, md)); printf("attribute %d %d\n", t, managed);
    CHECK(cuMemsetD32(d, 7, 4)); CHECK(cuMemsetD16(d + 8, 9, 4)); unsigned h[4]; CHECK(cuMemcpyDtoH(h, d, 16)); printf("set 32 %u %u 16 %u %u\n", h[0], h[1], h[2] >> 16, h[3] & 0xffff); CUstream s, s2; CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)); CHECK(cuStreamCreateWithPriority(&s2, CU_STREAM_NON_BLOCKING, 0)); unsigned* p; CHECK(cuMemHostAlloc((void**)&p, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE)); CHECK(cuMemsetD32Async(d, 99, 1, s)); CHECK(cuMemcpyDtoHAsync(p, d, 4, s)); CHECK(cuStreamSynchronize(s)); printf("async %u\n", p[0]);
    CUmemoryPool pool; CHECK(cuDeviceGetDefaultMemPool(&pool, 0)); CUdeviceptr q; CHECK(cuMemAllocFromPoolAsync(&q, 4, pool, s)); CHECK(cuMemsetD32Async(q, 13, 1, s)); CHECK(cuMemcpyDtoHAsync(p, q, 4, s)); CHECK(cuMemFreeAsync(q, s)); CHECK(cuStreamSynchronize(s)); printf("pool %u\n", p[0]); unsigned fl; CHECK(cuMemHostGetFlags(&fl, p)); printf("host flags ok %d\n", (fl & CU_MEMHOSTALLOC_DEVICEMAP) != 0);
    CUevent ev; CHECK(cuEventCreate(&ev, CU_EVENT_DISABLE_TIMING)); CHECK(cuMemsetD32Async(d, 55, 1, s)); CHECK(cuEventRecord(ev, s)); CHECK(cuStreamWaitEvent(s2, ev, 0)); CHECK(cuMemcpyDtoHAsync(p, d, 4, s2)); CHECK(cuStreamSynchronize(s2)); printf("wait %d\n", p[0] == 55); CUresult r = cuStreamWaitValue32(s2, d, 70, CU_STREAM_WAIT_VALUE_GEQ); if (r == CUDA_SUCCESS) { CHECK(cuMemcpyDtoHAsync(p, d, 4, s2)); CHECK(cuStreamWriteValue32(s, d, 77, 0)); CHECK(cuStreamSynchronize(s2)); } printf("write/wait value %s %u\n", N(r), p[0]);
}
