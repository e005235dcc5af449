// out: 2d to device 5 6 7 15 16 17
// out: 2d within 0 0 5 6 7 0
// out: 3d box 133 134 143 144 233 234 243 244
// out: bad pitch cudaErrorInvalidPitchValue
// out: bad kind cudaErrorInvalidMemcpyDirection
// out: past end cudaErrorInvalidValue
// out: memset2d 255 0
// out: memset3d 8
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <cstring>
int main() {
    unsigned char src[10 * 10 * 10], dst[64]; for (int i = 0; i < 1000; i++) src[i] = (unsigned char)(i % 256);
    size_t pitch; unsigned char* d; CHECK(cudaMallocPitch(&d, &pitch, 6, 4)); CHECK(cudaMemset(d, 0, pitch * 4));
    CHECK(cudaMemcpy2D(d, pitch, src + 5, 10, 3, 2, cudaMemcpyHostToDevice)); memset(dst, 0, 64); CHECK(cudaMemcpy2D(dst, 3, d, pitch, 3, 2, cudaMemcpyDeviceToHost));
    printf("2d to device %d %d %d %d %d %d\n", dst[0], dst[1], dst[2], dst[3], dst[4], dst[5]);
    CHECK(cudaMemcpy2D(d + 2 * pitch + 2, pitch, d, pitch, 3, 1, cudaMemcpyDeviceToDevice)); CHECK(cudaMemcpy(dst, d + 2 * pitch, 6, cudaMemcpyDeviceToHost)); printf("2d within %d %d %d %d %d %d\n", dst[0], dst[1], dst[2], dst[3], dst[4], dst[5]);
    cudaPitchedPtr vol; CHECK(cudaMalloc3D(&vol, make_cudaExtent(10, 10, 10))); cudaMemcpy3DParms p = {}; p.srcPtr = make_cudaPitchedPtr(src, 10, 10, 10); p.dstPtr = vol; p.extent = make_cudaExtent(10, 10, 10); p.kind = cudaMemcpyHostToDevice; CHECK(cudaMemcpy3D(&p));
    unsigned char small[8]; cudaMemcpy3DParms q = {}; q.srcPtr = vol; q.srcPos = make_cudaPos(3, 3, 1); q.dstPtr = make_cudaPitchedPtr(small, 2, 2, 2); q.extent = make_cudaExtent(2, 2, 2); q.kind = cudaMemcpyDeviceToHost; CHECK(cudaMemcpy3D(&q));
    printf("3d box"); for (int i = 0; i < 8; i++) printf(" %d", small[i]); printf("\n");
    printf("bad pitch %s\n", cudaGetErrorName(cudaMemcpy2D(d, 2, src, 10, 3, 2, cudaMemcpyHostToDevice)));
    printf("bad kind %s\n", cudaGetErrorName(cudaMemcpy(d, src, 4, (cudaMemcpyKind)77)));
    printf("past end %s\n", cudaGetErrorName(cudaMemcpy(d, src, 1000000, cudaMemcpyHostToDevice))); cudaGetLastError();
    CHECK(cudaMemset2D(d, pitch, 255, 3, 2)); CHECK(cudaMemcpy(dst, d, 6, cudaMemcpyDeviceToHost)); printf("memset2d %d %d\n", dst[2], dst[3]);
    CHECK(cudaMemset3D(vol, 8, make_cudaExtent(10, 10, 10))); CHECK(cudaMemcpy3D(&q)); printf("memset3d %d\n", small[7]);
}
