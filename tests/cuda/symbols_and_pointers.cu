// out: table 11 22 33 44
// out: scaled 110 220 330 440
// out: counter 4
// out: struct 3 0.5
// out: size 16 addr ok 1
// out: managed 100
// out: past end cudaErrorInvalidValue
// out: not a symbol cudaErrorInvalidSymbol
// out: op 30 -10
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
struct Conf { int n; float x; };
__constant__ int table[4]; __constant__ Conf conf; __device__ int counter; __device__ float* where; __managed__ int shared_value = 1;
typedef int (*Op)(int, int);
__device__ int plus_(int a, int b) { return a + b; } __device__ int minus_(int a, int b) { return a - b; }
__device__ Op ops[2] = {plus_, minus_}; __device__ Op p_minus = minus_;
__global__ void scale(int* out) { out[threadIdx.x] = table[threadIdx.x] * 10; atomicAdd(&counter, 1); }
__global__ void readconf(int* n, float* x) { *n = conf.n; *x = conf.x; shared_value += 99; }
__global__ void apply(Op op, int a, int b, int* out) { *out = op(a, b); }
int main() {
    int t[4] = {11, 22, 33, 44}, h[4]; CHECK(cudaMemcpyToSymbol(table, t, 8)); CHECK(cudaMemcpyToSymbol(table, t + 2, 8, 8)); CHECK(cudaMemcpyFromSymbol(h, table, 16)); printf("table %d %d %d %d\n", h[0], h[1], h[2], h[3]);
    int* d; CHECK(cudaMalloc(&d, 16)); scale<<<1, 4>>>(d); CHECK(cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost)); printf("scaled %d %d %d %d\n", h[0], h[1], h[2], h[3]);
    int c; CHECK(cudaMemcpyFromSymbol(&c, counter, 4)); printf("counter %d\n", c);
    Conf k = {3, 0.5f}; cudaStream_t s; CHECK(cudaStreamCreate(&s)); CHECK(cudaMemcpyToSymbolAsync(conf, &k, sizeof k, 0, cudaMemcpyHostToDevice, s)); float* f; CHECK(cudaMalloc(&f, 4)); readconf<<<1, 1, 0, s>>>(d, f); float x; CHECK(cudaMemcpyAsync(&c, d, 4, cudaMemcpyDeviceToHost, s)); CHECK(cudaMemcpyAsync(&x, f, 4, cudaMemcpyDeviceToHost, s)); CHECK(cudaStreamSynchronize(s)); printf("struct %d %g\n", c, x);
    size_t size; void* at; CHECK(cudaGetSymbolSize(&size, table)); CHECK(cudaGetSymbolAddress(&at, counter)); int v; CHECK(cudaMemcpy(&v, at, 4, cudaMemcpyDeviceToHost)); printf("size %zu addr ok %d\n", size, v == 4);
    printf("managed %d\n", shared_value);
    printf("past end %s\n", cudaGetErrorName(cudaMemcpyToSymbol(table, t, 16, 4))); int local; printf("not a symbol %s\n", cudaGetErrorName(cudaMemcpyToSymbol((const void*)&local, t, 4))); cudaGetLastError();
    Op all[2], one; CHECK(cudaMemcpyFromSymbol(all, ops, sizeof all)); CHECK(cudaMemcpyFromSymbol(&one, p_minus, sizeof one)); int r[2];
    apply<<<1, 1>>>(all[0], 10, 20, d); CHECK(cudaMemcpy(r, d, 4, cudaMemcpyDeviceToHost)); apply<<<1, 1>>>(one, 10, 20, d); CHECK(cudaMemcpy(r + 1, d, 4, cudaMemcpyDeviceToHost)); printf("op %d %d\n", r[0], r[1]);
}
