// out: 5 0 0 1 -1 -1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
// cudaMemAdvise and cudaMemPrefetchAsync take a device in CUDA 12 and a place in CUDA 13, under the same names.
#if CUDART_VERSION >= 13000
#define AT(device) cudaMemLocation{(device) < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, (device) < 0 ? 0 : (device)}
#define PREFETCH(p, n, device, s) cudaMemPrefetchAsync(p, n, AT(device), 0, s)
#else
#define AT(device) (device)
#define PREFETCH(p, n, device, s) cudaMemPrefetchAsync(p, n, device, s)
#endif
__global__ void k(int* p) { *p = 5; }
int main() {
    int *p, pref, last, rm; CHECK(cudaMallocManaged(&p, 4096)); cudaStream_t s; CHECK(cudaStreamCreate(&s));
    auto ask = [&](cudaMemRangeAttribute what) { int value; CHECK(cudaMemRangeGetAttribute(&value, 4, what, p, 4096)); return value; };
    CHECK(cudaMemAdvise(p, 4096, cudaMemAdviseSetPreferredLocation, AT(0))); CHECK(PREFETCH(p, 4096, 0, s)); k<<<1, 1, 0, s>>>(p); CHECK(cudaStreamSynchronize(s));
    pref = ask(cudaMemRangeAttributePreferredLocation); last = ask(cudaMemRangeAttributeLastPrefetchLocation);
    CHECK(cudaMemAdvise(p, 4096, cudaMemAdviseSetReadMostly, AT(0))); rm = ask(cudaMemRangeAttributeReadMostly); printf("%d %d %d %d", *p, pref, last, rm);
    CHECK(cudaMemAdvise(p, 4096, cudaMemAdviseSetPreferredLocation, AT(cudaCpuDeviceId))); CHECK(PREFETCH(p, 4096, cudaCpuDeviceId, s));
    pref = ask(cudaMemRangeAttributePreferredLocation); last = ask(cudaMemRangeAttributeLastPrefetchLocation); printf(" %d %d\n", pref, last);
}
