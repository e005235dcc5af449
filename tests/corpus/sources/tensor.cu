#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda::wmma;
extern "C" __global__ void tensor_half(const half *a, const half *b, float *c) {
    fragment<matrix_a, 16, 16, 16, half, row_major> x; fragment<matrix_b, 16, 16, 16, half, col_major> y; fragment<accumulator, 16, 16, 16, float> z;
    fill_fragment(z, 0.0f); load_matrix_sync(x, a, 16); load_matrix_sync(y, b, 16); mma_sync(z, x, y, z); store_matrix_sync(c, z, 16, mem_row_major);
}
extern "C" __global__ void tensor_bytes(const signed char *a, const signed char *b, int *c) {
    fragment<matrix_a, 8, 32, 16, signed char, row_major> x; fragment<matrix_b, 8, 32, 16, signed char, col_major> y; fragment<accumulator, 8, 32, 16, int> z;
    fill_fragment(z, 0); load_matrix_sync(x, a, 16); load_matrix_sync(y, b, 16); mma_sync(z, x, y, z); store_matrix_sync(c, z, 32, mem_row_major);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void tensor_double(const double *a, const double *b, double *c) {
    fragment<matrix_a, 8, 8, 4, double, row_major> x; fragment<matrix_b, 8, 8, 4, double, col_major> y; fragment<accumulator, 8, 8, 4, double> z;
    fill_fragment(z, 0.0); load_matrix_sync(x, a, 4); load_matrix_sync(y, b, 4); mma_sync(z, x, y, z); store_matrix_sync(c, z, 8, mem_row_major);
}
#endif
