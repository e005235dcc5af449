// Products of n by n matrices in C, for `hostwarp-bench --matrix`, blocked over registers (8 by 32) and caches; `begin` and `end` are rows
// of c in eights.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define KERNEL(name) void name##_hand(void *const *buffers, const uint32_t *scalars, size_t begin, size_t end)
enum { ROWS = 8, COLUMNS = 32, DEPTH = 256 };

typedef float Floats __attribute__((vector_size(64)));

// f32, of b itself: blocks of both are copied, so that the inner loop reads them from the first word to the last.
KERNEL(sgemm_blocked) {
    const float *a = buffers[0], *b = buffers[1];
    float *c = buffers[2];
    const size_t n = scalars[0];
    float *panel = aligned_alloc(64, COLUMNS * DEPTH * 4), *rows = aligned_alloc(64, (end - begin) * ROWS * DEPTH * 4);
    for (size_t k0 = 0; k0 < n; k0 += DEPTH) {
        float *row = rows;
        for (size_t i0 = begin * ROWS; i0 < end * ROWS; i0 += ROWS)
            for (size_t k = 0; k < DEPTH; k++)
                for (size_t i = 0; i < ROWS; i++) *row++ = a[(i0 + i) * n + k0 + k];
        for (size_t j0 = 0; j0 < n; j0 += COLUMNS) {
            for (size_t k = 0; k < DEPTH; k++)
                for (size_t j = 0; j < COLUMNS; j++) panel[k * COLUMNS + j] = b[(k0 + k) * n + j0 + j];
            for (size_t i0 = begin * ROWS; i0 < end * ROWS; i0 += ROWS) {
                Floats sums[ROWS][2] = {};
                const float *x = rows + (i0 - begin * ROWS) * DEPTH, *y = panel;
                for (size_t k = 0; k < DEPTH; k++, x += ROWS, y += COLUMNS) {
                    const Floats y0 = *(const Floats *)y, y1 = *(const Floats *)(y + 16);
#pragma GCC unroll 8
                    for (size_t i = 0; i < ROWS; i++) {
                        sums[i][0] += x[i] * y0;
                        sums[i][1] += x[i] * y1;
                    }
                }
                for (size_t i = 0; i < ROWS; i++)
                    for (size_t h = 0; h < 2; h++) {
                        Floats *to = (Floats *)(c + (i0 + i) * n + j0 + 16 * h);
                        *to = k0 ? *to + sums[i][h] : sums[i][h];
                    }
            }
        }
    }
    free(rows);
    free(panel);
}

#ifdef __AVX512VNNI__
// s8, of the transpose of b, as kernels have it: 128 is added to each element of a, which makes it unsigned, and 128 times the sum of a column is taken away.
KERNEL(bytes_blocked) {
    const uint32_t *a = buffers[0], *b = buffers[1];
    int32_t *c = buffers[2];
    const size_t n = scalars[0], words = n / 4, rows = (end - begin) * ROWS;
    uint32_t *pa = aligned_alloc(64, rows * words * 4), *pb = aligned_alloc(64, COLUMNS * words * 4);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < words; k++)
            pa[i / ROWS * ROWS * words + k * ROWS + i % ROWS] = a[(begin * ROWS + i) * words + k] ^ 0x80808080;
    for (size_t j0 = 0; j0 < n; j0 += COLUMNS) {
        __m512i more[2] = {};
        for (size_t k = 0; k < words; k++) {
            for (size_t j = 0; j < COLUMNS; j++) pb[k * COLUMNS + j] = b[(j0 + j) * words + k];
            for (int h = 0; h < 2; h++)
                more[h] = _mm512_dpbusd_epi32(more[h], _mm512_set1_epi8((char)128), _mm512_load_si512(pb + k * COLUMNS + 16 * h));
        }
        for (size_t i0 = 0; i0 < rows; i0 += ROWS) {
            __m512i sums[ROWS][2] = {};
            const uint32_t *x = pa + i0 * words, *y = pb;
            for (size_t k = 0; k < words; k++, x += ROWS, y += COLUMNS) {
                const __m512i y0 = _mm512_load_si512(y), y1 = _mm512_load_si512(y + 16);
#pragma GCC unroll 8
                for (int i = 0; i < ROWS; i++) {
                    const __m512i one = _mm512_set1_epi32((int)x[i]);
                    sums[i][0] = _mm512_dpbusd_epi32(sums[i][0], one, y0);
                    sums[i][1] = _mm512_dpbusd_epi32(sums[i][1], one, y1);
                }
            }
            for (int i = 0; i < ROWS; i++)
                for (int h = 0; h < 2; h++)
                    _mm512_storeu_si512(c + (begin * ROWS + i0 + i) * n + j0 + 16 * h, _mm512_sub_epi32(sums[i][h], more[h]));
        }
    }
    free(pa);
    free(pb);
}
#endif
