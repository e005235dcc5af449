// out: ok
#include "compare.h"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
__global__ void k(const float* a, const float* b, float* o, int n, unsigned* u) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  __half2 x = __floats2half2_rn(a[i], b[i]), y = __float2half2_rn(0.5f);
  __half2 z = __hfma2(x, y, x); z = __hmax2(z, __hneg2(z)); z = __hadd2_sat(z, x);
  o[i * 8] = __low2float(z); o[i * 8 + 1] = __high2float(z);
  __nv_bfloat162 p = __floats2bfloat162_rn(a[i], b[i]); p = __hmul2(p, p); p = __hfma2_relu(p, p, p);
  o[i * 8 + 2] = __low2float(p); o[i * 8 + 3] = __bfloat162float(p.y);
  __nv_fp8_e4m3 f(a[i]); __nv_fp8_e5m2 g(b[i]); o[i * 8 + 4] = float(f); o[i * 8 + 5] = float(g);
  __nv_fp8x4_e4m3 q(make_float4(a[i], b[i], a[i] * 2, b[i] * 2)); float4 r = float4(q); o[i * 8 + 6] = r.x + r.y * 2 + r.z * 4 + r.w * 8;
  o[i * 8 + 7] = __half2float(hsqrt(__habs(x.x))) + __half2float(hrint(x.y)) + (__hbgt2(x, y) ? 100 : 0) + __half2int_rd(x.x);
  u[i] = __hcmadd(x, x, x).x == x.x; u[i] |= __heq2_mask(x, __lowhigh2highlow(__lowhigh2highlow(x))) & 0xff00; u[i] += (unsigned)__half_as_ushort(__ushort2half_rz(i)) << 16;
}
template <class T> __global__ void atom(T* t, int n) { for (int i = 0; i < n; i++) atomicAdd(t + i, T(1.0f)); }
__global__ void atom2(__half2* t, __nv_bfloat162* b) { atomicAdd(t, __floats2half2_rn(1, 0.5f)); atomicAdd(b, __floats2bfloat162_rn(1, 2)); }
static float h(float x) { return __half2float(__float2half(x)); }
static float bf(float x) { return __bfloat162float(__float2bfloat16(x)); }
int main() {
  const int N = 2048; std::vector<float> a(N), b(N); for (int i = 0; i < N; i++) { a[i] = ((int)(rnd() % 4001) - 2000) / 512.f; b[i] = ((int)(rnd() % 4001) - 2000) / 64.f; }
  float* o = zeros<float>(8 * N); unsigned* u = zeros<unsigned>(N); k<<<N / 256, 256>>>(up(a), up(b), o, N, u); CK(cudaGetLastError()); auto r = down(o, 8 * N); auto hu = down(u, N);
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < 2; j++) { float x = h(j ? b[i] : a[i]); float z = h(x * 0.5f + x); z = fabsf(z); float s = h(z + x); s = s < 0 ? 0 : s > 1 ? 1 : s; eq("h", i, r[i * 8 + j], s);
      float p = bf(j ? b[i] : a[i]); p = bf(p * p); p = bf((float)((double)p * p + p)); eq("b", i, r[i * 8 + 2 + j], p); }
    eq("e4", i, r[i * 8 + 4], (float)__nv_fp8_e4m3(a[i])); eq("e5", i, r[i * 8 + 5], (float)__nv_fp8_e5m2(b[i]));
    eq("q", i, r[i * 8 + 6], (float)__nv_fp8_e4m3(a[i]) + (float)__nv_fp8_e4m3(b[i]) * 2 + (float)__nv_fp8_e4m3(a[i] * 2) * 4 + (float)__nv_fp8_e4m3(b[i] * 2) * 8);
    float x = h(a[i]), y = h(b[i]); eq("m", i, r[i * 8 + 7], h(sqrtf(fabsf(x))) + rintf(y) + ((x > .5f && y > .5f) ? 100 : 0) + floorf(x));
    eq("u", i, hu[i] >> 16, (unsigned)__half_as_ushort(__int2half_rz(i)));
  }
  auto* th = zeros<__half>(4); auto* tb = zeros<__nv_bfloat16>(4); auto* td = zeros<double>(4); atom<<<3, 40>>>(th, 3); atom<<<3, 40>>>(tb, 3); atom<<<3, 40>>>(td, 4);
  for (auto x : down(th, 3)) eq("ah", 0, __half2float(x), 120.f); for (auto x : down(tb, 3)) eq("ab", 0, __bfloat162float(x), 120.f); for (auto x : down(td, 4)) eq("ad", 0, x, 120.0);
  auto* h2 = zeros<__half2>(1); auto* b2 = zeros<__nv_bfloat162>(1); atom2<<<2, 33>>>(h2, b2); eq("h2", 0, __low2float(down(h2, 1)[0]), 66.f); eq("h2h", 0, __high2float(down(h2, 1)[0]), 33.f); eq("b2", 0, __high2float(down(b2, 1)[0]), 132.f);
  DONE();
}
