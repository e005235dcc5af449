// out: launch cudaErrorNotSupported
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
__global__ void k(cudaTextureObject_t t, float* o) { o[threadIdx.x] = tex2D<float>(t, threadIdx.x, 0.5f); }
int main() { float* d; CHECK(cudaMalloc(&d, 128)); k<<<1, 32>>>(0, d); printf("launch %s\n", cudaGetErrorName(cudaGetLastError())); }
