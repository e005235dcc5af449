// out: ok
#include "compare.h"
#include <cub/cub.cuh>
struct KV { int k; float v; };
__global__ void k(const float* in, float* red, float* scan, int* seg, KV* am, int* srt, long long* excl) {
  using WR = cub::WarpReduce<float, 16>; using WS = cub::WarpScan<float>; using WRI = cub::WarpReduce<int>;
  using WM = cub::WarpMergeSort<int, 4, 32>; using WE = cub::WarpExchange<int, 4, 32>; using WA = cub::WarpReduce<cub::KeyValuePair<int, float>>;
  using W8 = cub::WarpScan<long long, 8>;
  __shared__ typename WR::TempStorage t1[8]; __shared__ typename WS::TempStorage t2[4]; __shared__ typename WRI::TempStorage t3[4];
  __shared__ typename WM::TempStorage t4[4]; __shared__ typename WE::TempStorage t5[4]; __shared__ typename WA::TempStorage t6[4]; __shared__ typename W8::TempStorage t7[16];
  int t = threadIdx.x, w = t / 32, g = blockIdx.x * blockDim.x + t;
  float x = in[g];
  float r = WR(t1[t / 16]).Sum(x); if (t % 16 == 0) red[g / 16] = r;
  float s; WS(t2[w]).InclusiveScan(x, s, [](float a, float b) { return fmaxf(a, b); }); scan[g] = s;
  int h = WRI(t3[w]).HeadSegmentedSum((int)x, (t % 32) % 5 == 0); seg[g] = (t % 32) % 5 == 0 ? h : 0;
  cub::KeyValuePair<int, float> kv(t % 32, x); kv = WA(t6[w]).Reduce(kv, cub::ArgMin()); if (t % 32 == 0) am[g / 32] = KV{kv.key, kv.value};
  int v[4]; for (int i = 0; i < 4; i++) v[i] = (int)(in[(g * 4 + i) % 1024] * 1000);
  WM(t4[w]).Sort(v, [](int a, int b) { return a < b; });
  WE(t5[w]).BlockedToStriped(v, v);
  for (int i = 0; i < 4; i++) srt[(g / 32) * 128 + i * 32 + t % 32] = v[i];
  long long e, agg; W8(t7[t / 8]).ExclusiveSum((long long)(x * 1e12f), e, agg); excl[g] = e + agg;
}
int main() {
  const int N = 1024; std::vector<float> a(N); for (auto& x : a) x = (int)(rnd() % 2001) - 1000;
  float* d = up(a); float* r = zeros<float>(N); float* s = zeros<float>(N); int* g = zeros<int>(N); KV* am = zeros<KV>(N); int* so = zeros<int>(4 * N); long long* ex = zeros<long long>(N);
  k<<<N / 128, 128>>>(d, r, s, g, am, so, ex); CK(cudaGetLastError());
  auto hr = down(r, N / 16), hs = down(s, N); auto hg = down(g, N); auto ha = down(am, N / 32); auto ho = down(so, 4 * N); auto he = down(ex, N);
  for (int i = 0; i < N / 16; i++) { float x = 0; for (int j = 0; j < 16; j++) x += a[i * 16 + j]; eq("red", i, hr[i], x); }
  for (int w = 0; w < N / 32; w++) { float m = -1e9, mn = 1e9; int mi = 0; for (int i = 0; i < 32; i++) { float x = a[w * 32 + i]; m = fmaxf(m, x); eq("scan", i, hs[w * 32 + i], m); if (x < mn) mn = x, mi = i; }
    eq("am", w, ha[w].k, mi); eq("amv", w, ha[w].v, mn);
    for (int i = 0; i < 32; i += 5) { int q = 0; for (int j = i; j < std::min(i + 5, 32); j++) q += (int)a[w * 32 + j]; eq("seg", i, hg[w * 32 + i], q); }
    std::vector<int> p(128); for (int i = 0; i < 128; i++) p[i] = (int)(a[(w * 128 + i) % 1024] * 1000); std::sort(p.begin(), p.end()); for (int i = 0; i < 128; i++) eq("sort", i, ho[w * 128 + i], p[i]);
    for (int i = 0; i < 4; i++) { long long tot = 0, e = 0; for (int j = 0; j < 8; j++) tot += (long long)(a[w * 32 + i * 8 + j] * 1e12f); for (int j = 0; j < 8; j++) { eq("ex", j, he[w * 32 + i * 8 + j], e + tot); e += (long long)(a[w * 32 + i * 8 + j] * 1e12f); } }
  }
  DONE();
}
