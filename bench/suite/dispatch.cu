#include "suite.h"
// Functions by a table of pointers, and an object with virtual functions.
#ifdef __CUDACC__
#define FUNCTION __device__ __noinline__
#define METHOD __device__
#else
#define FUNCTION static
#define METHOD
#endif
FUNCTION unsigned plus(unsigned x, unsigned y) { return x + y; }
FUNCTION unsigned mixed(unsigned x, unsigned y) { return (x ^ y) * 0x9e3779b9u; }
FUNCTION unsigned shifted(unsigned x, unsigned y) { return x << (y & 31) | y >> 3; }
FUNCTION unsigned divided(unsigned x, unsigned y) { return x / (y | 1); }
typedef unsigned (*Function)(unsigned, unsigned);
struct Shape { unsigned size; METHOD virtual unsigned area() const { return size; } };
struct Square : Shape { METHOD unsigned area() const override { return size * size; } };
struct Circle : Shape { unsigned scale; METHOD unsigned area() const override { return size * size * scale / 7; } };
#ifdef __CUDACC__
__device__
#else
static
#endif
Function TABLE[4] = {plus, mixed, shifted, divided};
HD unsigned all_of(unsigned x, int m) {
    unsigned y = x * 3 + 1;
    for (int k = 0; k < m; k++) { unsigned t = TABLE[(x >> k ^ k) & 3](x, y); y = x; x = t; }
    Square square;
    Circle circle;
    square.size = x & 1023;
    circle.size = y & 1023;
    circle.scale = 22;
    const Shape *shape = x & 64 ? (const Shape *)&square : &circle;
    return x + shape->area();
}
#ifdef __CUDACC__
KERNEL(dispatch)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    EACH(i, n) out[i] = all_of(a[i], m);
}
#else
REFERENCE(dispatch)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = all_of(a[i], m);
}
#endif
