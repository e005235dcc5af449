// The CUDA math library, one kernel a function: in f32 as it is, in f64 with -DDOUBLE. The letters before the first `_` of a kernel's name are its buffers:
// f is of the type at hand, i of 32-bit, l of 64-bit integers, inputs first, outputs behind a `2`. What is called follows. See README.md.
#ifdef DOUBLE
typedef double T;
#define N(name) name
#else
typedef float T;
#define N(name) name##f
#endif
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void
#define ONE_(f) KERNEL f2f_##f(const T *x, T *r) { int i = AT; r[i] = f(x[i]); }
#define TWO_(f) KERNEL ff2f_##f(const T *x, const T *y, T *r) { int i = AT; r[i] = f(x[i], y[i]); }
#define THREE_(f) KERNEL fff2f_##f(const T *x, const T *y, const T *z, T *r) { int i = AT; r[i] = f(x[i], y[i], z[i]); }
#define FOUR_(f) KERNEL ffff2f_##f(const T *x, const T *y, const T *z, const T *w, T *r) { int i = AT; r[i] = f(x[i], y[i], z[i], w[i]); }
#define TOINT_(f) KERNEL f2i_##f(const T *x, int *r) { int i = AT; r[i] = f(x[i]); }
#define TOLONG_(f) KERNEL f2l_##f(const T *x, long long *r) { int i = AT; r[i] = f(x[i]); }
#define SCALED_(f) KERNEL fi2f_##f(const T *x, const int *n, T *r) { int i = AT; r[i] = f(x[i], n[i]); }
#define ORDER_(f) KERNEL fi2f_##f(const T *x, const int *n, T *r) { int i = AT; r[i] = f(n[i] & 15, x[i]); }
#define BOTH_(f) KERNEL f2ff_##f(const T *x, T *r, T *s) { int i = AT; f(x[i], r + i, s + i); }
#define ONE(f) ONE_(f)
#define TWO(f) TWO_(f)
#define THREE(f) THREE_(f)
#define FOUR(f) FOUR_(f)
#define TOINT(f) TOINT_(f)
#define TOLONG(f) TOLONG_(f)
#define SCALED(f) SCALED_(f)
#define ORDER(f) ORDER_(f)
#define BOTH(f) BOTH_(f)

ONE(N(acos)) ONE(N(acosh)) ONE(N(asin)) ONE(N(asinh)) ONE(N(atan)) ONE(N(atanh)) ONE(N(cbrt)) ONE(N(ceil)) ONE(N(cos)) ONE(N(cosh)) ONE(N(cospi)) ONE(N(erf))
ONE(N(erfc)) ONE(N(erfcinv)) ONE(N(erfcx)) ONE(N(erfinv)) ONE(N(exp)) ONE(N(exp10)) ONE(N(exp2)) ONE(N(expm1)) ONE(N(fabs)) ONE(N(floor)) ONE(N(j0)) ONE(N(j1))
ONE(N(lgamma)) ONE(N(log)) ONE(N(log10)) ONE(N(log1p)) ONE(N(log2)) ONE(N(logb)) ONE(N(nearbyint)) ONE(N(normcdf)) ONE(N(normcdfinv)) ONE(N(rcbrt)) ONE(N(rint))
ONE(N(round)) ONE(N(rsqrt)) ONE(N(sin)) ONE(N(sinh)) ONE(N(sinpi)) ONE(N(sqrt)) ONE(N(tan)) ONE(N(tanh)) ONE(N(tgamma)) ONE(N(trunc)) ONE(N(y0)) ONE(N(y1))
ONE(N(cyl_bessel_i0)) ONE(N(cyl_bessel_i1))
TWO(N(atan2)) TWO(N(copysign)) TWO(N(fdim)) TWO(N(fmax)) TWO(N(fmin)) TWO(N(fmod)) TWO(N(hypot)) TWO(N(nextafter)) TWO(N(pow)) TWO(N(remainder)) TWO(N(rhypot))
THREE(N(fma)) THREE(N(norm3d)) THREE(N(rnorm3d)) FOUR(N(norm4d)) FOUR(N(rnorm4d))
TOINT(N(ilogb)) TOLONG(N(lrint)) TOLONG(N(llrint)) TOLONG(N(lround)) TOLONG(N(llround)) TOINT(isnan) TOINT(isinf) TOINT(isfinite) TOINT(signbit)
SCALED(N(ldexp)) SCALED(N(scalbn)) SCALED(N(scalbln)) ORDER(N(jn)) ORDER(N(yn)) BOTH(N(sincos)) BOTH(N(sincospi))
KERNEL f2ff_modf(const T *x, T *r, T *s) { int i = AT; r[i] = N(modf)(x[i], s + i); }
KERNEL f2fi_frexp(const T *x, T *r, int *n) { int i = AT; r[i] = N(frexp)(x[i], n + i); }
KERNEL ff2fi_remquo(const T *x, const T *y, T *r, int *n) { int i = AT; r[i] = N(remquo)(x[i], y[i], n + i); }
KERNEL fff2f_norm(const T *x, const T *y, const T *z, T *r) { int i = AT; T v[5] = {x[i], y[i], z[i], x[i], y[i]}; r[i] = N(norm)(5, v); }
KERNEL fff2f_rnorm(const T *x, const T *y, const T *z, T *r) { int i = AT; T v[5] = {x[i], y[i], z[i], x[i], y[i]}; r[i] = N(rnorm)(5, v); }
KERNEL ff2f_divide(const T *x, const T *y, T *r) { int i = AT; r[i] = x[i] / y[i]; }
KERNEL f2f_reciprocal(const T *x, T *r) { int i = AT; r[i] = 1 / x[i]; }
KERNEL fff2f_contracted(const T *x, const T *y, const T *z, T *r) { int i = AT; r[i] = x[i] * y[i] + z[i]; }
#ifdef DOUBLE
#define ROUNDED(r) TWO(__dadd_##r) TWO(__dsub_##r) TWO(__dmul_##r) TWO(__ddiv_##r) THREE(__fma_##r) ONE(__drcp_##r) ONE(__dsqrt_##r) \
    TOINT(__double2int_##r) TOLONG(__double2ll_##r) TOINT(__double2uint_##r) TOLONG(__double2ull_##r) ONE(__double2float_##r)
#else
#define ROUNDED(r) TWO(__fadd_##r) TWO(__fsub_##r) TWO(__fmul_##r) TWO(__fdiv_##r) THREE(__fmaf_##r) THREE(__fmaf_ieee_##r) ONE(__frcp_##r) ONE(__fsqrt_##r) \
    TOINT(__float2int_##r) TOLONG(__float2ll_##r) TOINT(__float2uint_##r) TOLONG(__float2ull_##r)
ONE(__sinf) ONE(__cosf) ONE(__tanf) ONE(__expf) ONE(__exp10f) ONE(__logf) ONE(__log2f) ONE(__log10f) ONE(__saturatef) ONE(__frsqrt_rn) ONE(__tanhf)
TWO(__powf) TWO(__fdividef) TWO(fdividef) BOTH(__sincosf)
#endif
ROUNDED(rn) ROUNDED(rz) ROUNDED(ru) ROUNDED(rd)
