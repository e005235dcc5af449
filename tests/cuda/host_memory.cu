// out: mapped 8
// out: pinned 1 device 2 managed 3 plain 0
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void twice(int* x) { *x *= 2; }
int main() {
    int *h, *d, *m, *v, local;
    CHECK(cudaHostAlloc(&h, 4, cudaHostAllocMapped)); *h = 4;
    CHECK(cudaHostGetDevicePointer(&v, h, 0));
    twice<<<1, 1>>>(v); CHECK(cudaDeviceSynchronize());
    printf("mapped %d\n", *h);
    CHECK(cudaMalloc(&d, 4)); CHECK(cudaMallocManaged(&m, 4));
    cudaPointerAttributes a[4];
    CHECK(cudaPointerGetAttributes(&a[0], h)); CHECK(cudaPointerGetAttributes(&a[1], d));
    CHECK(cudaPointerGetAttributes(&a[2], m)); CHECK(cudaPointerGetAttributes(&a[3], &local));
    printf("pinned %d device %d managed %d plain %d\n", a[0].type, a[1].type, a[2].type, a[3].type);
    CHECK(cudaFreeHost(h));
}
