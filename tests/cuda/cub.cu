// out: sum 4950
#include <cstdio>
#include <cub/cub.cuh>
int main() {
    int *in, *out; cudaMallocManaged(&in, 400); cudaMallocManaged(&out, 4); for (int i = 0; i < 100; i++) in[i] = i;
    void* temp = nullptr; size_t bytes = 0; cub::DeviceReduce::Sum(temp, bytes, in, out, 100);
    cudaMalloc(&temp, bytes); cub::DeviceReduce::Sum(temp, bytes, in, out, 100);
    if (cudaDeviceSynchronize()) return 1; printf("sum %d\n", *out);
}
