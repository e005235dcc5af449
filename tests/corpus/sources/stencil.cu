// A heat step in two and three dimensions, and a blur with borders.
extern "C" __global__ void stencil_heat(const float *a, float *b, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
        b[y * w + x] = 0.25f * (a[y * w + x - 1] + a[y * w + x + 1] + a[(y - 1) * w + x] + a[(y + 1) * w + x]);
}
extern "C" __global__ void stencil_wave(const double *u, const double *v, double *w, int n, double c) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x >= n || y >= n) return;
    for (int z = 1; z < n - 1; z++) {
        long i = (long)z * n * n + y * n + x;
        double l = u[i - (long)n * n] + u[i + (long)n * n] - 6 * u[i];
        l += x ? u[i - 1] : 0; l += x < n - 1 ? u[i + 1] : 0;
        l += y ? u[i - n] : 0; l += y < n - 1 ? u[i + n] : 0;
        w[i] = 2 * u[i] - v[i] + c * l;
    }
}
extern "C" __global__ void stencil_blur(const uchar4 *in, uchar4 *out, int w, int h) {
    __shared__ uchar4 tile[18][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int j = threadIdx.y; j < 18; j += 16)
        for (int i = threadIdx.x; i < 18; i += 16)
            tile[j][i] = in[min(max((int)(blockIdx.y * 16) + j - 1, 0), h - 1) * w + min(max((int)(blockIdx.x * 16) + i - 1, 0), w - 1)];
    __syncthreads();
    int r = 0, g = 0, b = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) { uchar4 c = tile[threadIdx.y + j][threadIdx.x + i]; r += c.x; g += c.y; b += c.z; }
    if (x < w && y < h) out[y * w + x] = make_uchar4(r / 9, g / 9, b / 9, 255);
}
