// Hashes and checksums, a table, and xorshift.
__device__ unsigned mix(unsigned h) { h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; return h ^ h >> 16; }
extern "C" __global__ void hash_murmur(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { unsigned h = i; for (int k = 0; k < 4; k++) { unsigned v = in[i * 4 + k] * 0xcc9e2d51u; h ^= __funnelshift_l(v, v, 15) * 0x1b873593u; h = __funnelshift_l(h, h, 13) * 5 + 0xe6546b64u; } out[i] = mix(h); }
}
__constant__ unsigned table[256];
extern "C" __global__ void hash_crc(const unsigned char *in, unsigned *out, int len) {
    unsigned c = ~0u;
    const unsigned char *p = in + (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * len;
    for (int i = 0; i < len; i++) c = table[(c ^ p[i]) & 255] ^ c >> 8;
    out[blockIdx.x * blockDim.x + threadIdx.x] = ~c;
}
extern "C" __global__ void hash_insert(unsigned long long *slots, const unsigned *keys, int n, unsigned size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned at = mix(keys[i]) % size;
    unsigned long long want = (unsigned long long)keys[i] << 32 | i;
    while (atomicCAS(&slots[at], ~0ull, want) != ~0ull) at = at + 1 == size ? 0 : at + 1;
}
extern "C" __global__ void hash_sha(const unsigned *in, unsigned *out) {
    unsigned a = in[0], b = in[1], c = in[2], e = in[3], w[16];
    for (int i = 0; i < 16; i++) w[i] = __byte_perm(in[i + 4], 0, 0x0123);
    for (int i = 0; i < 64; i++) {
        unsigned s = __funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11) ^ __funnelshift_r(e, e, 25);
        unsigned t = s + ((e & a) ^ (~e & b)) + w[i & 15];
        w[i & 15] += t; c = b; b = a; a = t + (__funnelshift_r(a, a, 2) ^ (a & b | c)); e += t;
    }
    out[threadIdx.x] = a + b + c + e;
}
