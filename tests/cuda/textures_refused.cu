// out: array cudaSuccess
// out: texture cudaErrorNotSupported
// out: surface cudaErrorNotSupported
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
int main() {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(); cudaArray_t a = nullptr; printf("array %s\n", cudaGetErrorName(cudaMallocArray(&a, &f, 16, 16))); cudaGetLastError();
    cudaResourceDesc r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = a; cudaTextureDesc t = {}; t.readMode = cudaReadModeElementType; cudaTextureObject_t o = 0; printf("texture %s\n", cudaGetErrorName(cudaCreateTextureObject(&o, &r, &t, nullptr))); cudaSurfaceObject_t s; printf("surface %s\n", cudaGetErrorName(cudaCreateSurfaceObject(&s, &r))); cudaGetLastError();
}
