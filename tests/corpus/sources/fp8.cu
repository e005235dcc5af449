#include <cuda_fp8.h>
#include <cuda_fp16.h>
extern "C" __global__ void fp8_convert(const float *f, const __half2 *h, unsigned char *out, __half2 *back) {
    int t = threadIdx.x;
    out[2 * t] = __nv_cvt_float_to_fp8(f[t], __NV_SATFINITE, __NV_E4M3);
    out[2 * t + 1] = __nv_cvt_float_to_fp8(f[t], __NV_NOSAT, __NV_E5M2);
    __nv_fp8x2_storage_t p = __nv_cvt_halfraw2_to_fp8x2(__half2_raw(h[t]), __NV_SATFINITE, __NV_E4M3);
    back[t] = __half2(__nv_cvt_fp8x2_to_halfraw2(p, __NV_E4M3));
}
