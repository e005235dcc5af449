#include "suite.h"
// Keys into a table in shared memory by compare and swap, linear probing; how many different ones each part has, and each key's count.
#define SLOTS 4096
#ifdef __CUDACC__
KERNEL(hash_table)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    __shared__ unsigned keys[SLOTS];
    __shared__ unsigned different;
    a += (INDEX)blockIdx.x * n; out += (INDEX)blockIdx.x * (n + 1);
    for (int i = threadIdx.x; i < SLOTS; i += BX) { keys[i] = ~0u; }
    if (threadIdx.x == 0) different = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += BX) {
        unsigned key = a[i] >> 22, slot = key * 2654435761u >> 20;
        for (;;) {
            unsigned seen = atomicCAS(&keys[slot], ~0u, key);
            if (seen == ~0u) atomicAdd(&different, 1u);
            if (seen == ~0u || seen == key) break;
            slot = (slot + 1) % SLOTS;
        }
        atomicAdd(&out[1 + key], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) out[0] = different;
}
#else
REFERENCE(hash_table)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int p = 0; p < m; p++, a += n, out += n + 1) for (int i = 0; i < n; i++) if (out[1 + (a[i] >> 22)]++ == 0) out[0]++;
}
#endif
