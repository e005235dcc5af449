// The kernels in OpenCL, thread for thread those of the PTX files: buffers first, then scalars.
// What OpenCL 1.2 cannot say is left out: shuffles, and halves on most CPUs.
#pragma OPENCL FP_CONTRACT OFF

kernel void saxpy(global const float *x, global float *y, float a, uint n) {
    uint i = get_global_id(0);
    if (i < n) y[i] = fma(a, x[i], y[i]);
}

uint absolute_differences(uint a, uint b) {
    uchar4 d = abs_diff(as_uchar4(a), as_uchar4(b));
    return (uint)d.x + d.y + d.z + d.w;
}

kernel void sad(global const uint *a, global const uint *b, global uint *c) {
    uint i = get_global_id(0);
    c[i] += absolute_differences(a[i], b[i]);
}

kernel void sad_window(global const uint *a, global const uint *b, global uint *c) {
    uint i = get_global_id(0), sum = 0;
    for (uint k = 0; k < 16; k++) sum += absolute_differences(a[i + k], b[i + k]);
    c[i] = sum;
}

kernel void vmad(global const int *x, global int *y, uint q, uint m) {
    uint i = get_global_id(0);
    int v = x[i], odd = v | 1;
    for (uint k = 0; k < 64; k++) {
        long t = ((long)v * odd + (int)(q + k)) >> 15;
        v = (int)((uint)clamp(t, (long)INT_MIN, (long)INT_MAX) ^ m);
    }
    y[i] = v;
}

kernel void horner(global const float *x, global float *y, constant float *c) {
    uint i = get_global_id(0);
    float t = x[i], v = c[0];
    for (int k = 1; k <= 64; k++) v = fma(v, t, c[k]);
    y[i] = v;
}

kernel void mandelbrot(global uint *image, float scale) {
    uint x = get_global_id(0), y = get_global_id(1), steps = 0;
    float cr = fma((float)x, scale, -2.25f), ci = ((float)y - 512.0f) * scale, zr = 0, zi = 0;
    do {
        float rr = zr * zr, ii = zi * zi;
        if (rr + ii > 4.0f) break;
        zi = fma(zr + zr, zi, ci);
        zr = rr - ii + cr;
    } while (++steps < 256);
    image[y * 1024 + x] = steps;
}

kernel void sgemm(global const float *a, global const float *b, global float *c, uint n) {
    local float tile_a[16][16], tile_b[16][16];
    uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (uint tile = 0; tile < n; tile += 16) {
        tile_a[y][x] = a[row * n + tile + x];
        tile_b[y][x] = b[(tile + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 16; k++) sum = fma(tile_a[y][k], tile_b[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

kernel void tree(global const float *x, global float *out) {
    local float partial[512];
    uint t = get_local_id(0);
    partial[t] = x[get_global_id(0)];
    for (uint half_of_them = 256; half_of_them > 0; half_of_them >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < half_of_them) partial[t] += partial[t + half_of_them];
    }
    if (t == 0) out[get_group_id(0)] = partial[0];
}

kernel void histogram(global const uint *data, volatile global uint *bins) {
    local volatile uint counts[256];
    uint t = get_local_id(0), i = get_group_id(0) * 16384 + t;
    counts[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 64; k++, i += 256) {
        uint word = data[i];
        atomic_inc(&counts[word & 255]);
        atomic_inc(&counts[word >> 8 & 255]);
        atomic_inc(&counts[word >> 16 & 255]);
        atomic_inc(&counts[word >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[t], counts[t]);
}
