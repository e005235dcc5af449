// out: ok
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

int main() {
    const int w = 6, h = 4, z = 3; unsigned char a[w * h * z], b[w * h * z] = {};
    for (int i = 0; i < w * h * z; i++) a[i] = i;
    cudaPitchedPtr p; CHECK(cudaMalloc3D(&p, make_cudaExtent(w, h, z)));
    cudaMemcpy3DParms c = {}; c.srcPtr = make_cudaPitchedPtr(a, w, w, h); c.dstPtr = p; c.extent = make_cudaExtent(w, h, z); c.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&c));
    cudaMemcpy3DParms r = {}; r.srcPtr = p; r.dstPtr = make_cudaPitchedPtr(b, w, w, h); r.extent = c.extent; r.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&r));
    for (int i = 0; i < w * h * z; i++) if (a[i] != b[i]) { printf("wrong at %d\n", i); return 1; }
    puts("ok");
}
