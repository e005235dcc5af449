// out: rounds 1
// out: too large: too many blocks in cooperative launch
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void relax(const float* from, float* to, float* other, int n, int rounds) {
    auto grid = cg::this_grid(); const float* a = from; float* b = to;
    for (int r = 0; r < rounds; r++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = (a[i ? i - 1 : 0] + a[i < n - 1 ? i + 1 : i]) * 0.5f;
        grid.sync();
        a = b; b = r % 2 ? to : other;
    }
}
int main() {
    const int n = 1000, rounds = 8; int device = 0, sms, cooperative, per, block = 128;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device)); CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device)); if (!cooperative) return 1;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, relax, block, 0));
    float *a, *b, *c; CHECK(cudaMallocManaged(&a, n * 4)); CHECK(cudaMallocManaged(&b, n * 4)); CHECK(cudaMallocManaged(&c, n * 4));
    static float x[n], y[n]; for (int i = 0; i < n; i++) x[i] = a[i] = i % 17;
    int size = n, count = rounds; void* args[] = {&a, &b, &c, &size, &count};
    int grid = per * sms < 8 ? per * sms : 8;
    CHECK(cudaLaunchCooperativeKernel((void*)relax, grid, block, args, 0, 0)); CHECK(cudaDeviceSynchronize());
    for (int r = 0; r < rounds; r++) { for (int i = 0; i < n; i++) y[i] = (x[i ? i - 1 : 0] + x[i < n - 1 ? i + 1 : i]) * 0.5f; for (int i = 0; i < n; i++) x[i] = y[i]; }
    float* last = rounds % 2 ? b : c; bool same = true; for (int i = 0; i < n; i++) same = same && last[i] == x[i];
    printf("rounds %d\n", same);
    printf("too large: %s\n", cudaGetErrorString(cudaLaunchCooperativeKernel((void*)relax, per * sms + 1, block, args, 0, 0)));
}
