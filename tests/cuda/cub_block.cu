// out: ok
#include "compare.h"
#include <cub/cub.cuh>
template <int T, int I> __global__ void k(const int* in, int* out, int* scan, int* red, unsigned* hist, unsigned long long* keys) {
  using Load = cub::BlockLoad<int, T, I, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, T, I, cub::BLOCK_STORE_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, T, I>;
  using Scan = cub::BlockScan<int, T, cub::BLOCK_SCAN_WARP_SCANS>;
  using Red = cub::BlockReduce<int, T, cub::BLOCK_REDUCE_RAKING>;
  using Hist = cub::BlockHistogram<unsigned char, T, I, 256, cub::BLOCK_HISTO_SORT>;
  __shared__ union { typename Load::TempStorage l; typename Store::TempStorage s; typename Sort::TempStorage so; typename Scan::TempStorage sc; typename Red::TempStorage r; typename Hist::TempStorage h; } t;
  __shared__ unsigned hh[256];
  int v[I];
  int base = blockIdx.x * T * I;
  Load(t.l).Load(in + base, v);
  __syncthreads();
  int m = Red(t.r).Reduce(v, [](int a, int b) { return a > b ? a : b; });
  if (threadIdx.x == 0) red[blockIdx.x] = m;
  __syncthreads();
  int w[I];
  int agg;
  Scan(t.sc).InclusiveSum(v, w, agg);
  __syncthreads();
  Store(t.s).Store(scan + base, w);
  __syncthreads();
  unsigned char c[I];
  for (int i = 0; i < I; i++) c[i] = v[i] & 255;
  Hist(t.h).Histogram(c, hh);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += T) atomicAdd(&hist[i], hh[i]);
  Sort(t.so).SortDescending(v);
  __syncthreads();
  Store(t.s).Store(out + base, v);
}
int main() {
  const int T = 128, I = 7, B = 9, N = T * I * B;
  std::vector<int> a(N); for (auto& x : a) x = (int)rnd() >> 4;
  int* d = up(a); int* o = zeros<int>(N); int* s = zeros<int>(N); int* r = zeros<int>(B); unsigned* h = zeros<unsigned>(256);
  k<T, I><<<B, T>>>(d, o, s, r, h, nullptr); CK(cudaGetLastError());
  auto ho = down(o, N), hs = down(s, N), hr = down(r, B); auto hh = down(h, 256);
  std::vector<unsigned> ref(256); for (int x : a) ref[x & 255]++;
  for (int b = 0; b < B; b++) {
    std::vector<int> p(a.begin() + b * T * I, a.begin() + (b + 1) * T * I); int sum = 0;
    eq("max", b, hr[b], *std::max_element(p.begin(), p.end()));
    for (int i = 0; i < T * I; i++) { sum = (unsigned)sum + (unsigned)p[i]; eq("scan", i, hs[b * T * I + i], sum); }
    std::sort(p.rbegin(), p.rend()); for (int i = 0; i < T * I; i++) eq("sort", i, ho[b * T * I + i], p[i]);
  }
  for (int i = 0; i < 256; i++) eq("hist", i, hh[i], ref[i]);
  DONE();
}
