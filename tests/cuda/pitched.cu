// out: rows ok
// out: fill 7
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(char* p, size_t pitch) { float* row = (float*)(p + threadIdx.y * pitch); row[threadIdx.x] += 1; }
int main() {
    float h[5][7], back[5][7]; char* d; size_t pitch;
    for (int y = 0; y < 5; y++) for (int x = 0; x < 7; x++) h[y][x] = 10 * y + x;
    CHECK(cudaMallocPitch(&d, &pitch, 28, 5));
    CHECK(cudaMemcpy2D(d, pitch, h, 28, 28, 5, cudaMemcpyHostToDevice));
    k<<<1, dim3(7, 5)>>>(d, pitch);
    CHECK(cudaMemcpy2D(back, 28, d, pitch, 28, 5, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int y = 0; y < 5; y++) for (int x = 0; x < 7; x++) ok = ok && back[y][x] == 10 * y + x + 1;
    puts(ok ? "rows ok" : "rows wrong");
    CHECK(cudaMemset2D(d, pitch, 7, 28, 5));
    unsigned char c; CHECK(cudaMemcpy(&c, d + 4 * pitch + 27, 1, cudaMemcpyDeviceToHost));
    printf("fill %d\n", c);
}
