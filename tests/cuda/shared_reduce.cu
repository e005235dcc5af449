// out: 523776
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void reduce(const int* in, int* out) {
    extern __shared__ int s[];
    int t = threadIdx.x; s[t] = in[blockIdx.x * blockDim.x + t]; __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t == 0) atomicAdd(out, s[0]);
}
int main() {
    int h[1024], *d, *o, r; for (int i = 0; i < 1024; i++) h[i] = i;
    CHECK(cudaMalloc(&d, sizeof h)); CHECK(cudaMalloc(&o, 4)); CHECK(cudaMemset(o, 0, 4));
    CHECK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    reduce<<<4, 256, 256 * sizeof(int)>>>(d, o);
    CHECK(cudaMemcpy(&r, o, 4, cudaMemcpyDeviceToHost));
    printf("%d\n", r);
}
