// out: default pool set
// out: threshold 65536 0
// out: used 8192 8192
// out: used after free 0
// out: high 8192
// out: reserved 1
// out: two streams 77
// out: from pool 5
// out: trimmed 0
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void set(int* x, int v) { *x = v; }
int main() {
    cudaMemPool_t standard, current, own;
    CHECK(cudaDeviceGetDefaultMemPool(&standard, 0)); CHECK(cudaDeviceGetMemPool(&current, 0));
    puts(standard && standard == current ? "default pool set" : "no default pool");
    cudaMemPoolProps props = {}; props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeDevice; props.location.id = 0;
    CHECK(cudaMemPoolCreate(&own, &props));
    unsigned long long keep = 65536, got = 0, other = 1;
    CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &got)); CHECK(cudaMemPoolGetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &other));
    printf("threshold %llu %llu\n", got, other);
    cudaStream_t s, t; CHECK(cudaStreamCreate(&s)); CHECK(cudaStreamCreate(&t));
    int *a, *b, h;
    CHECK(cudaMallocFromPoolAsync((void**)&a, 4096, own, s)); CHECK(cudaMallocFromPoolAsync((void**)&b, 4096, own, s));
    unsigned long long used, high, reserved;
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used)); CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemHigh, &high));
    printf("used %llu %llu\n", used, high);
    CHECK(cudaFreeAsync(a, s)); CHECK(cudaFreeAsync(b, s)); CHECK(cudaStreamSynchronize(s));
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used)); printf("used after free %llu\n", used);
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemHigh, &high)); printf("high %llu\n", high);
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemHigh, &reserved)); printf("reserved %d\n", reserved >= high);
    // Allocated on one stream, used and freed on another that waits.
    cudaEvent_t e; CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    CHECK(cudaMallocAsync((void**)&a, 4, own, s)); CHECK(cudaEventRecord(e, s)); CHECK(cudaStreamWaitEvent(t, e, 0));
    set<<<1, 1, 0, t>>>(a, 77); CHECK(cudaMemcpyAsync(&h, a, 4, cudaMemcpyDefault, t)); CHECK(cudaFreeAsync(a, t)); CHECK(cudaStreamSynchronize(t));
    printf("two streams %d\n", h);
    CHECK(cudaDeviceSetMemPool(0, own)); CHECK(cudaDeviceGetMemPool(&current, 0)); if (current != own) puts("pool not set");
    CHECK(cudaMallocAsync((void**)&a, 4, s)); set<<<1, 1, 0, s>>>(a, 5); CHECK(cudaMemcpyAsync(&h, a, 4, cudaMemcpyDefault, s)); CHECK(cudaFreeAsync(a, s)); CHECK(cudaStreamSynchronize(s));
    printf("from pool %d\n", h);
    CHECK(cudaMemPoolTrimTo(own, 0)); CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &reserved)); printf("trimmed %llu\n", reserved);
    CHECK(cudaDeviceSetMemPool(0, standard)); CHECK(cudaMemPoolDestroy(own));
}
