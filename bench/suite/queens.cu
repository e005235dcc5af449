#include "suite.h"
// How many ways to put m queens on a board with the first two rows given: a search with a stack of one's own.
HD int search(int m, unsigned columns, unsigned left, unsigned right) {
    unsigned all = (1u << m) - 1, free[16], c[16], l[16], r[16];
    int row = 0, count = 0;
    c[0] = columns; l[0] = left; r[0] = right; free[0] = all & ~(columns | left | right);
    while (row >= 0) {
        if (!free[row]) { row--; continue; }
        unsigned bit = free[row] & (0u - free[row]);
        free[row] ^= bit;
        unsigned nc = c[row] | bit, nl = (l[row] | bit) << 1, nr = (r[row] | bit) >> 1;
        if (nc == all) { count++; continue; }
        row++;
        c[row] = nc; l[row] = nl; r[row] = nr; free[row] = all & ~(nc | nl | nr);
    }
    return count;
}
HD int below(int i, int m) {
    int x = i % m, y = i / m % m;
    if (x == y || x == y + 1 || x + 1 == y) return 0;
    return search(m, 1u << x | 1u << y, 1u << x << 2 | 1u << y << 1, 1u << x >> 2 | 1u << y >> 1);
}
#ifdef __CUDACC__
KERNEL(queens)(const int *a, const int *b, int *out, int n, int m) {
    EACH(i, n) out[i] = below(i, m);
}
#else
REFERENCE(queens)(const int *a, const int *b, int *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = below(i, m);
}
#endif
