// The kernels in C: plain loops, vectorised by the compiler, Mandelbrot by hand because compilers do not vectorise it.
// Compiled once for each vector width; WIDTH is part of the names. Units [begin, end) are elements unless said.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define KERNEL(name) \
    void JOIN(name, WIDTH)(void *const *buffers, const uint32_t *scalars, size_t begin, size_t end)
#define BUFFER(i, type, name) type *restrict name = buffers[i]

static inline float as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

KERNEL(saxpy) {
    BUFFER(0, const float, x);
    BUFFER(1, float, y);
    const float a = as_float(scalars[0]);
    for (size_t i = begin; i < end; i++) y[i] = fmaf(a, x[i], y[i]);
}

// A unit is one pass over all elements.
KERNEL(saxpy_again) {
    BUFFER(0, const float, x);
    BUFFER(1, float, y);
    const float a = as_float(scalars[0]);
    const size_t n = scalars[1];
    for (size_t pass = begin; pass < end; pass++)
        for (size_t i = 0; i < n; i++) y[i] = fmaf(a, x[i], y[i]);
}

static inline uint32_t absolute_differences(uint32_t a, uint32_t b) {
    uint32_t sum = 0;
    for (int k = 0; k < 32; k += 8) {
        int32_t d = (int32_t)(a >> k & 255) - (int32_t)(b >> k & 255);
        sum += (uint32_t)(d < 0 ? -d : d);
    }
    return sum;
}

KERNEL(sad) {
    BUFFER(0, const uint32_t, a);
    BUFFER(1, const uint32_t, b);
    BUFFER(2, uint32_t, c);
    (void)scalars;
    for (size_t i = begin; i < end; i++) c[i] += absolute_differences(a[i], b[i]);
}

KERNEL(sad_window) {
    BUFFER(0, const uint32_t, a);
    BUFFER(1, const uint32_t, b);
    BUFFER(2, uint32_t, c);
    (void)scalars;
    for (size_t i = begin; i < end; i++) {
        uint32_t sum = 0;
        for (size_t k = 0; k < 16; k++) sum += absolute_differences(a[i + k], b[i + k]);
        c[i] = sum;
    }
}

KERNEL(vmad) {
    BUFFER(0, const int32_t, x);
    BUFFER(1, int32_t, y);
    const uint32_t q = scalars[0], m = scalars[1];
    for (size_t i = begin; i < end; i++) {
        int32_t v = x[i];
        const int32_t odd = v | 1;
#pragma clang loop unroll(full)
        for (uint32_t k = 0; k < 64; k++) {
            int64_t t = ((int64_t)v * odd + (int32_t)(q + k)) >> 15;
            t = t > INT32_MAX ? INT32_MAX : t;
            t = t < INT32_MIN ? INT32_MIN : t;
            v = (int32_t)((uint32_t)t ^ m);
        }
        y[i] = v;
    }
}

KERNEL(horner) {
    BUFFER(0, const float, x);
    BUFFER(1, float, y);
    BUFFER(2, const float, c);
    (void)scalars;
    for (size_t i = begin; i < end; i++) {
        float v = c[0];
        for (int k = 1; k <= 64; k++) v = fmaf(v, x[i], c[k]);
        y[i] = v;
    }
}

// A unit is a pair of halves, as in the kernel; every coefficient is there twice. A fused multiply-add of halves is not
// vectorised, so it goes through float by hand, as the compiler would do it: rounded twice, rarely off by a last bit.
KERNEL(horner_half) {
    BUFFER(0, const _Float16, x);
    BUFFER(1, _Float16, y);
    BUFFER(2, const _Float16, c);
    (void)scalars;
#pragma clang loop vectorize(enable) vectorize_width(WIDTH / 32)
    for (size_t i = 2 * begin; i < 2 * end; i++) {
        _Float16 v = c[0];
#pragma clang loop unroll(full)
        for (int k = 1; k <= 64; k++) v = (_Float16)fmaf((float)v, (float)x[i], (float)c[2 * k]);
        y[i] = v;
    }
}

// A unit is a row of 1024 pixels; LANES pixels go together until the last of them is out.
#define LANES (WIDTH / 32)
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));

static inline int any(Ints mask) {
    int32_t all = 0;
    for (int l = 0; l < LANES; l++) all |= mask[l];
    return all != 0;
}

KERNEL(mandelbrot) {
    BUFFER(0, int32_t, image);
    const float scale = as_float(scalars[0]);
    for (size_t row = begin; row < end; row++) {
        const float ci = ((float)row - 512.0f) * scale;
        for (size_t x = 0; x < 1024; x += LANES) {
            Floats cr, zr = {0}, zi = {0};
            for (int l = 0; l < LANES; l++) cr[l] = fmaf((float)(x + (size_t)l), scale, -2.25f);
            Ints steps = {0}, inside = ~(Ints){0};
            for (int n = 0; n < 256; n++) {
                const Floats rr = zr * zr, ii = zi * zi;
                inside &= rr + ii <= 4.0f;
                if (!any(inside)) break;
                steps -= inside;
                zr += zr;
                zi = __builtin_elementwise_fma(zr, zi, ci - (Floats){0});
                zr = rr - ii + cr;
            }
            memcpy(image + row * 1024 + x, &steps, sizeof steps);
        }
    }
}

// A unit is 16 rows. The same tiles as the kernel's.
KERNEL(sgemm) {
    BUFFER(0, const float, a);
    BUFFER(1, const float, b);
    BUFFER(2, float, c);
    const size_t n = scalars[0];
    for (size_t row = 16 * begin; row < 16 * end; row += 16)
        for (size_t column = 0; column < n; column += 16) {
            float sum[16][16] = {0};
            for (size_t tile = 0; tile < n; tile += 16) {
                float tile_a[16][16], tile_b[16][16];
                for (size_t y = 0; y < 16; y++) {
                    memcpy(tile_a[y], a + (row + y) * n + tile, sizeof tile_a[y]);
                    memcpy(tile_b[y], b + (tile + y) * n + column, sizeof tile_b[y]);
                }
                for (size_t y = 0; y < 16; y++)
                    for (size_t k = 0; k < 16; k++)
                        for (size_t x = 0; x < 16; x++) sum[y][x] = fmaf(tile_a[y][k], tile_b[k][x], sum[y][x]);
            }
            for (size_t y = 0; y < 16; y++) memcpy(c + (row + y) * n + column, sum[y], sizeof sum[y]);
        }
}

// Sums of `count` elements each; a unit is one sum. The compiler may add in any order.
static inline void sums(const float *restrict x, float *restrict out, size_t begin, size_t end, size_t count) {
#pragma clang fp reassociate(on)
    for (size_t i = begin; i < end; i++) {
        float sum = 0;
        for (size_t k = 0; k < count; k++) sum += x[i * count + k];
        out[i] = sum;
    }
}

KERNEL(tree) {
    (void)scalars;
    sums(buffers[0], buffers[1], begin, end, 512);
}

KERNEL(shuffle) {
    (void)scalars;
    sums(buffers[0], buffers[1], begin, end, 32);
}

// A unit is 64 KiB, counted without atomics; only adding up the counts has them.
KERNEL(histogram) {
    BUFFER(0, const uint8_t, data);
    BUFFER(1, uint32_t, bins);
    (void)scalars;
    uint32_t counts[256] = {0};
    for (size_t i = begin << 16; i < end << 16; i++) counts[data[i]]++;
    for (int b = 0; b < 256; b++) __atomic_fetch_add(&bins[b], counts[b], __ATOMIC_RELAXED);
}
