// out: radix 1 pairs 1 descending 1
// out: reduce 499500 max 999
// out: argmin 17
// out: select 334 flagged 500 unique 100
// out: scan 499500
// out: histogram 1
// out: runs 100 first 10
// out: segments 45 945
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)
template <class F> void run(F f) { void* temp = nullptr; size_t bytes = 0; CHECK(f(temp, bytes)); CHECK(cudaMalloc(&temp, bytes)); CHECK(f(temp, bytes)); CHECK(cudaDeviceSynchronize()); CHECK(cudaFree(temp)); }
template <class T> T* make(int n) { T* p; CHECK(cudaMallocManaged(&p, n * sizeof(T))); return p; }
struct ByThree { __host__ __device__ bool operator()(int x) const { return x % 3 == 0; } };
int main() {
    const int n = 20000; auto k = make<unsigned>(n), ks = make<unsigned>(n); auto v = make<int>(n), vs = make<int>(n); unsigned r = 1; for (int i = 0; i < n; i++) r = r * 1664525 + 1013904223, k[i] = r, v[i] = i;
    run([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortPairs(t, b, k, ks, v, vs, n); }); bool up = true, pairs = true; for (int i = 0; i < n; i++) { pairs = pairs && k[vs[i]] == ks[i]; if (i) up = up && ks[i - 1] <= ks[i]; }
    auto f = make<float>(n), fs = make<float>(n); for (int i = 0; i < n; i++) f[i] = (int)k[i] * 1e-3f; run([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortKeysDescending(t, b, f, fs, n); }); bool down = true; for (int i = 1; i < n; i++) down = down && fs[i - 1] >= fs[i];
    printf("radix %d pairs %d descending %d\n", up, pairs, down);
    auto x = make<int>(1000), out = make<int>(1000), count = make<int>(1); for (int i = 0; i < 1000; i++) x[i] = i;
    run([&](void* t, size_t& b) { return cub::DeviceReduce::Sum(t, b, x, out, 1000); }); int sum = *out; run([&](void* t, size_t& b) { return cub::DeviceReduce::Max(t, b, x, out, 1000); }); printf("reduce %d max %d\n", sum, *out);
    auto best = make<cub::KeyValuePair<int, int>>(1); x[17] = -5; run([&](void* t, size_t& b) { return cub::DeviceReduce::ArgMin(t, b, x, best, 1000); }); printf("argmin %d\n", best->key); x[17] = 17;
    run([&](void* t, size_t& b) { return cub::DeviceSelect::If(t, b, x, out, count, 1000, ByThree()); }); int selected = *count; auto flags = make<char>(1000); for (int i = 0; i < 1000; i++) flags[i] = i % 2; run([&](void* t, size_t& b) { return cub::DeviceSelect::Flagged(t, b, x, flags, out, count, 1000); }); int flagged = *count;
    auto tens = make<int>(1000); for (int i = 0; i < 1000; i++) tens[i] = i / 10; run([&](void* t, size_t& b) { return cub::DeviceSelect::Unique(t, b, tens, out, count, 1000); }); printf("select %d flagged %d unique %d\n", selected, flagged, *count);
    run([&](void* t, size_t& b) { return cub::DeviceScan::InclusiveSum(t, b, x, out, 1000); }); printf("scan %d\n", out[999]);
    auto h = make<int>(16); run([&](void* t, size_t& b) { return cub::DeviceHistogram::HistogramEven(t, b, x, h, 17, 0, 1024, 1000); }); bool even = true; for (int i = 0; i < 15; i++) even = even && h[i] == 64; printf("histogram %d\n", even && h[15] == 40);
    auto unique = make<int>(1000), lengths = make<int>(1000); run([&](void* t, size_t& b) { return cub::DeviceRunLengthEncode::Encode(t, b, tens, unique, lengths, count, 1000); }); printf("runs %d first %d\n", *count, lengths[0]);
    auto offsets = make<int>(101); for (int i = 0; i <= 100; i++) offsets[i] = 10 * i; run([&](void* t, size_t& b) { return cub::DeviceSegmentedReduce::Sum(t, b, x, out, 100, offsets, offsets + 1); }); printf("segments %d %d\n", out[0], out[9]);
}
