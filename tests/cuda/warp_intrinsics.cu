// out: ok
#include "compare.h"
__global__ void k(const int* in, unsigned* o, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x & 31; int x = in[g]; unsigned acc[12] = {};
  acc[0] = __reduce_add_sync(~0u, x); acc[1] = __reduce_min_sync(~0u, x); acc[2] = __reduce_max_sync(~0u, (unsigned)x); acc[3] = __reduce_xor_sync(~0u, x);
  acc[4] = __match_any_sync(~0u, x & 3); int pred; acc[5] = __match_all_sync(~0u, x >> 30, &pred); acc[5] += pred;
  if (x & 1) { unsigned m = __activemask(); acc[6] = __ballot_sync(m, x & 2) ^ __popc(m) ^ __shfl_sync(m, x, __ffs(m) - 1); acc[6] += __reduce_or_sync(m, x); }
  else { unsigned m = __activemask(); acc[6] = __reduce_and_sync(m, x | 7); unsigned long long w = __shfl_up_sync(m, (unsigned long long)x << 20, 1); (void)w; }
  __syncwarp();
  acc[7] = __shfl_down_sync(~0u, x, 3, 8) + __shfl_xor_sync(~0u, (short)x, 16); double d = __shfl_sync(~0u, (double)x, l ^ 1); acc[8] = (int)d; long long ll = __shfl_up_sync(~0u, (long long)x << 33, 2, 16); acc[9] = (unsigned)(ll >> 33);
  acc[10] = __fns(acc[4], 0, 1) + (__any_sync(~0u, x > 900) << 8) + (__all_sync(~0u, x < 990) << 9);
  acc[11] = __brev(x) ^ __clz(x) ^ __ffs(x) ^ __byte_perm(x, g, 0x3715) ^ __funnelshift_l(x, g, 13) ^ __funnelshift_rc(x, g, 40) ^ __sad(x, g, 7) ^ __usad(x, g, 9) ^ __hadd(x, g) ^ __rhadd(x, -g) ^ __mul24(x, g) ^ __umulhi(x * 77777u, g * 99991u) ^ __dp4a(x, g, 5) ^ __dp2a_lo(x, g, 3) ^ __vabsdiffu4(x, g) ^ __vadd2(x, g) ^ __vcmpgts4(x, g) ^ __vmaxs2(x, g) ^ __vavgu4(x, g) ^ __vsadu4(x, g) ^ __vsubss4(x * 65537, g * 257);
  for (int i = 0; i < 12; i++) o[g * 12 + i] = acc[i];
}
static unsigned b(unsigned x, int i) { return x >> (8 * i) & 255; } static int sb(unsigned x, int i) { return (int8_t)b(x, i); }
static unsigned misc(unsigned x, unsigned g) {
  unsigned r = 0, t = 0; for (int i = 0; i < 32; i++) if (x >> i & 1) t |= 1u << (31 - i); r ^= t; r ^= x ? __builtin_clz(x) : 32; r ^= __builtin_ffs(x);
  unsigned long long xg = (unsigned long long)g << 32 | x; t = 0; unsigned s = 0x3715; for (int i = 0; i < 4; i++) t |= (unsigned)((xg >> (8 * ((s >> 4 * i) & 7))) & 255) << 8 * i; r ^= t;
  r ^= (unsigned)(xg << 13 >> 32); r ^= g; // shift right clamped at 32
  r ^= abs((int)x - (int)g) + 7; r ^= (x > g ? x - g : g - x) + 9; r ^= (unsigned)(((long long)(int)x + (int)g) >> 1); r ^= (unsigned)(((long long)(int)x - (int)g + 1) >> 1); r ^= x * g;
  r ^= (unsigned)((unsigned long long)(x * 77777u) * (g * 99991u) >> 32); { int d = 5; for (int i = 0; i < 4; i++) d += sb(x, i) * sb(g, i); r ^= d; } { int d = 3; for (int i = 0; i < 2; i++) d += (int)(int16_t)(x >> 16 * i) * sb(g, i); r ^= d; }
  unsigned ad = 0, cm = 0, av = 0, sd = 0, ss = 0; for (int i = 0; i < 4; i++) { int q = abs((int)b(x, i) - (int)b(g, i)); ad |= q << 8 * i; sd += q; cm |= (sb(x, i) > sb(g, i) ? 255u : 0) << 8 * i; av |= ((b(x, i) + b(g, i) + 1) / 2) << 8 * i; int w = sb(x * 65537, i) - sb(g * 257, i); w = w > 127 ? 127 : w < -128 ? -128 : w; ss |= (unsigned)(w & 255) << 8 * i; }
  r ^= ad; r ^= ((x + g) & 0xffff) | (((x >> 16) + (g >> 16)) << 16); r ^= cm; { unsigned m = 0; for (int i = 0; i < 2; i++) m |= (unsigned)(uint16_t)std::max((int16_t)(x >> 16 * i), (int16_t)(g >> 16 * i)) << 16 * i; r ^= m; } r ^= av; r ^= sd; r ^= ss; return r;
}
int main() {
  const int N = 512; std::vector<int> a(N); for (auto& x : a) x = rnd() % 1000; unsigned* o = zeros<unsigned>(12 * N); k<<<4, 128>>>(up(a), o, N); CK(cudaGetLastError()); auto r = down(o, 12 * N);
  for (int g = 0; g < N; g++) { int w = g / 32 * 32, l = g % 32; unsigned* q = &r[g * 12]; int* p = &a[w]; int s = 0, mn = 1e9, mx = 0, xo = 0; unsigned ma = 0, odd = 0, b2 = 0, orr = 0, andd = ~0u; bool any = 0, all = 1;
    for (int i = 0; i < 32; i++) { s += p[i]; mn = std::min(mn, p[i]); mx = std::max(mx, p[i]); xo ^= p[i]; if ((p[i] & 3) == (a[g] & 3)) ma |= 1u << i; if (p[i] & 1) { odd |= 1u << i; if (p[i] & 2) b2 |= 1u << i; orr |= p[i]; } else andd &= p[i] | 7; any |= p[i] > 900; all &= p[i] < 990; }
    eq("add", g, q[0], s); eq("min", g, q[1], mn); eq("max", g, q[2], mx); eq("xor", g, q[3], xo); eq("any", g, q[4], ma); eq("all", g, q[5], 0u); 
    if (a[g] & 1) eq("odd", g, q[6], (b2 ^ __builtin_popcount(odd) ^ p[__builtin_ctz(odd)]) + orr); else eq("even", g, q[6], andd);
    eq("shfl", g, q[7], (l % 8 + 3 < 8 ? p[l + 3] : p[l]) + p[l ^ 16]); eq("d", g, q[8], p[l ^ 1]); eq("ll", g, q[9], l % 16 >= 2 ? p[l - 2] : p[l]);
    eq("fns", g, q[10], __builtin_ctz(ma) + (any << 8) + (all << 9)); eq("misc", g, q[11], misc(a[g], g)); }
  DONE();
}
