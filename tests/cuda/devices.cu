// out: devices 1 current 0
// out: no second device: invalid device ordinal
// out: peer 0, itself: invalid device ordinal
// out: bus 1
// out: limits 1 4194304
// out: priorities 1
// out: flags 1
// out: memory 1
// out: version 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

#include <cstring>
int main() {
    int n, d; CHECK(cudaGetDeviceCount(&n)); CHECK(cudaGetDevice(&d)); printf("devices %d current %d\n", n, d);
    printf("no second device: %s\n", cudaGetErrorString(cudaSetDevice(1))); cudaGetLastError();
    int can = 1; CHECK(cudaDeviceCanAccessPeer(&can, 0, 0)); printf("peer %d, itself: %s\n", can, cudaGetErrorString(cudaDeviceEnablePeerAccess(0, 0))); cudaGetLastError();
    char bus[32]; int back; CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0)); CHECK(cudaDeviceGetByPCIBusId(&back, bus)); printf("bus %d\n", back == 0 && strchr(bus, ':') != 0);
    size_t stack, heap; CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize)); CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20)); CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize)); printf("limits %d %zu\n", stack >= 1024, heap);
    int least, greatest; CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest)); cudaStream_t s; CHECK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest)); int p; CHECK(cudaStreamGetPriority(s, &p)); printf("priorities %d\n", least >= greatest && p == greatest);
    unsigned flags; CHECK(cudaStreamGetFlags(s, &flags)); printf("flags %d\n", flags == cudaStreamNonBlocking);
    size_t free_, total; CHECK(cudaMemGetInfo(&free_, &total)); printf("memory %d\n", free_ > 0 && free_ <= total);
    int driver, runtime; CHECK(cudaDriverGetVersion(&driver)); CHECK(cudaRuntimeGetVersion(&runtime)); printf("version %d\n", driver >= runtime && runtime >= 12000);
    cudaDeviceProp want = {}; want.major = 9; CHECK(cudaChooseDevice(&d, &want)); if (d != 0) puts("wrong device");
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync)); CHECK(cudaStreamDestroy(s)); CHECK(cudaDeviceReset());
}
