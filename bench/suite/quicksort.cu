#include "suite.h"
// Sixteen numbers to a thread, sorted by a function that calls itself.
#ifdef __CUDACC__
#define FUNCTION __device__ __noinline__
#else
#define FUNCTION static
#endif
FUNCTION void sort(ELEMENT *v, int from, int to) {
    if (to - from < 2) return;
    ELEMENT pivot = v[(from + to) / 2];
    int i = from, j = to - 1;
    while (i <= j) {
        while (v[i] < pivot) i++;
        while (v[j] > pivot) j--;
        if (i <= j) { ELEMENT t = v[i]; v[i++] = v[j]; v[j--] = t; }
    }
    sort(v, from, j + 1);
    sort(v, i, to);
}
#ifdef __CUDACC__
KERNEL(quicksort)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    EACH(i, n) {
        ELEMENT v[16];
        for (int k = 0; k < 16; k++) v[k] = a[i * 16 + k];
        sort(v, 0, 16);
        for (int k = 0; k < 16; k++) out[i * 16 + k] = v[k];
    }
}
#else
REFERENCE(quicksort)(const ELEMENT *a, const int *b, ELEMENT *out, int n, int m) {
    memcpy(out, a, n * 16 * sizeof *a);
    for (int i = 0; i < n; i++) sort(out + i * 16, 0, 16);
}
#endif
