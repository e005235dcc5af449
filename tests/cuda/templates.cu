// out: 7 2.5
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

template <class T, int N> __global__ void k(T* x, T by) { for (int i = 0; i < N; i++) *x += by; }
int main() {
    int* a; double* b; CHECK(cudaMallocManaged(&a, 4)); CHECK(cudaMallocManaged(&b, 8)); *a = 1; *b = 0.5;
    k<int, 3><<<1, 1>>>(a, 2); k<double, 4><<<1, 1>>>(b, 0.5); CHECK(cudaDeviceSynchronize()); printf("%d %.1f\n", *a, *b);
}
