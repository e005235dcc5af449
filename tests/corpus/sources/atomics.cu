// Every atomic function, in global and shared memory, in every scope.
#define ALL(T, name) \
extern "C" __global__ void atomics_##name(T *p, T v, T *out) { \
    __shared__ T s[32]; s[threadIdx.x & 31] = v; __syncthreads(); \
    T r = atomicAdd(p, v); r ^= atomicExch(p + 1, v); r ^= atomicMin(p + 2, v); r ^= atomicMax(p + 3, v); \
    r ^= atomicAnd(p + 4, v); r ^= atomicOr(p + 5, v); r ^= atomicXor(p + 6, v); r ^= atomicCAS(p + 7, v, r); \
    r ^= atomicAdd(&s[1], v); r ^= atomicCAS(&s[2], v, r); r ^= atomicMax(&s[3], v); \
    r ^= atomicAdd_block(p + 8, v); r ^= atomicAdd_system(p + 9, v); r ^= atomicOr_block(p, v); \
    atomicXor(p + 10, v); atomicAdd(p + 11, v); out[threadIdx.x] = r + s[5]; }
ALL(int, int)
ALL(unsigned, unsigned)
ALL(unsigned long long, wide)
extern "C" __global__ void atomics_float(float *f, double *d, unsigned *u, float *out) {
    out[0] = atomicAdd(f, 1.5f); out[1] = (float)atomicAdd(d, 2.5); out[2] = atomicExch(f + 1, 3.0f);
    out[3] = atomicInc(u, 7u); out[4] = atomicDec(u + 1, 7u); atomicSub(u + 2, 3u); atomicAdd(f + 2, 1.0f);
}
extern "C" __global__ void atomics_lock(int *lock, int *sum) {
    bool done = false;
    while (!done) if (atomicCAS(lock, 0, 1) == 0) { *(volatile int *)sum += 1; __threadfence(); atomicExch(lock, 0); done = true; }
    __threadfence_block(); __threadfence_system();
}
