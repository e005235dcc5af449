// out: supported 1
// out: jacobi 1
// out: reduced 8128
// out: too large: cudaErrorCooperativeLaunchTooLarge
// out: launchEx 7
// out: cluster refused or run
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void jacobi(float* a, float* b, int n, int steps) { auto g = cg::this_grid(); for (int s = 0; s < steps; s++) { for (unsigned i = g.thread_rank() + 1; i < (unsigned)n - 1; i += g.size()) b[i] = 0.5f * (a[i - 1] + a[i + 1]); g.sync(); float* t = a; a = b; b = t; } }
__global__ void red(int* out) { auto b = cg::this_thread_block(); auto t = cg::tiled_partition<16>(b); int v = cg::reduce(t, (int)b.thread_rank(), cg::plus<int>()); if (t.thread_rank() == 0) atomicAdd(out, v); }
__global__ void one(int* out) { *out = 7; }
int main() {
    int ok; CHECK(cudaDeviceGetAttribute(&ok, cudaDevAttrCooperativeLaunch, 0)); printf("supported %d\n", ok);
    int n = 1000, steps = 50; float *a, *b; CHECK(cudaMallocManaged(&a, n * 4)); CHECK(cudaMallocManaged(&b, n * 4)); float ra[1000], rb[1000]; for (int i = 0; i < n; i++) a[i] = b[i] = ra[i] = rb[i] = (float)((i * 7919) % 101);
    void* args[] = {&a, &b, &n, &steps}; CHECK(cudaLaunchCooperativeKernel((void*)jacobi, dim3(8), dim3(64), args, 0, 0)); CHECK(cudaDeviceSynchronize());
    float *x = ra, *y = rb; for (int s = 0; s < steps; s++) { for (int i = 1; i < n - 1; i++) y[i] = 0.5f * (x[i - 1] + x[i + 1]); float* t = x; x = y; y = t; } bool same = true; for (int i = 0; i < n; i++) same &= a[i] == x[i]; printf("jacobi %d\n", same);
    int *d, h; CHECK(cudaMalloc(&d, 4)); CHECK(cudaMemset(d, 0, 4)); red<<<1, 128>>>(d); CHECK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost)); printf("reduced %d\n", h);
    void* one_args[] = {&d}; printf("too large: %s\n", cudaGetErrorName(cudaLaunchCooperativeKernel((void*)one, dim3(10000000), dim3(1024), one_args, 0, 0))); cudaGetLastError();
    cudaLaunchConfig_t c = {}; c.gridDim = 1; c.blockDim = 1; cudaLaunchAttribute at[3]; at[0].id = cudaLaunchAttributeCooperative; at[0].val.cooperative = 1; at[1].id = cudaLaunchAttributePriority; at[1].val.priority = 0; at[2].id = cudaLaunchAttributeProgrammaticStreamSerialization; at[2].val.programmaticStreamSerializationAllowed = 0; c.attrs = at; c.numAttrs = 3; CHECK(cudaLaunchKernelEx(&c, one, d)); CHECK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost)); printf("launchEx %d\n", h);
    at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = 2; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1; c.numAttrs = 1; c.gridDim = 4; cudaError_t r = cudaLaunchKernelEx(&c, one, d); cudaError_t q = cudaDeviceSynchronize(); if (r == cudaErrorNotSupported || (r == cudaSuccess && q == cudaSuccess)) printf("cluster refused or run\n"); else printf("cluster %s %s\n", cudaGetErrorName(r), cudaGetErrorName(q)); cudaGetLastError();
}
