// args: --extended-lambda
// out: 81 100 3
// out: captured 30
// out: host and device 7 7
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

template <class F> __global__ void each(F f, int* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) f(x, i); }
template <class F> __global__ void once(F f, int* out) { *out = f(); }
struct Pair { int a; double b; };
int main() {
    int* x; CHECK(cudaMallocManaged(&x, 400)); int factor = 1;
    each<<<2, 64>>>([=] __device__(int* p, int i) { p[i] = i * i * factor; }, x, 100); CHECK(cudaDeviceSynchronize());
    int zeros = 0; for (int i = 0; i < 100; i++) zeros += x[i] == i * i; printf("%d %d %d\n", x[9], zeros, x[1] + x[1] + x[1]);
    Pair p{10, 2.0}; int* out; CHECK(cudaMallocManaged(&out, 4)); once<<<1, 1>>>([p] __device__() { return p.a + (int)(p.b * p.a); }, out); CHECK(cudaDeviceSynchronize()); printf("captured %d\n", *out);
    auto both = [] __host__ __device__(int v) { return v + 2; }; once<<<1, 1>>>([=] __device__() { return both(5); }, out); CHECK(cudaDeviceSynchronize()); printf("host and device %d %d\n", *out, both(5));
}
