#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void half_scalar(const __half *a, const __half *b, __half *c, int *k) {
    __half x = a[threadIdx.x], y = b[threadIdx.x];
    __half r = __hadd(x, y); r = __hfma(r, x, y); r = __hsub(r, __hmul(x, y)); r = __hdiv(r, y); r = __hadd_sat(r, x); r = __hmax(r, y); r = __hmin(r, x); r = __habs(__hneg(r));
    c[threadIdx.x] = __hlt(x, y) ? hsqrt(r) : __hisnan(r) ? hrcp(x) : hfloor(r);
    k[threadIdx.x] = __half2int_rn(r) + __half2uint_rz(x) + __half2short_rd(y) + __half_as_ushort(x) + __heq(x, y) + (int)__half2float(x);
}
extern "C" __global__ void half_packed(const __half2 *a, const __half2 *b, __half2 *c) {
    __half2 x = a[threadIdx.x], y = b[threadIdx.x];
    __half2 r = __hfma2(x, y, __hadd2(x, y)); r = __hmul2_sat(r, x); r = __hmax2(r, __hmin2(x, y)); r = __hsub2(r, __habs2(y)); r = __hneg2(r);
    r = __hgt2(x, y); if (__hbeq2(x, y)) r = __lowhigh2highlow(r); r = __halves2half2(__low2half(r), __high2half(y)); r = h2sqrt(r); r = __h2div(r, x);
    c[threadIdx.x] = __floats2half2_rn(__low2float(r), __high2float(x));
}
extern "C" __global__ void half_math(const __half *a, __half *c) { __half x = a[threadIdx.x]; c[threadIdx.x] = hexp(x) + hlog(x) + hsin(x) + hcos(x) + hexp2(x) + hlog2(x) + hrsqrt(x) + hceil(x) + htrunc(x) + hrint(x) + hexp10(x) + hlog10(x); }
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void half_bfloat(const __nv_bfloat16 *a, const __nv_bfloat162 *b, __nv_bfloat16 *c, __nv_bfloat162 *d) {
    __nv_bfloat16 x = a[threadIdx.x]; __nv_bfloat162 y = b[threadIdx.x];
    c[threadIdx.x] = __hfma(x, x, __hmul(x, x)) + __hmax(x, __float2bfloat16(1.5f)) - hsqrt(x);
    d[threadIdx.x] = __hfma2(y, y, __hadd2(y, __hmin2(y, y))) * __float2bfloat162_rn(2.0f);
}
extern "C" __global__ void half_relu(const __half2 *a, __half2 *c) { c[threadIdx.x] = __hfma2_relu(a[threadIdx.x], a[0], a[1]); }
#endif
extern "C" __global__ void half_atomic(__half2 *a, __half *b) { atomicAdd(a, a[1]); atomicAdd(b, b[1]); }
