// out: to and from 1
// out: info 8 4 x 32
// out: 3d 1
// out: array to array 1
// out: freed cudaSuccess
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
int main() {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(); cudaArray_t a, b; CHECK(cudaMallocArray(&a, &f, 8, 4)); CHECK(cudaMallocArray(&b, &f, 8, 4)); float s[32], r[32] = {}; for (int i = 0; i < 32; i++) s[i] = i * 0.5f; CHECK(cudaMemcpy2DToArray(a, 0, 0, s, 32, 32, 4, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy2DFromArray(r, 32, a, 0, 0, 32, 4, cudaMemcpyDeviceToHost)); bool ok = true; for (int i = 0; i < 32; i++) ok &= r[i] == s[i]; printf("to and from %d\n", ok); cudaExtent e; unsigned fl; cudaChannelFormatDesc g; CHECK(cudaArrayGetInfo(&g, &e, &fl, a)); printf("info %zu %zu x %d\n", e.width, e.height, g.x); cudaArray_t v; CHECK(cudaMalloc3DArray(&v, &f, make_cudaExtent(4, 4, 2))); cudaMemcpy3DParms p = {}; p.srcPtr = make_cudaPitchedPtr(s, 16, 4, 4); p.dstArray = v; p.extent = make_cudaExtent(4, 4, 2); p.kind = cudaMemcpyHostToDevice; CHECK(cudaMemcpy3D(&p)); cudaMemcpy3DParms q = {}; q.srcArray = v; q.dstPtr = make_cudaPitchedPtr(r, 16, 4, 4); q.extent = make_cudaExtent(4, 4, 2); q.kind = cudaMemcpyDeviceToHost; for (auto& x : r) x = 0; CHECK(cudaMemcpy3D(&q)); ok = true; for (int i = 0; i < 32; i++) ok &= r[i] == s[i]; printf("3d %d\n", ok); CHECK(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 32, 4)); for (auto& x : r) x = 0; CHECK(cudaMemcpyFromArray(r, b, 0, 0, 128, cudaMemcpyDeviceToHost)); ok = true; for (int i = 0; i < 32; i++) ok &= r[i] == s[i]; printf("array to array %d\n", ok); printf("freed %s\n", cudaGetErrorName(cudaFreeArray(a)));
}
