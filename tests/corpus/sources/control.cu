// Loops, switches and early returns that lanes take apart.
extern "C" __global__ void control_collatz(const unsigned *in, int *out) { unsigned n = in[threadIdx.x]; int k = 0; while (n != 1 && k < 1000) { n = n & 1 ? 3 * n + 1 : n / 2; k++; } out[threadIdx.x] = k; }
extern "C" __global__ void control_switch(const int *in, int *out) {
    int v = in[threadIdx.x];
    switch (v & 15) { case 0: v += 1; break; case 1: v *= 3; case 2: v ^= 5; break; case 3: return; case 5: v = -v; break; case 7: v /= 3; break; case 9: v %= 7; break; case 11: v <<= 3; break; default: v = 0; }
    out[threadIdx.x] = v;
}
extern "C" __global__ void control_nested(const int *in, int *out, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) { if (in[i] < 0) continue; for (int j = 0; j < in[i]; j++) { if ((j + threadIdx.x) % 5 == 4) break; s += j ^ i; } if (s > 100000) goto end; }
end: out[threadIdx.x] = s;
}
extern "C" __global__ void control_divide(const int *a, const unsigned long long *b, long long *c) { int t = threadIdx.x; c[t] = a[t] / 7 + a[t] % (t + 1) + (long long)(b[t] / (t + 3)) + (long long)(b[t] % 1000003) + a[t] / (a[t + 1] | 1); }
