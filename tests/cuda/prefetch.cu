// out: sum 499500
// out: kinds 2 3 1 0
// out: range 1
// out: read mostly 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void fill(int* x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = i; }
int main() {
    const int n = 1000; int *m, *d, *h; cudaStream_t s; CHECK(cudaStreamCreate(&s)); CHECK(cudaMallocManaged(&m, n * 4)); CHECK(cudaMalloc(&d, 64)); CHECK(cudaMallocHost(&h, 64));
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};
    CHECK(cudaMemAdvise(m, n * 4, cudaMemAdviseSetPreferredLocation, gpu)); CHECK(cudaMemAdvise(m, n * 4, cudaMemAdviseSetReadMostly, gpu)); CHECK(cudaMemPrefetchAsync(m, n * 4, gpu, 0, s)); fill<<<1, 128, 0, s>>>(m, n);
    CHECK(cudaMemPrefetchAsync(m, n * 4, cpu, 0, s)); CHECK(cudaStreamSynchronize(s)); int sum = 0; for (int i = 0; i < n; i++) sum += m[i]; printf("sum %d\n", sum);
    cudaPointerAttributes a[4]; int local; void* p[4] = {d + 3, m + 7, h + 1, &local}; for (int i = 0; i < 4; i++) CHECK(cudaPointerGetAttributes(&a[i], p[i])); printf("kinds %d %d %d %d\n", a[0].type, a[1].type, a[2].type, a[3].type);
    printf("range %d\n", a[0].device == 0 && a[0].devicePointer == d + 3 && a[2].hostPointer == h + 1);
    int mostly = 0; CHECK(cudaMemRangeGetAttribute(&mostly, 4, cudaMemRangeAttributeReadMostly, m, n * 4)); printf("read mostly %d\n", mostly);
}
