// out: ok
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#define T 16
__global__ void mm(const float* a, const float* b, float* c, int n) {
    __shared__ float s[T][T], t[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y; float sum = 0;
    for (int k = 0; k < n; k += T) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x]; t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < T; i++) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
int main() {
    const int n = 64; float *a, *b, *c; CHECK(cudaMallocManaged(&a, n * n * 4)); CHECK(cudaMallocManaged(&b, n * n * 4)); CHECK(cudaMallocManaged(&c, n * n * 4));
    for (int i = 0; i < n * n; i++) { a[i] = i % 7; b[i] = i % 5; }
    mm<<<dim3(n / T, n / T), dim3(T, T)>>>(a, b, c, n); CHECK(cudaDeviceSynchronize());
    for (int y = 0; y < n; y++) for (int x = 0; x < n; x++) { float r = 0; for (int k = 0; k < n; k++) r += a[y * n + k] * b[k * n + x]; if (r != c[y * n + x]) { printf("%d %d\n", x, y); return 1; } }
    puts("ok");
}
