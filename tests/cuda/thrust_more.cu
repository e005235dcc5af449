// out: sorted 1 unique 97
// out: sum 990000 max 99
// out: scan 1
// out: by key 97 groups 1
// out: transform 1
// out: found 1
// out: stable 1
// out: zip 333833500
// out: on stream 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/unique.h>
#include <thrust/transform.h>
#include <thrust/binary_search.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/execution_policy.h>
#include <algorithm>
#include <numeric>
#include <vector>
struct Saxpy { float a; __host__ __device__ float operator()(float x, float y) const { return a * x + y; } };
int main() {
    const int n = 20000; thrust::host_vector<int> h(n); for (int i = 0; i < n; i++) h[i] = (int)((i * 2654435761u) % 97u); thrust::device_vector<int> d = h; thrust::sort(d.begin(), d.end()); std::vector<int> ref(h.begin(), h.end()); std::sort(ref.begin(), ref.end()); thrust::host_vector<int> got = d; bool ok = std::equal(ref.begin(), ref.end(), got.begin()); auto end = thrust::unique(d.begin(), d.end()); printf("sorted %d unique %d\n", ok, (int)(end - d.begin()));
    thrust::device_vector<int> e(n); for (int i = 0; i < n; i++) h[i] = i % 100; e = h; printf("sum %d max %d\n", thrust::reduce(e.begin(), e.end()), thrust::reduce(e.begin(), e.end(), 0, thrust::maximum<int>()));
    thrust::device_vector<int> sc(n); thrust::exclusive_scan(e.begin(), e.end(), sc.begin()); got = sc; ok = true; for (int i = 0, s = 0; i < n; s += h[i++]) ok &= got[i] == s; printf("scan %d\n", ok);
    thrust::device_vector<int> keys(n), ko(n), vo(n); for (int i = 0; i < n; i++) h[i] = i * 97 / n; keys = h; auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), thrust::make_constant_iterator(1), ko.begin(), vo.begin()); int groups = (int)(ends.first - ko.begin()); printf("by key %d groups %d\n", groups, thrust::reduce(vo.begin(), vo.begin() + groups) == n);
    thrust::device_vector<float> x(n), y(n); thrust::sequence(x.begin(), x.end()); thrust::fill(y.begin(), y.end(), 1.f); thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{2}); printf("transform %d\n", (float)y[777] == 1555.f);
    printf("found %d\n", thrust::binary_search(keys.begin(), keys.end(), 50) && !thrust::binary_search(keys.begin(), keys.end(), 1000));
    thrust::device_vector<unsigned long long> k64(1000); thrust::device_vector<int> v(1000); for (int i = 0; i < 1000; i++) { k64[i] = (unsigned long long)(i % 7) << 40; v[i] = i; } thrust::stable_sort_by_key(k64.begin(), k64.end(), v.begin(), thrust::greater<unsigned long long>()); thrust::host_vector<int> hv = v; ok = true; for (int i = 1; i < 1000; i++) ok &= (hv[i - 1] % 7 > hv[i] % 7) || (hv[i - 1] % 7 == hv[i] % 7 && hv[i - 1] < hv[i]); printf("stable %d\n", ok);
    thrust::device_vector<long long> ll(1000); thrust::sequence(ll.begin(), ll.end(), 1LL);
    printf("zip %lld\n", (long long)thrust::inner_product(ll.begin(), ll.end(), ll.begin(), 0LL));
    cudaStream_t s; CHECK(cudaStreamCreate(&s)); thrust::sort(thrust::cuda::par.on(s), x.begin(), x.end(), thrust::greater<float>()); CHECK(cudaStreamSynchronize(s)); printf("on stream %d\n", (float)x[0] == n - 1);
}
