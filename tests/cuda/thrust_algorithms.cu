// args: --extended-lambda
// out: keys 1 values 1
// out: stable 1
// out: reduce_by_key 4: 0=30 1=30 2=30 3=30
// out: scan 0 1 3 6 10 / 1 3 6 10 15
// out: unique 10
// out: transform_reduce 328350
// out: partition 50
// out: minmax -99 99
// out: count 25 find 7
// out: gather 1 set 5
// out: inner 14 floats 1
#include <cstdio>
#include <thrust/adjacent_difference.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/find.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
struct Square { __host__ __device__ long operator()(int x) const { return (long)x * x; } };
struct Even { __host__ __device__ bool operator()(int x) const { return x % 2 == 0; } };
int main() {
    const int n = 5000; thrust::host_vector<int> k(n), v(n); unsigned r = 1; for (int i = 0; i < n; i++) r = r * 1664525 + 1013904223, k[i] = r >> 20, v[i] = i;
    thrust::device_vector<int> dk = k, dv = v; cudaStream_t s; cudaStreamCreate(&s);
    thrust::stable_sort_by_key(thrust::cuda::par.on(s), dk.begin(), dk.end(), dv.begin()); cudaStreamSynchronize(s); thrust::host_vector<int> hk = dk, hv = dv; bool keys = true, values = true, stable = true;
    for (int i = 0; i < n; i++) { values = values && k[hv[i]] == hk[i]; if (i) keys = keys && hk[i - 1] <= hk[i], stable = stable && (hk[i - 1] < hk[i] || hv[i - 1] < hv[i]); }
    printf("keys %d values %d\nstable %d\n", keys, values, stable);
    thrust::device_vector<int> g(120), ones(120, 1), ok(4), ov(4); for (int i = 0; i < 120; i++) g[i] = i / 30; auto end = thrust::reduce_by_key(g.begin(), g.end(), ones.begin(), ok.begin(), ov.begin());
    printf("reduce_by_key %d: 0=%d 1=%d 2=%d 3=%d\n", (int)(end.first - ok.begin()), (int)ov[0], (int)ov[1], (int)ov[2], (int)ov[3]);
    thrust::device_vector<int> w(5), e(5), c(5); thrust::sequence(w.begin(), w.end(), 1); thrust::exclusive_scan(w.begin(), w.end(), e.begin()); thrust::inclusive_scan(w.begin(), w.end(), c.begin());
    printf("scan %d %d %d %d %d / %d %d %d %d %d\n", (int)e[0], (int)e[1], (int)e[2], (int)e[3], (int)e[4], (int)c[0], (int)c[1], (int)c[2], (int)c[3], (int)c[4]);
    thrust::device_vector<int> u(100); for (int i = 0; i < 100; i++) u[i] = i / 10; printf("unique %d\n", (int)(thrust::unique(u.begin(), u.end()) - u.begin()));
    auto count = thrust::make_counting_iterator(0); printf("transform_reduce %ld\n", thrust::transform_reduce(thrust::device, count, count + 100, Square(), 0l, thrust::plus<long>()));
    thrust::device_vector<int> p(100); thrust::sequence(p.begin(), p.end()); printf("partition %d\n", (int)(thrust::stable_partition(p.begin(), p.end(), Even()) - p.begin()));
    thrust::device_vector<int> m(199); thrust::sequence(m.begin(), m.end(), -99); auto mm = thrust::minmax_element(m.begin(), m.end()); printf("minmax %d %d\n", (int)*mm.first, (int)*mm.second);
    thrust::device_vector<int> q(100); thrust::sequence(q.begin(), q.end()); int four = thrust::count_if(q.begin(), q.end(), [] __device__(int x) { return x % 4 == 0; }); printf("count %d find %d\n", four, (int)(thrust::find(q.begin(), q.end(), 7) - q.begin()));
    thrust::device_vector<int> map(10), out(10); thrust::sequence(map.begin(), map.end(), 90, -10); thrust::gather(map.begin(), map.end(), q.begin(), out.begin()); thrust::host_vector<int> ho = out; bool good = true; for (int i = 0; i < 10; i++) good = good && ho[i] == 90 - 10 * i;
    thrust::device_vector<int> s1(10), s2(10), s3(10); thrust::sequence(s1.begin(), s1.end()); thrust::sequence(s2.begin(), s2.end(), 5); printf("gather %d set %d\n", good, (int)(thrust::set_intersection(s1.begin(), s1.end(), s2.begin(), s2.end(), s3.begin()) - s3.begin()));
    thrust::device_vector<int> i1(3), i2(3); thrust::sequence(i1.begin(), i1.end(), 1); thrust::sequence(i2.begin(), i2.end(), 1); thrust::device_vector<double> f(1000); for (int i = 0; i < 1000; i++) f[i] = (i * 7919) % 1000; thrust::sort(f.begin(), f.end(), thrust::greater<double>());
    printf("inner %d floats %d\n", thrust::inner_product(i1.begin(), i1.end(), i2.begin(), 0), f[0] == 999.0 && f[999] == 0.0);
}
