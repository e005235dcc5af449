// out: sum 499500
// out: reserved >= used: 1
// out: after trim used 0
// out: pointer type 2
// out: explicit pool 7 7 7
// out: free twice: cudaErrorInvalidValue
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <cstdint>
__global__ void iota(int* p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = i; }
__global__ void sum(const int* p, int n, int* out) { int s = 0; for (int i = threadIdx.x; i < n; i += 32) s += p[i]; for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o); if (!threadIdx.x) *out = s; }
int main() {
    cudaStream_t a, b; CHECK(cudaStreamCreate(&a)); CHECK(cudaStreamCreate(&b));
    int supported; CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0)); if (!supported) { printf("no pools\n"); return 1; }
    cudaMemPool_t pool; CHECK(cudaDeviceGetDefaultMemPool(&pool, 0)); uint64_t keep = UINT64_MAX; CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    int *p, *r, h; CHECK(cudaMallocAsync(&p, 4000, a)); CHECK(cudaMallocAsync(&r, 4, a));
    iota<<<4, 256, 0, a>>>(p, 1000); sum<<<1, 32, 0, a>>>(p, 1000, r);
    CHECK(cudaMemcpyAsync(&h, r, 4, cudaMemcpyDeviceToHost, a)); cudaEvent_t e; CHECK(cudaEventCreate(&e)); CHECK(cudaEventRecord(e, a)); CHECK(cudaStreamWaitEvent(b, e));
    CHECK(cudaFreeAsync(p, b)); CHECK(cudaFreeAsync(r, b)); CHECK(cudaStreamSynchronize(a)); printf("sum %d\n", h); CHECK(cudaStreamSynchronize(b));
    uint64_t used, reserved; CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used)); CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved)); printf("reserved >= used: %d\n", reserved >= used);
    CHECK(cudaMemPoolTrimTo(pool, 0)); CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used)); printf("after trim used %llu\n", (unsigned long long)used);
    cudaMemPoolProps props = {}; props.allocType = cudaMemAllocationTypePinned; props.handleTypes = cudaMemHandleTypeNone; props.location.type = cudaMemLocationTypeDevice; props.location.id = 0;
    cudaMemPool_t mine; CHECK(cudaMemPoolCreate(&mine, &props)); int* q; CHECK(cudaMallocFromPoolAsync(&q, 12, mine, a));
    cudaPointerAttributes at; CHECK(cudaPointerGetAttributes(&at, q)); printf("pointer type %d\n", at.type);
    int v[3] = {7, 7, 7}, w[3]; CHECK(cudaMemcpyAsync(q, v, 12, cudaMemcpyHostToDevice, a)); CHECK(cudaMemcpyAsync(w, q, 12, cudaMemcpyDeviceToHost, a)); CHECK(cudaStreamSynchronize(a)); printf("explicit pool %d %d %d\n", w[0], w[1], w[2]);
    CHECK(cudaFreeAsync(q, a)); CHECK(cudaStreamSynchronize(a)); printf("free twice: %s\n", cudaGetErrorName(cudaFree(q))); cudaGetLastError(); CHECK(cudaMemPoolDestroy(mine));
}
