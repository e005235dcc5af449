// out: 496 31 5
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(int* out) {
    int x = threadIdx.x, sum = x;
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    int up = __shfl_sync(~0u, x, 31);
    unsigned b = __ballot_sync(~0u, x < 5);
    if (x == 0) { out[0] = sum; out[1] = up; out[2] = __popc(b); }
}
int main() { int *d, h[3]; CHECK(cudaMalloc(&d, 12)); k<<<1, 32>>>(d); CHECK(cudaMemcpy(h, d, 12, cudaMemcpyDeviceToHost)); printf("%d %d %d\n", h[0], h[1], h[2]); }
