// out: done 8
// args: --default-stream per-thread
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#include <thread>
#include <vector>
#include <atomic>
__global__ void k(int* x, int v) { *x = v; }
int main() {
    std::atomic<int> good{0}; std::vector<std::thread> all;
    for (int t = 0; t < 8; t++) all.emplace_back([&, t] { int *d, h = -1; CHECK(cudaMalloc(&d, 4)); for (int i = 0; i < 20; i++) { k<<<1, 1>>>(d, t * 100 + i); CHECK(cudaMemcpyAsync(&h, d, 4, cudaMemcpyDeviceToHost, 0)); CHECK(cudaStreamSynchronize(0)); if (h != t * 100 + i) return; } good++; });
    for (auto& t : all) t.join();
    printf("done %d\n", good.load());
}
