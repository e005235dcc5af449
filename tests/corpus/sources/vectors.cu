// Loads and stores of every width, volatile, constant, cached in every way.
extern "C" __global__ void vectors_widths(const char2 *a, const short4 *b, const int3 *c, const float4 *d, const double2 *e, const ulonglong2 *f, char4 *o, float4 *p, ulonglong2 *q) {
    int t = threadIdx.x;
    char2 x = a[t]; short4 y = b[t]; int3 z = c[t]; float4 u = d[t]; double2 v = e[t]; ulonglong2 w = f[t];
    o[t] = make_char4(x.x, x.y, y.x, y.w); p[t] = make_float4(u.x + z.x, u.y + z.y, u.z + z.z, (float)v.x); q[t] = make_ulonglong2(w.y, w.x + (unsigned long long)v.y);
}
extern "C" __global__ void vectors_cached(const float *__restrict__ a, float *b, volatile int *c) {
    int t = threadIdx.x;
    b[t] = __ldg(a + t) + __ldca(a + t) + __ldcg(a + t) + __ldcs(a + t) + __ldlu(a + t) + __ldcv(a + t);
    __stwb(b + 32 + t, 1.0f); __stcg(b + 64 + t, 2.0f); __stcs(b + 96 + t, 3.0f); __stwt(b + 128 + t, 4.0f);
    c[t] = c[t] + 1;
}
extern __shared__ int dynamic[];
extern "C" __global__ void vectors_dynamic(int *out) { dynamic[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x]; }
struct __align__(16) P { int a; short b; char c; double d; float f[3]; };
extern "C" __global__ void vectors_params(P p, P *q, char k, short s, long long l) { q->a = p.a + k; q->b = p.b + s; q->c = p.c; q->d = p.d + l; for (int i = 0; i < 3; i++) q->f[i] = p.f[(i + k) % 3]; }
