// out: ok
#include "compare.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void k(const int* in, int* o1, int* o2, int* o3, int* o4, int* o5, int* o6, float* o7, int* o8) {
  auto b = cg::this_thread_block(); int g = b.group_index().x * b.size() + b.thread_rank(); int x = in[g];
  auto t8 = cg::tiled_partition<8>(b); o1[g] = cg::reduce(t8, x, cg::plus<int>()) * 1000 + t8.meta_group_rank();
  auto t32 = cg::tiled_partition<32>(b); o2[g] = cg::inclusive_scan(t32, x, cg::bit_xor<int>()) ^ cg::exclusive_scan(t32, x);
  auto lp = cg::labeled_partition(t32, x % 5); o3[g] = lp.size() * 10000 + lp.thread_rank() * 100 + lp.meta_group_rank() * 0 + cg::reduce(lp, x & 15, cg::greater<int>());
  auto bp = cg::binary_partition(t32, x & 1); o4[g] = cg::reduce(bp, x, cg::plus<int>());
  o5[g] = -1;
  if (x % 3 == 0) { auto c = cg::coalesced_threads(); o5[g] = c.shfl(x, 0) + c.size() + (c.num_threads() > 1 ? c.shfl_down(x, 1) : 0) * (c.thread_rank() + 1 < c.size()); c.sync(); if (c.any(x > 500)) o5[g] += 100000; o5[g] += __popc(c.ballot(x & 4)) * 1000000; }
  o6[g] = t32.match_any(x % 7) ^ (t32.all(x >= 0) << 4) ^ t32.shfl_xor(x, 5);
  auto t64 = cg::tiled_partition<64>(b); 
  o7[g] = cg::reduce(t32, (float)x, cg::less<float>()) + (float)t64.thread_rank();
  o8[g] = cg::reduce(t64, x, cg::plus<int>()) + t64.meta_group_size();
  auto t4 = cg::tiled_partition<4>(t32); double dd = cg::reduce(t4, (double)x * 0.5, cg::plus<double>()); o8[g] += (int)(dd * 2);
}
__global__ void k2(const int* in, int* out, unsigned long long* ctr) {
  extern __shared__ int sm[]; auto b = cg::this_thread_block();
  cg::memcpy_async(b, sm, in + blockIdx.x * 256, sizeof(int) * 256); cg::wait(b);
  auto tile = cg::tiled_partition<16>(b); int v = sm[255 - b.thread_rank()];
  cg::invoke_one(tile, [&] { atomicAdd(ctr, 1ull); });
  int r = cg::invoke_one_broadcast(tile, [&]() -> int { return sm[tile.meta_group_rank()]; });
  out[blockIdx.x * 256 + b.thread_rank()] = v + r;
  struct S { int a; char b[9]; }; S s{v, {1, 2, 3}}; s.b[8] = tile.thread_rank(); s = tile.shfl(s, 3); out[blockIdx.x * 256 + b.thread_rank()] += s.a + s.b[8];
}
int main() {
  const int N = 1024; std::vector<int> a(N); for (auto& x : a) x = rnd() % 1000; int* d = up(a); int* o[7]; for (auto& p : o) p = zeros<int>(N); float* f = zeros<float>(N);
  k<<<4, 256>>>(d, o[0], o[1], o[2], o[3], o[4], o[5], f, o[6]); CK(cudaGetLastError());
  std::vector<std::vector<int>> h; for (auto p : o) h.push_back(down(p, N)); auto hf = down(f, N);
  for (int g = 0; g < N; g++) {
    int w = g / 32 * 32, l = g % 32, s = 0; for (int i = 0; i < 8; i++) s += a[g / 8 * 8 + i]; eq("t8", g, h[0][g], s * 1000 + g % 256 / 8);
    int xo = 0, ex = 0; for (int i = 0; i <= l; i++) xo ^= a[w + i]; for (int i = 0; i < l; i++) ex += a[w + i]; eq("scan", g, h[1][g], xo ^ ex);
    int n = 0, rk = 0, mx = 0, sp = 0; for (int i = 0; i < 32; i++) { if (a[w + i] % 5 == a[g] % 5) { n++; if (i < l) rk++; mx = std::max(mx, a[w + i] & 15); } if ((a[w + i] & 1) == (a[g] & 1)) sp += a[w + i]; } eq("lp", g, h[2][g], n * 10000 + rk * 100 + mx); eq("bp", g, h[3][g], sp);
    int e = -1; if (a[g] % 3 == 0) { int first = -1, cnt = 0, nx = 0, any = 0, b4 = 0; for (int i = 0; i < 32; i++) if (a[w + i] % 3 == 0) { if (first < 0) first = a[w + i]; if (i > l && !nx) nx = i + 1; cnt++; any |= a[w + i] > 500; b4 += (a[w + i] & 4) != 0; } e = first + cnt + (nx ? a[w + nx - 1] : 0) + any * 100000 + b4 * 1000000; } eq("co", g, h[4][g], e);
    unsigned m = 0; for (int i = 0; i < 32; i++) if (a[w + i] % 7 == a[g] % 7) m |= 1u << i; eq("ma", g, h[5][g], (int)(m ^ (1 << 4) ^ a[w + (l ^ 5)]));
    float mn = 1e9; for (int i = 0; i < 32; i++) mn = fminf(mn, a[w + i]); eq("f", g, hf[g], mn + g % 64);
    int s64 = 0, s4 = 0; for (int i = 0; i < 64; i++) s64 += a[g / 64 * 64 + i]; for (int i = 0; i < 4; i++) s4 += a[g / 4 * 4 + i]; eq("t64", g, h[6][g], s64 + 4 + s4);
  }
  auto* c = zeros<unsigned long long>(1); k2<<<4, 256, 1024>>>(d, o[0], c); CK(cudaGetLastError()); auto q = down(o[0], N); eq("inv", 0, down(c, 1)[0], 64ull);
  for (int g = 0; g < N; g++) { int b = g / 256 * 256, t = g % 256; eq("k2", g, q[g], a[b + 255 - t] + a[b + t / 16] + a[b + 255 - (t / 16 * 16 + 3)] + 3); }
  DONE();
}
