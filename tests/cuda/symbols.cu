// out: 10 20 30
// out: 6 size 12
// out: 63
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__constant__ int factors[3] = {1, 2, 3};
__device__ int result;
__device__ int table[3];
__global__ void sum(int x) { result = x * (factors[0] + factors[1] + factors[2]); for (int i = 0; i < 3; i++) table[i] = factors[i]; }
int main() {
    int f[3] = {10, 20, 30}, back[3], r = 0; size_t size = 0; void* at = 0;
    sum<<<1, 1>>>(1); CHECK(cudaMemcpyFromSymbol(&r, result, 4)); int first = r;
    CHECK(cudaMemcpyToSymbol(factors, f, sizeof f));
    sum<<<1, 1>>>(1);
    CHECK(cudaMemcpyFromSymbol(back, table, sizeof back));
    printf("%d %d %d\n", back[0], back[1], back[2]);
    CHECK(cudaGetSymbolSize(&size, factors)); CHECK(cudaGetSymbolAddress(&at, result));
    printf("%d size %zu\n", first, size);
    f[0] = 1; CHECK(cudaMemcpyToSymbol(factors, f, 4, 8));
    sum<<<1, 1>>>(2);
    CHECK(cudaMemcpy(&r, at, 4, cudaMemcpyDeviceToHost));
    printf("%d\n", r + 1);
}
