#pragma once
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
inline const char* N(CUresult r) { const char* s = "?"; cuGetErrorName(r, &s); return s; }
#define CHECK(call) do { CUresult e_ = (call); if (e_ != CUDA_SUCCESS) { printf("%d: %s: %s\n", __LINE__, #call, N(e_)); exit(1); } } while (0)
inline CUcontext begin() { CHECK(cuInit(0)); CUdevice d; CHECK(cuDeviceGet(&d, 0)); CUcontext c; CHECK(cuDevicePrimaryCtxRetain(&c, d)); CHECK(cuCtxSetCurrent(c)); return c; }
