// out: sort pairs 1
// out: select 33334
// out: histogram 1
// out: rle 1000
// out: segmented 1
// out: argmin 77 -5
// out: scan 1
// out: partition 50000
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <cub/cub.cuh>
#include <algorithm>
#include <vector>
struct Third { __host__ __device__ bool operator()(int x) const { return x % 3 == 0; } };
template <class F> void twice(F f) { void* t = nullptr; size_t n = 0; CHECK(f(t, n)); CHECK(cudaMalloc(&t, n ? n : 1)); CHECK(f(t, n)); CHECK(cudaDeviceSynchronize()); CHECK(cudaFree(t)); }
int main() {
    const int n = 100000; std::vector<float> k(n), k2(n); std::vector<int> v(n), v2(n); for (int i = 0; i < n; i++) { k[i] = (float)((i * 7919) % n) - 500.f; v[i] = i; } float *dk, *dk2; int *dv, *dv2, *cnt; CHECK(cudaMalloc(&dk, n * 4)); CHECK(cudaMalloc(&dk2, n * 4)); CHECK(cudaMalloc(&dv, n * 4)); CHECK(cudaMalloc(&dv2, n * 4)); CHECK(cudaMalloc(&cnt, 4096 * 4)); cudaMemcpy(dk, k.data(), n * 4, cudaMemcpyDefault); cudaMemcpy(dv, v.data(), n * 4, cudaMemcpyDefault); int h;
    twice([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortPairs(t, b, dk, dk2, dv, dv2, n); }); cudaMemcpy(k2.data(), dk2, n * 4, cudaMemcpyDefault); cudaMemcpy(v2.data(), dv2, n * 4, cudaMemcpyDefault); bool ok = std::is_sorted(k2.begin(), k2.end()); for (int i = 0; i < n; i++) ok &= k[v2[i]] == k2[i]; printf("sort pairs %d\n", ok);
    twice([&](void* t, size_t& b) { return cub::DeviceSelect::If(t, b, dv, dv2, cnt, n, Third()); }); cudaMemcpy(&h, cnt, 4, cudaMemcpyDefault); printf("select %d\n", h);
    std::vector<int> hist(10); twice([&](void* t, size_t& b) { return cub::DeviceHistogram::HistogramEven(t, b, dv, cnt, 11, 0, n, n); }); cudaMemcpy(hist.data(), cnt, 40, cudaMemcpyDefault); ok = true; for (int x : hist) ok &= x == n / 10; printf("histogram %d\n", ok);
    for (int i = 0; i < n; i++) v[i] = i / 100; cudaMemcpy(dv, v.data(), n * 4, cudaMemcpyDefault); int* lens; CHECK(cudaMalloc(&lens, n * 4)); twice([&](void* t, size_t& b) { return cub::DeviceRunLengthEncode::Encode(t, b, dv, dv2, lens, cnt, n); }); cudaMemcpy(&h, cnt, 4, cudaMemcpyDefault); printf("rle %d\n", h);
    std::vector<int> off(101); for (int i = 0; i <= 100; i++) off[i] = i * 1000; int *doff, *sums; CHECK(cudaMalloc(&doff, 404)); CHECK(cudaMalloc(&sums, 400)); cudaMemcpy(doff, off.data(), 404, cudaMemcpyDefault); twice([&](void* t, size_t& b) { return cub::DeviceSegmentedReduce::Sum(t, b, dv, sums, 100, doff, doff + 1); }); std::vector<int> hs(100); cudaMemcpy(hs.data(), sums, 400, cudaMemcpyDefault); ok = true; for (int i = 0; i < 100; i++) { int s = 0; for (int j = 0; j < 1000; j++) s += v[i * 1000 + j]; ok &= s == hs[i]; } printf("segmented %d\n", ok);
    v[77] = -5; cudaMemcpy(dv, v.data(), n * 4, cudaMemcpyDefault); int* mi; int* ix; CHECK(cudaMalloc(&mi, 4)); CHECK(cudaMalloc(&ix, 8)); cub::KeyValuePair<int, int>* kv; CHECK(cudaMalloc(&kv, 8)); cub::KeyValuePair<int, int> hk{}; twice([&](void* t, size_t& b) { return cub::DeviceReduce::ArgMin(t, b, dv, kv, n); }); cudaMemcpy(&hk, kv, 8, cudaMemcpyDefault); printf("argmin %d %d\n", hk.key, hk.value);
    twice([&](void* t, size_t& b) { return cub::DeviceScan::InclusiveSum(t, b, dv, dv2, n); }); cudaMemcpy(v2.data(), dv2, n * 4, cudaMemcpyDefault); ok = true; for (int i = 0, s = 0; i < n; i++) { s += v[i]; ok &= v2[i] == s; } printf("scan %d\n", ok);
    std::vector<char> fl(n); for (int i = 0; i < n; i++) fl[i] = i & 1; char* df; CHECK(cudaMalloc(&df, n)); cudaMemcpy(df, fl.data(), n, cudaMemcpyDefault); twice([&](void* t, size_t& b) { return cub::DevicePartition::Flagged(t, b, dv, df, dv2, cnt, n); }); cudaMemcpy(&h, cnt, 4, cudaMemcpyDefault); printf("partition %d\n", h);
}
