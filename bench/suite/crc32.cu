#include "suite.h"
// Of m bytes for each thread, by a table in shared memory.
HD unsigned entry(unsigned c) { for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1; return c; }
HD unsigned crc(const unsigned *table, const unsigned char *text, int m) {
    unsigned c = ~0u;
    for (int k = 0; k < m; k++) c = table[(c ^ text[k]) & 255] ^ c >> 8;
    return ~c;
}
#ifdef __CUDACC__
KERNEL(crc32)(const unsigned char *a, const int *b, unsigned *out, int n, int m) {
    __shared__ unsigned table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = entry(i);
    __syncthreads();
    for (INDEX i = FIRST(x); i < (INDEX)n; i += STEP(x)) out[i] = crc(table, a + i * m, m);
}
#else
REFERENCE(crc32)(const unsigned char *a, const int *b, unsigned *out, int n, int m) {
    unsigned table[256];
    for (int i = 0; i < 256; i++) table[i] = entry(i);
    for (int i = 0; i < n; i++) out[i] = crc(table, a + (long)i * m, m);
}
#endif
