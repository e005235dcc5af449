// out: ok
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void hist(const unsigned char* x, int n, unsigned* out) {
    __shared__ unsigned h[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[x[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], h[i]);
}
int main() {
    const int n = 50000; unsigned char* x; unsigned *o, r[256] = {};
    CHECK(cudaMallocManaged(&x, n)); CHECK(cudaMallocManaged(&o, 1024));
    for (int i = 0; i < n; i++) { x[i] = i * 31 + i / 7; r[x[i]]++; }
    hist<<<8, 128>>>(x, n, o); CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++) if (r[i] != o[i]) { printf("%d\n", i); return 1; }
    puts("ok");
}
