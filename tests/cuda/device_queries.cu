// out: count 1
// out: device 0
// out: peer self cudaErrorInvalidDevice or 0
// out: name Hostwarp
// out: warp 32 sms>0 1 9.0
// out: uuid 1 pci 1
// out: set again cudaSuccess
// out: flags 1
// out: version 1
// out: choose 0
// out: by pci 0
// out: cache 1 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <cstring>
int main() {
    int n, d, can; CHECK(cudaGetDeviceCount(&n)); printf("count %d\n", n); CHECK(cudaGetDevice(&d)); printf("device %d\n", d); cudaError_t r = cudaDeviceCanAccessPeer(&can, 0, 0); if ((r == cudaSuccess && can == 0) || r == cudaErrorInvalidDevice) printf("peer self cudaErrorInvalidDevice or 0\n"); else printf("peer %s %d\n", cudaGetErrorName(r), can); cudaGetLastError();
    cudaDeviceProp p; CHECK(cudaGetDeviceProperties(&p, 0)); printf("name %s\n", p.name); printf("warp %d sms>0 %d %d.%d\n", p.warpSize, p.multiProcessorCount > 0, p.major, p.minor); char pci[32]; CHECK(cudaDeviceGetPCIBusId(pci, 32, 0)); char zero[16] = {}; printf("uuid %d pci %d\n", memcmp(&p.uuid, zero, 16) != 0, strlen(pci) > 5);
    printf("set again %s\n", cudaGetErrorName(cudaSetDevice(0))); unsigned f; CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync)); CHECK(cudaGetDeviceFlags(&f)); printf("flags %d\n", (f & cudaDeviceScheduleBlockingSync) != 0); int dv, rv; CHECK(cudaDriverGetVersion(&dv)); CHECK(cudaRuntimeGetVersion(&rv)); printf("version %d\n", dv >= rv && rv >= 12000); cudaDeviceProp want = {}; want.major = 7; int c; CHECK(cudaChooseDevice(&c, &want)); printf("choose %d\n", c); int b; CHECK(cudaDeviceGetByPCIBusId(&b, pci)); printf("by pci %d\n", b);
    cudaFuncCache cc; cudaError_t x = cudaDeviceSetCacheConfig(cudaFuncCachePreferL1), y = cudaDeviceGetCacheConfig(&cc); printf("cache %d %d\n", x == cudaSuccess, y == cudaSuccess);
}
