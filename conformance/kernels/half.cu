// The functions of cuda_fp16.h, cuda_bf16.h and cuda_fp8.h: those of one argument on every value of it. Names as in math.cu, with h for a half and b for a bfloat.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void
#define ONE(f) \
    KERNEL h2h_##f(const __half *x, __half *r) { int i = AT; r[i] = f(x[i]); } \
    KERNEL b2b_##f(const __nv_bfloat16 *x, __nv_bfloat16 *r) { int i = AT; r[i] = f(x[i]); }
#define TWO(f) \
    KERNEL hh2h_##f(const __half *x, const __half *y, __half *r) { int i = AT; r[i] = f(x[i], y[i]); } \
    KERNEL bb2b_##f(const __nv_bfloat16 *x, const __nv_bfloat16 *y, __nv_bfloat16 *r) { int i = AT; r[i] = f(x[i], y[i]); }
#define THREE(f) \
    KERNEL hhh2h_##f(const __half *x, const __half *y, const __half *z, __half *r) { int i = AT; r[i] = f(x[i], y[i], z[i]); } \
    KERNEL bbb2b_##f(const __nv_bfloat16 *x, const __nv_bfloat16 *y, const __nv_bfloat16 *z, __nv_bfloat16 *r) { int i = AT; r[i] = f(x[i], y[i], z[i]); }
#define NUMBER(ty, name) \
    KERNEL h2l_half2##name(const __half *x, long long *r) { int i = AT; r[i] = __half2##name(x[i]); } \
    KERNEL b2l_bfloat2##name(const __nv_bfloat16 *x, long long *r) { int i = AT; r[i] = __bfloat162##name(x[i]); }
#define NUMBERS(r) NUMBER(int, int_##r) NUMBER(unsigned, uint_##r) NUMBER(short, short_##r) NUMBER(unsigned short, ushort_##r) NUMBER(long long, ll_##r) NUMBER(unsigned long long, ull_##r)
#define FROM(r) \
    KERNEL f2h_float2half_##r(const float *x, __half *y) { int i = AT; y[i] = __float2half_##r(x[i]); } \
    KERNEL i2h_int2half_##r(const int *x, __half *y) { int i = AT; y[i] = __int2half_##r(x[i]); } \
    KERNEL i2h_uint2half_##r(const unsigned *x, __half *y) { int i = AT; y[i] = __uint2half_##r(x[i]); } \
    KERNEL f2b_float2bfloat_##r(const float *x, __nv_bfloat16 *y) { int i = AT; y[i] = __float2bfloat16_##r(x[i]); } \
    KERNEL i2b_int2bfloat_##r(const int *x, __nv_bfloat16 *y) { int i = AT; y[i] = __int2bfloat16_##r(x[i]); } \
    KERNEL i2b_uint2bfloat_##r(const unsigned *x, __nv_bfloat16 *y) { int i = AT; y[i] = __uint2bfloat16_##r(x[i]); }
ONE(hexp) ONE(hexp2) ONE(hexp10) ONE(hlog) ONE(hlog2) ONE(hlog10) ONE(hsin) ONE(hcos) ONE(htanh) ONE(htanh_approx) ONE(hsqrt) ONE(hrsqrt) ONE(hrcp)
ONE(hceil) ONE(hfloor) ONE(htrunc) ONE(hrint) ONE(__habs) ONE(__hneg)
TWO(__hadd) TWO(__hsub) TWO(__hmul) TWO(__hdiv) TWO(__hadd_sat) TWO(__hmul_sat) TWO(__hmax) TWO(__hmin) TWO(__hmax_nan) TWO(__hmin_nan) TWO(__hadd_rn) TWO(__hmul_rn)
THREE(__hfma) THREE(__hfma_sat) THREE(__hfma_relu)
NUMBERS(rn) NUMBERS(rz) NUMBERS(rd) NUMBERS(ru) FROM(rn) FROM(rz) FROM(rd) FROM(ru)
#define BYTE(name, kind, sat) \
    KERNEL f2c_##name(const float *x, unsigned char *r) { int i = AT; r[i] = __nv_cvt_float_to_fp8(x[i], sat, kind); } \
    KERNEL d2c_##name(const double *x, unsigned char *r) { int i = AT; r[i] = __nv_cvt_double_to_fp8(x[i], sat, kind); } \
    KERNEL h2c_##name(const __half *x, unsigned char *r) { int i = AT; r[i] = __nv_cvt_halfraw_to_fp8(x[i], sat, kind); } \
    KERNEL b2c_##name(const __nv_bfloat16 *x, unsigned char *r) { int i = AT; r[i] = __nv_cvt_bfloat16raw_to_fp8(x[i], sat, kind); } \
    KERNEL c2h_##name(const unsigned char *x, __half *r) { int i = AT; r[i] = __nv_cvt_fp8_to_halfraw(x[i], kind); }
BYTE(e4m3, __NV_E4M3, __NV_NOSAT) BYTE(e4m3_sat, __NV_E4M3, __NV_SATFINITE) BYTE(e5m2, __NV_E5M2, __NV_NOSAT) BYTE(e5m2_sat, __NV_E5M2, __NV_SATFINITE)
