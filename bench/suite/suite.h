// Every kernel of the suite takes the same parameters: two inputs, an output, two numbers. Its reference does the same work as a C programmer would write it.
// What a variant changes is defined on the command line (`bench/src/suite/variants.rs`): the block (BX, BY), the type of elements (ELEMENT) and of
// indices (INDEX), how the end of the data is guarded (GUARD), and whether threads go over the data in steps of the grid (STRIDE).
#pragma once
#include <stdint.h>
#define THREADS (BX * BY)
#ifdef __CUDACC__
#define KERNEL(name) extern "C" __global__ void name
#define HD __device__ static inline
#define FIRST(d) ((INDEX)blockIdx.d * (INDEX)blockDim.d + (INDEX)threadIdx.d)
#define STEP(d) ((INDEX)gridDim.d * (INDEX)blockDim.d)
#if STRIDE
#define EACH(i, n) for (INDEX i = FIRST(x); i < (INDEX)(n); i += STEP(x))
#define EACH_2D(x, y, w, h) \
    for (INDEX y = FIRST(y); y < (INDEX)(h); y += STEP(y)) for (INDEX x = FIRST(x); x < (INDEX)(w); x += STEP(x))
#elif GUARD == 0
#define EACH(i, n) INDEX i = FIRST(x); if (i >= (INDEX)(n)) return;
#define EACH_2D(x, y, w, h) INDEX x = FIRST(x), y = FIRST(y); if (x >= (INDEX)(w) || y >= (INDEX)(h)) return;
#elif GUARD == 1
#define EACH(i, n) INDEX i = FIRST(x); if (i < (INDEX)(n))
#define EACH_2D(x, y, w, h) INDEX x = FIRST(x), y = FIRST(y); if (x < (INDEX)(w)) if (y < (INDEX)(h))
#else
#define EACH(i, n) INDEX i = FIRST(x); if (i < 0 || i > (INDEX)(n) - 1) return;
#define EACH_2D(x, y, w, h) INDEX x = FIRST(x), y = FIRST(y); if (y >= (INDEX)(h)) return; if (x >= (INDEX)(w)) return;
#endif
#else
#include <algorithm>
#include <cmath>
#include <stdlib.h>
#include <string.h>
#define HD static inline
using std::max;
using std::min;
using std::ldexp;
using std::floor;
using std::sqrt;
using std::fmin;
using std::fma;
#endif
#define REFERENCE(name) extern "C" void name##_reference
