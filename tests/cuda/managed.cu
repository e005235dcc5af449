// out: 42 100
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__managed__ int total = 2;
__global__ void add(int* x, int n) { int i = threadIdx.x; if (i < n) atomicAdd(&total, x[i]); }
int main() {
    int* x; CHECK(cudaMallocManaged(&x, 40));
    for (int i = 0; i < 10; i++) x[i] = 4;
    add<<<1, 32>>>(x, 10);
    CHECK(cudaDeviceSynchronize());
    int before = total; total = 100;
    printf("%d %d\n", before, total);
    CHECK(cudaFree(x));
}
