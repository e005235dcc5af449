// out: ok
// args: --extended-lambda
#include "compare.h"
struct Shape { int id; __device__ Shape(int i) : id(i) {} __device__ virtual float area() const = 0; __device__ virtual float scale(float s) { return area() * s; } __device__ virtual ~Shape() {} };
struct Circle : Shape { float r; __device__ Circle(int i, float r) : Shape(i), r(r) {} __device__ float area() const override { return 3.f * r * r; } };
struct Rect : Shape { float w, h; __device__ Rect(int i, float w, float h) : Shape(i), w(w), h(h) {} __device__ float area() const override { return w * h; } __device__ float scale(float s) override { return w * s * h * s; } };
struct Sq final : Rect { __device__ Sq(int i, float w) : Rect(i, w, w) {} __device__ float area() const override { return Rect::area() + 0.25f; } };
struct Group : Shape { Shape** c; int n; __device__ Group(int i, int n) : Shape(i), n(n) { c = new Shape*[n]; } __device__ float area() const override { float s = 0; for (int i = 0; i < n; i++) s += c[i]->area(); return s; } __device__ ~Group() { for (int i = 0; i < n; i++) delete c[i]; delete[] c; } };
__device__ Shape* make(int i, int depth) { switch (i % 4) { case 0: return new Circle(i, i * 0.5f); case 1: return new Rect(i, i, i + 1); case 2: return new Sq(i, i * 2); default: { if (depth == 0) return new Circle(i, 1); Group* g = new Group(i, 3); for (int j = 0; j < 3; j++) g->c[j] = make(i + j + 1, depth - 1); return g; } } }
typedef float (*op)(float, float);
__device__ float add_(float a, float b) { return a + b; } __device__ float mul_(float a, float b) { return a * b; } __device__ __noinline__ float sub_(float a, float b) { return a - b; }
__device__ op table[3] = {add_, mul_, sub_}; __constant__ op ctab[2] = {sub_, add_};
__global__ void build(Shape** s, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) s[i] = make(i, 2); }
__global__ void use(Shape** s, float* o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; float a = s[i]->area(), b = s[i]->scale(0.5f); o[i] = ctab[i & 1](table[i % 3](a, b), 1.f); delete s[i]; }
template <class F> __global__ void app(F f, int* o) { o[threadIdx.x] = f(threadIdx.x); }
float area(int i, int d) { switch (i % 4) { case 0: return 3.f * (i * .5f) * (i * .5f); case 1: return (float)i * (i + 1); case 2: return (float)(i * 2) * (i * 2) + .25f; default: if (d == 0) return 3.f; float s = 0; for (int j = 0; j < 3; j++) s += area(i + j + 1, d - 1); return s; } }
__device__ int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
__device__ long long fibm(int n) { return n < 2 ? n : fibm(n - 1) + fibm(n - 2); }
__device__ bool odd(unsigned n); __device__ __noinline__ bool even(unsigned n) { return n == 0 || odd(n - 1); } __device__ __noinline__ bool odd(unsigned n) { return n != 0 && even(n - 1); }
__global__ void rec(int* o, long long* f) { int t = threadIdx.x; o[t] = ack(t % 3, t % 5) * 2 + even(t); f[t] = fibm(t % 17); }
int main() {
  const int N = 200; Shape** s = zeros<Shape*>(N); float* o = zeros<float>(N); build<<<2, 128>>>(s, N); use<<<2, 128>>>(s, o, N); CK(cudaGetLastError()); auto h = down(o, N);
  for (int i = 0; i < N; i++) { float a = area(i, 2), b; if (i % 4 == 1) b = (i * .5f) * ((i + 1) * .5f); else if (i % 4 == 2) b = (float)i * i; else b = a * .5f; float t = i % 3 == 0 ? a + b : i % 3 == 1 ? a * b : a - b; near_("area", i, h[i], i & 1 ? t + 1 : t - 1, 1e-5); }
  int* q = zeros<int>(64); int y = 5; app<<<1, 64>>>([=] __device__(int x) { return x * y + 1; }, q); auto hq = down(q, 64); for (int i = 0; i < 64; i++) eq("lam", i, hq[i], i * 5 + 1);
  CK(cudaDeviceSetLimit(cudaLimitStackSize, 16384)); long long* f = zeros<long long>(64); rec<<<1, 64>>>(q, f); hq = down(q, 64); auto hf = down(f, 64); int ak[3][5]; for (int n = 0; n < 5; n++) ak[0][n] = n + 1, ak[1][n] = n + 2, ak[2][n] = 2 * n + 3; long long fb[20] = {0, 1}; for (int i = 2; i < 20; i++) fb[i] = fb[i - 1] + fb[i - 2];
  for (int i = 0; i < 64; i++) { eq("ack", i, hq[i], ak[i % 3][i % 5] * 2 + (i % 2 == 0)); eq("fib", i, hf[i], fb[i % 17]); }
  DONE();
}
