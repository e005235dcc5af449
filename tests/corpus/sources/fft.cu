extern "C" __global__ void fft_radix2(float2 *data, int n, int stage) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, m = 1 << stage, k = i & m - 1, at = (i >> stage) * 2 * m + k;
    float s, c;
    sincospif(-(float)k / m, &s, &c);
    float2 a = data[at], b = data[at + m];
    float2 t = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
    data[at] = make_float2(a.x + t.x, a.y + t.y);
    data[at + m] = make_float2(a.x - t.x, a.y - t.y);
}
extern "C" __global__ void fft_reverse(const double2 *in, double2 *out, int bits) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[__brev(i) >> (32 - bits)] = in[i];
}
