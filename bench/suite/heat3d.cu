#include "suite.h"
// Seven points in three dimensions: a thread goes down a column. The planes are n by n, m of them.
#ifdef __CUDACC__
KERNEL(heat3d)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    EACH_2D(x, y, n, n) if (x > 0 && x + 1 < n && y > 0 && y + 1 < n) {
        INDEX plane = (INDEX)n * n, at = y * n + x + plane;
        ELEMENT below = a[at - plane], here = a[at];
        for (int z = 1; z < m - 1; z++, at += plane) {
            ELEMENT above = a[at + plane];
            out[at] = here + (ELEMENT)0.125 * (((above + below) + (a[at - 1] + a[at + 1])) + ((a[at - n] + a[at + n]) - 6 * here));
            below = here; here = above;
        }
    }
}
#else
REFERENCE(heat3d)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    long p = (long)n * n;
    for (int z = 1; z < m - 1; z++) for (int y = 1; y < n - 1; y++) for (int x = 1; x < n - 1; x++) {
        const ELEMENT *c = a + z * p + y * n + x;
        out[z * p + y * n + x] = *c + (ELEMENT)0.125 * (((c[p] + c[-p]) + (c[-1] + c[1])) + ((c[-n] + c[n]) - 6 * *c));
    }
}
#endif
