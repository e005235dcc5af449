// args: --default-stream per-thread
// out: 8 threads right
// out: separate streams 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#define EXPECT(call, want) do { cudaError_t e_ = (call); if (e_ != (want)) printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); } while (0)
#include <thread>
#include <vector>
#include <atomic>
__global__ void fill(int* p, int v, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = v + i; }
int main() {
    std::vector<std::thread> ts; std::atomic<int> right{0}; std::atomic<unsigned long long> ids[8];
    for (int t = 0; t < 8; t++) ts.emplace_back([&, t] {
        int *d, h[500]; bool ok = true; CHECK(cudaSetDevice(0)); cudaStream_t own; CHECK(cudaStreamCreate(&own)); CHECK(cudaMalloc(&d, 2000)); unsigned long long id; CHECK(cudaStreamGetId(cudaStreamPerThread, &id)); ids[t] = id;
        for (int r = 0; r < 30; r++) { fill<<<1, 64>>>(d, t * 1000 + r, 500); CHECK(cudaMemcpyAsync(h, d, 2000, cudaMemcpyDeviceToHost, cudaStreamPerThread)); CHECK(cudaStreamSynchronize(0)); for (int i = 0; i < 500; i++) ok &= h[i] == t * 1000 + r + i; fill<<<1, 32, 0, own>>>(d, r, 500); CHECK(cudaStreamSynchronize(own)); }
        EXPECT(cudaMemset((void*)8, 0, 4), cudaErrorInvalidValue); EXPECT(cudaGetLastError(), cudaErrorInvalidValue); CHECK(cudaGetLastError()); CHECK(cudaFree(d)); CHECK(cudaStreamDestroy(own)); right += ok; });
    for (auto& t : ts) t.join(); printf("%d threads right\n", (int)right); bool differ = true; for (int i = 0; i < 8; i++) for (int j = 0; j < i; j++) differ &= ids[i] != ids[j]; printf("separate streams %d\n", differ);
}
