// What AVX-512 intrinsics give where they are cheap to write. Kernels the CPU lacks instructions for are left out.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL(name) void name##_hand(void *const *buffers, const uint32_t *scalars, size_t begin, size_t end)

#ifdef __AVX512VNNI__
// Absolute differences of bytes by two saturating subtractions, summed into words by a dot product with ones.
static inline __m512i sum_differences(__m512i sum, __m512i a, __m512i b) {
    __m512i d = _mm512_or_si512(_mm512_subs_epu8(a, b), _mm512_subs_epu8(b, a));
    return _mm512_dpbusd_epi32(sum, d, _mm512_set1_epi8(1));
}

KERNEL(sad) {
    const uint32_t *a = buffers[0], *b = buffers[1];
    uint32_t *c = buffers[2];
    (void)scalars;
    for (size_t i = begin; i < end; i += 16)
        _mm512_storeu_si512(
            c + i,
            sum_differences(_mm512_loadu_si512(c + i), _mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i)));
}

KERNEL(sad_window) {
    const uint32_t *a = buffers[0], *b = buffers[1];
    uint32_t *c = buffers[2];
    (void)scalars;
    for (size_t i = begin; i < end; i += 16) {
        __m512i sum = _mm512_setzero_si512();
        for (size_t k = 0; k < 16; k++)
            sum = sum_differences(sum, _mm512_loadu_si512(a + i + k), _mm512_loadu_si512(b + i + k));
        _mm512_storeu_si512(c + i, sum);
    }
}
#endif

#ifdef __AVX512F__
// Even and odd elements apart, 8 products of 64 bits each; four vectors at once hide the latency.
KERNEL(vmad) {
    const int32_t *x = buffers[0];
    int32_t *y = buffers[1];
    const __m512i m = _mm512_set1_epi64(scalars[1]);
    enum { N = 4 };
    for (size_t i = begin; i < end; i += 8 * N) {
        __m512i v[N], odd[N];
        for (int j = 0; j < N; j++) {
            v[j] = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const void *)(x + i + 8 * (size_t)j)));
            odd[j] = _mm512_or_si512(v[j], _mm512_set1_epi64(1));
        }
        for (uint32_t k = 0; k < 64; k++) {
            const __m512i c = _mm512_set1_epi64((int32_t)(scalars[0] + k));
            for (int j = 0; j < N; j++) {
                __m512i t = _mm512_srai_epi64(_mm512_add_epi64(_mm512_mul_epi32(v[j], odd[j]), c), 15);
                t = _mm512_min_epi64(t, _mm512_set1_epi64(INT32_MAX));
                v[j] = _mm512_xor_si512(_mm512_max_epi64(t, _mm512_set1_epi64(INT32_MIN)), m);
            }
        }
        for (int j = 0; j < N; j++)
            _mm256_storeu_si256((void *)(y + i + 8 * (size_t)j), _mm512_cvtepi64_epi32(v[j]));
    }
}

// Eight vectors at once hide the latency of the fused multiply-adds.
KERNEL(horner) {
    const float *x = buffers[0], *c = buffers[2];
    float *y = buffers[1];
    (void)scalars;
    enum { N = 8 };
    for (size_t i = begin; i < end; i += 16 * N) {
        __m512 v[N], t[N];
        for (int j = 0; j < N; j++) {
            t[j] = _mm512_loadu_ps(x + i + 16 * (size_t)j);
            v[j] = _mm512_set1_ps(c[0]);
        }
        for (int k = 1; k <= 64; k++)
            for (int j = 0; j < N; j++) v[j] = _mm512_fmadd_ps(v[j], t[j], _mm512_set1_ps(c[k]));
        for (int j = 0; j < N; j++) _mm512_storeu_ps(y + i + 16 * (size_t)j, v[j]);
    }
}
#endif
