// Matrix products: naive, tiled, doubles, integers, transposed, and a vector.
extern "C" __global__ void matrix_tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float x[16][16], y[16][17];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[threadIdx.y][threadIdx.x] = a[i * n + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + j];
        __syncthreads();
#pragma unroll
        for (int m = 0; m < 16; m++) sum += x[threadIdx.y][m] * y[m][threadIdx.x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}
extern "C" __global__ void matrix_transpose(const double2 *a, double2 *b, int w, int h) {
    __shared__ double2 t[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = a[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) b[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void matrix_bytes(const int *a, const int *b, int *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
    for (int k = 0; k < n; k++) { s = __dp4a(a[k], b[i * n + k], s); s = __dp2a_lo(a[k], b[i * n + k], s); }
    c[i] = s;
}
extern "C" __global__ void matrix_vector(const double *a, const double *x, double *y, int n) {
    int row = blockIdx.x, lane = threadIdx.x;
    double s = 0;
    for (int k = lane; k < n; k += 32) s = fma(a[(size_t)row * n + k], x[k], s);
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (!lane) y[row] = s;
}
