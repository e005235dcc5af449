// out: invalid config cudaErrorInvalidConfiguration
// out: peek cudaErrorInvalidConfiguration get cudaErrorInvalidConfiguration then cudaSuccess
// out: not sticky 5
// out: kernel fault cudaErrorIllegalAddress
// out: malloc cudaErrorIllegalAddress
// out: peek cudaErrorIllegalAddress get cudaErrorIllegalAddress again cudaErrorIllegalAddress
// out: stream cudaErrorIllegalAddress
// out: reset cudaSuccess
// out: after reset 5
// out: misaligned cudaErrorMisalignedAddress
// out: trap cudaErrorLaunchFailure
// out: string: an illegal memory access was encountered
// out: unknown: unrecognized error code
// out: bad device cudaErrorInvalidDevice
// out: null event cudaErrorInvalidResourceHandle
// out: no shared cudaErrorInvalidValue
// out: bad memset cudaErrorInvalidValue
// out: bad free cudaErrorInvalidValue
// out: null function cudaErrorInvalidDeviceFunction
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
__global__ void five(int* p) { *p = 5; }
__global__ void wild(int* p) { p[1 << 28] = 1; }
__global__ void crooked(char* p) { *(int*)(p + 1) = 1; }
__global__ void stop() { asm volatile("trap;"); }
#define N(x) cudaGetErrorName(x)
static int run() { int *d, h = 0; if (cudaMalloc(&d, 4)) return -1; five<<<1, 1>>>(d); cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); cudaFree(d); return h; }
int main() {
    int* d; CHECK(cudaMalloc(&d, 1024)); five<<<1, 2048>>>(d); cudaError_t p = cudaPeekAtLastError(); printf("invalid config %s\n", N(p)); p = cudaPeekAtLastError(); cudaError_t g = cudaGetLastError(); printf("peek %s get %s then %s\n", N(p), N(g), N(cudaGetLastError())); printf("not sticky %d\n", run());
    wild<<<1, 1>>>(d); printf("kernel fault %s\n", N(cudaDeviceSynchronize())); void* q; printf("malloc %s\n", N(cudaMalloc(&q, 4))); p = cudaPeekAtLastError(); g = cudaGetLastError(); printf("peek %s get %s again %s\n", N(p), N(g), N(cudaGetLastError())); cudaStream_t s; printf("stream %s\n", N(cudaStreamCreate(&s)));
    printf("reset %s\n", N(cudaDeviceReset())); printf("after reset %d\n", run());
    CHECK(cudaMalloc(&d, 64)); crooked<<<1, 1>>>((char*)d); printf("misaligned %s\n", N(cudaDeviceSynchronize())); cudaDeviceReset(); stop<<<1, 1>>>(); printf("trap %s\n", N(cudaDeviceSynchronize())); cudaDeviceReset();
    printf("string: %s\n", cudaGetErrorString(cudaErrorIllegalAddress)); printf("unknown: %s\n", cudaGetErrorString((cudaError_t)12345)); printf("bad device %s\n", N(cudaSetDevice(3))); printf("null event %s\n", N(cudaEventRecord(0, 0))); CHECK(cudaMalloc(&d, 64)); five<<<1, 1, 1 << 20>>>(d); printf("no shared %s\n", N(cudaGetLastError())); printf("bad memset %s\n", N(cudaMemset(d, 0, 1 << 20))); printf("bad free %s\n", N(cudaFree((char*)d + 8))); printf("null function %s\n", N(cudaLaunchKernel((const void*)main, dim3(1), dim3(1), nullptr, 0, 0))); cudaGetLastError();
}
