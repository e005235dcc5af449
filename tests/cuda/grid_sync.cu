// out: ok
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* x, int n) { auto grid = cg::this_grid(); int i = grid.thread_rank(); for (int r = 0; r < 10; r++) { int next = x[(i + 1) % n]; grid.sync(); x[i] = next; grid.sync(); } }
int main() {
    int n = 128, *x; CHECK(cudaMallocManaged(&x, n * 4)); for (int i = 0; i < n; i++) x[i] = i;
    void* args[] = {&x, &n}; CHECK(cudaLaunchCooperativeKernel((void*)k, dim3(4), dim3(32), args, 0, 0)); CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) if (x[i] != (i + 10) % n) { printf("wrong at %d: %d\n", i, x[i]); return 1; }
    puts("ok");
}
