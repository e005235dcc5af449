// c = a b for square matrices of n x n floats, n a multiple of 16: each block computes a tile of 16 x 16 through shared memory.
//
// matmul.ptx is what nvcc makes of it:
//   nvcc --ptx -arch=sm_75 -o matmul.ptx matmul.cu

constexpr int tile = 16;

extern "C" __global__ void matmul(int n, const float* a, const float* b, float* c) {
    __shared__ float as[tile][tile];
    __shared__ float bs[tile][tile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * tile + x, row = blockIdx.y * tile + y;

    float sum = 0;
    for (int k = 0; k < n; k += tile) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; ++i)
            sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
