#include "suite.h"
// Steps to one, of numbers of 64 bits.
HD int steps(unsigned long long v, int m) {
    int k = 0;
    while (v != 1 && k < m) { v = v & 1 ? 3 * v + 1 : v / 2; k++; }
    return k;
}
#ifdef __CUDACC__
KERNEL(collatz)(const unsigned *a, const int *b, int *out, int n, int m) {
    EACH(i, n) out[i] = steps((a[i] & 0xfffff) + 1, m);
}
#else
REFERENCE(collatz)(const unsigned *a, const int *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = steps((a[i] & 0xfffff) + 1, m);
}
#endif
