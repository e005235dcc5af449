// out: plain 32
// out: serialised 64
// out: cooperative 128
// out: cluster of one 160
// out: cluster of two: operation not supported
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void add(int* x, int n) { atomicAdd(x, n); }
int main() {
    int* x; CHECK(cudaMallocManaged(&x, 4)); *x = 0; cudaStream_t s; CHECK(cudaStreamCreate(&s));
    cudaLaunchConfig_t c = {}; c.gridDim = 2; c.blockDim = 16; c.stream = s;
    CHECK(cudaLaunchKernelEx(&c, add, x, 1)); CHECK(cudaStreamSynchronize(s)); printf("plain %d\n", *x);
    cudaLaunchAttribute a[2] = {}; a[0].id = cudaLaunchAttributeProgrammaticStreamSerialization; a[0].val.programmaticStreamSerializationAllowed = 1; a[1].id = cudaLaunchAttributePriority; a[1].val.priority = 0;
    c.attrs = a; c.numAttrs = 2; CHECK(cudaLaunchKernelEx(&c, add, x, 1)); CHECK(cudaStreamSynchronize(s)); printf("serialised %d\n", *x);
    a[0] = {}; a[0].id = cudaLaunchAttributeCooperative; a[0].val.cooperative = 1; c.numAttrs = 1; CHECK(cudaLaunchKernelEx(&c, add, x, 2)); CHECK(cudaStreamSynchronize(s)); printf("cooperative %d\n", *x);
    a[0] = {}; a[0].id = cudaLaunchAttributeClusterDimension; a[0].val.clusterDim.x = 1; a[0].val.clusterDim.y = 1; a[0].val.clusterDim.z = 1; CHECK(cudaLaunchKernelEx(&c, add, x, 1)); CHECK(cudaStreamSynchronize(s)); printf("cluster of one %d\n", *x);
    a[0].val.clusterDim.x = 2; printf("cluster of two: %s\n", cudaGetErrorString(cudaLaunchKernelEx(&c, add, x, 1)));
}
