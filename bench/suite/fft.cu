#include "suite.h"
// 256 complex numbers to a CTA of 128 threads at most, decimated in time; b holds the roots of unity.
#define N 256
#ifdef __CUDACC__
KERNEL(fft)(const float2 *a, const float2 *b, float2 *out, int n, int m) {
    __shared__ float2 s[N];
    a += (INDEX)blockIdx.x * N; out += (INDEX)blockIdx.x * N;
    for (int i = threadIdx.x; i < N; i += BX) s[__brev(i) >> 24] = a[i];
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        for (int k = threadIdx.x; k < N / 2; k += BX) {
            int j = k % half, i = 2 * (k - j) + j;
            float2 w = b[j * (N / 2 / half)], x = s[i], y = s[i + half];
            float2 t = make_float2(w.x * y.x - w.y * y.y, w.x * y.y + w.y * y.x);
            s[i] = make_float2(x.x + t.x, x.y + t.y);
            s[i + half] = make_float2(x.x - t.x, x.y - t.y);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += BX) out[i] = s[i];
}
#else
// Real and imaginary parts in arrays of their own: of interleaved ones gcc 12 makes fused operations in spite of -ffp-contract=off.
REFERENCE(fft)(const float *a, const float *b, float *out, int n, int m) {
    float re[N], im[N];
    for (int p = 0; p < n; p += N, a += 2 * N, out += 2 * N) {
        for (int i = 0; i < N; i++) { int r = 0; for (int k = 0; k < 8; k++) r |= (i >> k & 1) << (7 - k); re[r] = a[2 * i]; im[r] = a[2 * i + 1]; }
        for (int half = 1; half < N; half *= 2) for (int base = 0; base < N; base += 2 * half) for (int j = 0; j < half; j++) {
            int x = base + j, y = x + half, w = 2 * j * (N / 2 / half);
            float u = b[w] * re[y] - b[w + 1] * im[y], v = b[w] * im[y] + b[w + 1] * re[y];
            re[y] = re[x] - u; im[y] = im[x] - v; re[x] += u; im[x] += v;
        }
        for (int i = 0; i < N; i++) { out[2 * i] = re[i]; out[2 * i + 1] = im[i]; }
    }
}
#endif
