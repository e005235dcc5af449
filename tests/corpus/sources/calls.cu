// Virtual functions, recursion, function pointers, functions that are not inlined.
struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float a; __device__ Square(float a) : a(a) {} __device__ float area() const override { return a * a; } };
struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.14159f * r * r; } };
extern "C" __global__ void calls_virtual(const float *in, float *out) {
    Square s(in[threadIdx.x]); Circle c(in[threadIdx.x]);
    const Shape *p = threadIdx.x & 1 ? (const Shape *)&s : &c;
    out[threadIdx.x] = p->area();
}
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
extern "C" __global__ void calls_recursive(int *out) { out[threadIdx.x] = fib(threadIdx.x & 15) + ackermann(2, threadIdx.x & 3); }
typedef int (*Op)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int sub(int a, int b) { return a - b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__device__ Op ops[3] = {add, sub, mul};
extern "C" __global__ void calls_pointer(const int *a, const int *b, int *c) { c[threadIdx.x] = ops[threadIdx.x % 3](a[threadIdx.x], b[threadIdx.x]); }
struct Big { int v[12]; };
__device__ __noinline__ Big shuffle(Big b, int k) { Big r; for (int i = 0; i < 12; i++) r.v[i] = b.v[(i + k) % 12]; return r; }
extern "C" __global__ void calls_struct(int *data, int k) { Big b; for (int i = 0; i < 12; i++) b.v[i] = data[i]; b = shuffle(b, k); for (int i = 0; i < 12; i++) data[i] = b.v[i]; }
