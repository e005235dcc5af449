// cuda: 13
// args: -lcuda
// out: version ok 1
// out: two contexts 1
// out: stack 1
// out: same address other context 1
// out: stream ctx 1
// out: limits 1
// out: pop CUDA_SUCCESS again CUDA_ERROR_INVALID_CONTEXT
// out: primary active 1
// out: flags 1
// out: api 1
// out: destroyed CUDA_ERROR_INVALID_CONTEXT
// out: proc 1 1
#include "driver_check.h"
int main() {
    CHECK(cuInit(0)); int v; CHECK(cuDriverGetVersion(&v)); printf("version ok %d\n", v >= 12000); CUdevice d; CHECK(cuDeviceGet(&d, 0)); CUcontext a, b, c; CUctxCreateParams none = {};
    CHECK(cuCtxCreate(&a, &none, CU_CTX_SCHED_YIELD, d)); CUdeviceptr p; CHECK(cuMemAlloc(&p, 16)); CHECK(cuMemsetD32(p, 3, 4)); CHECK(cuCtxCreate(&b, &none, 0, d)); printf("two contexts %d\n", a != b); CHECK(cuCtxGetCurrent(&c)); CHECK(cuCtxPopCurrent(&c)); CUcontext now; CHECK(cuCtxGetCurrent(&now)); printf("stack %d\n", c == b && now == a); CHECK(cuCtxPushCurrent(b)); unsigned h; CUresult r = cuMemcpyDtoH(&h, p, 4); printf("same address other context %d\n", r == CUDA_SUCCESS && h == 3); CUstream s; CHECK(cuStreamCreate(&s, 0)); CUcontext sc; CHECK(cuStreamGetCtx(s, &sc)); printf("stream ctx %d\n", sc == b); size_t lim; CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192)); CHECK(cuCtxGetLimit(&lim, CU_LIMIT_STACK_SIZE)); printf("limits %d\n", lim >= 8192); CHECK(cuStreamDestroy(s)); CHECK(cuCtxDestroy(b)); CUresult x = cuCtxPopCurrent(&c); CUresult y = cuCtxPopCurrent(&c); printf("pop %s again %s\n", N(x), N(y)); unsigned f; int active; CHECK(cuDevicePrimaryCtxSetFlags(d, CU_CTX_SCHED_BLOCKING_SYNC)); CUcontext prim; CHECK(cuDevicePrimaryCtxRetain(&prim, d)); CHECK(cuDevicePrimaryCtxGetState(d, &f, &active)); printf("primary active %d\n", active); printf("flags %d\n", (f & CU_CTX_SCHED_BLOCKING_SYNC) != 0); CHECK(cuCtxSetCurrent(a)); unsigned api; CHECK(cuCtxGetApiVersion(a, &api)); printf("api %d\n", api > 0); CHECK(cuCtxDestroy(a)); printf("destroyed %s\n", N(cuMemAlloc(&p, 4))); CHECK(cuDevicePrimaryCtxRelease(d)); void* fn; CUdriverProcAddressQueryResult q; CHECK(cuGetProcAddress("cuMemAlloc", &fn, 12000, 0, &q)); printf("proc %d %d\n", fn != 0, q == CU_GET_PROC_ADDRESS_SUCCESS);
}
