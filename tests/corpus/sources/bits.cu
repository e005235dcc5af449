// Integer intrinsics, and those of bytes and half-words.
extern "C" __global__ void bits_all(const unsigned *a, const int *b, const long long *c, unsigned *out) {
    unsigned x = a[threadIdx.x]; int y = b[threadIdx.x]; long long z = c[threadIdx.x];
    unsigned r = __clz(y) + __clzll(z) + __popc(x) + __popcll(z) + __ffs(y) + __ffsll(z) + __brev(x) + (unsigned)__brevll(z);
    r += __mulhi(y, (int)x) + __umulhi(x, x) + (unsigned)__mul64hi(z, z) + (unsigned)__umul64hi(z, z) + __mul24(y, y) + __umul24(x, x);
    r += __sad(y, y, x) + __usad(x, x, x) + __hadd(y, y) + __rhadd(y, y) + __uhadd(x, x) + __urhadd(x, x) + __byte_perm(x, x, y);
    r += __funnelshift_l(x, x, y) + __funnelshift_lc(x, x, y) + __funnelshift_r(x, x, y) + __funnelshift_rc(x, x, y) + __fns(x, 3, 2);
    out[threadIdx.x] = r;
}
#define TWO(f) r ^= f(x, y);
#define ONE(f) r ^= f(x);
extern "C" __global__ void bits_simd(const unsigned *a, const unsigned *b, unsigned *out) {
    unsigned x = a[threadIdx.x], y = b[threadIdx.x], r = 0;
    TWO(__vadd2) TWO(__vadd4) TWO(__vaddss2) TWO(__vaddss4) TWO(__vaddus2) TWO(__vaddus4) TWO(__vsub2) TWO(__vsub4) TWO(__vsubss2) TWO(__vsubss4)
    TWO(__vsubus2) TWO(__vsubus4) TWO(__vabsdiffs2) TWO(__vabsdiffs4) TWO(__vabsdiffu2) TWO(__vabsdiffu4) TWO(__vavgs2) TWO(__vavgs4) TWO(__vavgu2) TWO(__vavgu4)
    TWO(__vhaddu2) TWO(__vhaddu4) TWO(__vmaxs2) TWO(__vmaxs4) TWO(__vmaxu2) TWO(__vmaxu4) TWO(__vmins2) TWO(__vmins4) TWO(__vminu2) TWO(__vminu4)
    TWO(__vcmpeq2) TWO(__vcmpeq4) TWO(__vcmpges2) TWO(__vcmpges4) TWO(__vcmpgeu2) TWO(__vcmpgeu4) TWO(__vcmpgts2) TWO(__vcmpgts4) TWO(__vcmpne4) TWO(__vcmpltu4)
    TWO(__vseteq2) TWO(__vseteq4) TWO(__vsetges4) TWO(__vsetgtu4) TWO(__vsetne2) TWO(__vsads2) TWO(__vsads4) TWO(__vsadu2) TWO(__vsadu4)
    ONE(__vabs2) ONE(__vabs4) ONE(__vabsss2) ONE(__vabsss4) ONE(__vneg2) ONE(__vneg4) ONE(__vnegss2) ONE(__vnegss4)
    out[threadIdx.x] = r;
}
