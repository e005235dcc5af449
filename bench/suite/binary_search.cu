#include "suite.h"
#ifdef __CUDACC__
KERNEL(binary_search)(const int *a, const int *b, int *out, int n, int m) {
    EACH(i, n) {
        int key = a[i] & 0xfffff;
        INDEX lo = 0, hi = m;
        while (lo < hi) { INDEX mid = (lo + hi) / 2; if ((b[mid] & 1) + (int)mid * 4 < key) lo = mid + 1; else hi = mid; }
        out[i] = lo;
    }
}
#else
REFERENCE(binary_search)(const int *a, const int *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        int key = a[i] & 0xfffff, lo = 0, hi = m;
        while (lo < hi) { int mid = (lo + hi) / 2; if ((b[mid] & 1) + mid * 4 < key) lo = mid + 1; else hi = mid; }
        out[i] = lo;
    }
}
#endif
