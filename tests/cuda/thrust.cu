// out: sum 499500
// out: sorted 1
// out: scan 10
#include <cstdio>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
int main() {
    thrust::device_vector<int> v(1000); thrust::sequence(v.begin(), v.end());
    printf("sum %d\n", thrust::reduce(v.begin(), v.end()));
    thrust::sort(v.begin(), v.end(), thrust::greater<int>()); thrust::host_vector<int> h = v;
    printf("sorted %d\n", h[0] == 999 && h[999] == 0);
    thrust::device_vector<int> w(5, 2), o(5); thrust::inclusive_scan(w.begin(), w.end(), o.begin()); printf("scan %d\n", (int)o[4]);
}
