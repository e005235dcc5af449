// out: rows 1
// out: device to device 1
// out: pitch 12
// out: symbol 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__device__ float table[4][8];
__global__ void add(float* p, size_t pitch, int w, int h) { int x = threadIdx.x, y = threadIdx.y; if (x < w && y < h) ((float*)((char*)p + y * pitch))[x] += 100 * y + x; }
int main() {
    const int w = 8, h = 4; float *pinned, *back; float *d, *e; size_t pd, pe; cudaStream_t s; CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocHost(&pinned, w * h * 4)); CHECK(cudaMallocHost(&back, w * h * 4)); CHECK(cudaMallocPitch(&d, &pd, w * 4, h)); CHECK(cudaMallocPitch(&e, &pe, w * 4, h));
    for (int i = 0; i < w * h; i++) pinned[i] = i;
    CHECK(cudaMemcpy2DAsync(d, pd, pinned, w * 4, w * 4, h, cudaMemcpyHostToDevice, s));
    add<<<1, dim3(w, h), 0, s>>>(d, pd, w, h);
    CHECK(cudaMemcpy2DAsync(back, w * 4, d, pd, w * 4, h, cudaMemcpyDeviceToHost, s)); CHECK(cudaStreamSynchronize(s));
    bool ok = true; for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) ok = ok && back[y * w + x] == y * w + x + 100 * y + x;
    printf("rows %d\n", ok);
    CHECK(cudaMemset2DAsync(e, pe, 0, w * 4, h, s)); CHECK(cudaMemcpy2DAsync(e, pe, (char*)d + pd, pd, w * 4, h - 1, cudaMemcpyDeviceToDevice, s));
    CHECK(cudaMemcpy2DAsync(back, w * 4, e, pe, w * 4, h, cudaMemcpyDeviceToHost, s)); CHECK(cudaStreamSynchronize(s));
    ok = true; for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) { int z = y + 1; ok = ok && back[y * w + x] == (y == h - 1 ? 0 : z * w + x + 100 * z + x); }
    printf("device to device %d\n", ok);
    printf("pitch %d\n", (int)cudaMemcpy2D(d, 4, pinned, w * 4, w * 4, h, cudaMemcpyHostToDevice)); cudaGetLastError();
    void* at; size_t size; CHECK(cudaGetSymbolAddress(&at, table)); CHECK(cudaGetSymbolSize(&size, table));
    CHECK(cudaMemcpyAsync(at, pinned, size, cudaMemcpyHostToDevice, s)); float one; CHECK(cudaMemcpyFromSymbolAsync(&one, table, 4, 4 * 13, cudaMemcpyDeviceToHost, s)); CHECK(cudaStreamSynchronize(s));
    printf("symbol %d\n", one == 13);
}
