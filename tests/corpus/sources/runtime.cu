// printf, assert, malloc, free, new, delete, memcpy, memset.
#include <cstdio>
#include <cassert>
extern "C" __global__ void runtime_print(int n, float f, const char *s) { printf("%d %5.2f %s %lld %c %%\n", n, f, s, 1ll << 40, 'x'); printf("plain\n"); }
extern "C" __global__ void runtime_assert(const int *in) { assert(in[threadIdx.x] > 0 && "positive"); }
extern "C" __global__ void runtime_heap(int *out, int n) {
    int *p = (int *)malloc(n * sizeof(int));
    if (!p) return;
    for (int i = 0; i < n; i++) p[i] = i * threadIdx.x;
    out[threadIdx.x] = p[n - 1];
    free(p);
    double *q = new double[4]; q[1] = 2; out[0] += (int)q[1]; delete[] q;
}
extern "C" __global__ void runtime_memory(char *a, const char *b, int n) { char t[64]; memset(t, 7, 64); memcpy(t, b, n); memcpy(a, t, 64); }
extern "C" __global__ void runtime_trap(int x) { if (x == 3) __trap(); if (x == 4) __brkpt(); __nanosleep(x); }
extern "C" __global__ void runtime_clock(long long *out) { out[0] = clock64(); out[1] = clock(); }
