extern "C" __global__ void convert_all(const float *f, const double *d, const int *i, const unsigned long long *u, float *g, double *e, int *j, long long *l) {
    int t = threadIdx.x; float x = f[t]; double y = d[t]; int z = i[t]; unsigned long long w = u[t];
    g[t] = __int2float_rn(z) + __int2float_rz(z) + __int2float_ru(z) + __int2float_rd(z) + __ull2float_rn(w) + __double2float_rd(y) + __uint2float_rz(z);
    e[t] = __int2double_rn(z) + __ull2double_rd(w) + x + __ll2double_ru(w) + __hiloint2double(z, z) + __longlong_as_double(w);
    j[t] = __float2int_rn(x) + __float2int_rz(x) + __float2int_ru(x) + __float2uint_rd(x) + __double2int_rn(y) + __double2uint_ru(y) + __float_as_int(x) + (short)x + (unsigned char)y + __double2hiint(y);
    l[t] = __float2ll_rn(x) + __double2ll_rz(y) + __float2ull_ru(x) + __double2ull_rd(y) + __double_as_longlong(y);
    g[t] += __fadd_rz(x, x) + __fmul_ru(x, x) + __fmaf_rd(x, x, x) + __fdiv_rn(x, g[0]) + __fdiv_rz(x, g[1]) + __frcp_ru(x) + __fsqrt_rd(x) + __fsub_rd(x, g[2]);
    e[t] += __dadd_rz(y, y) + __dmul_ru(y, y) + __fma_rd(y, y, y) + __ddiv_rn(y, e[0]) + __ddiv_rz(y, e[1]) + __drcp_ru(y) + __dsqrt_rd(y) + __dsub_ru(y, y);
}
extern "C" __global__ void convert_saturate(const float *f, float *g) { int t = threadIdx.x; g[t] = __saturatef(f[t]) + fminf(f[t], 1) + fmaxf(f[t], 0) + __expf(f[t]) + __logf(f[t]) + __sinf(f[t]) + __cosf(f[t]) + __tanf(f[t]) + __powf(f[t], f[0]) + __fdividef(f[t], f[1]) + __log2f(f[t]) + __exp10f(f[t]) + __frsqrt_rn(f[t]); }
