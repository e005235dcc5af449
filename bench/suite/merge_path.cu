#include "suite.h"
// Merges two sorted lists: each thread finds its diagonal by bisection and merges eight.
HD unsigned in_order(const unsigned *a, int i) { return 4u * i + (a[i] & 3); }
#ifdef __CUDACC__
KERNEL(merge_path)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    EACH(i, n / 4) {
        int diagonal = i * 8, lo = max(0, diagonal - n), hi = min(diagonal, n);
        while (lo < hi) {
            int mid = (lo + hi) >> 1;
            if (in_order(a, mid) <= in_order(b, diagonal - 1 - mid)) lo = mid + 1; else hi = mid;
        }
        int x = lo, y = diagonal - lo;
        for (int k = 0; k < 8; k++) {
            bool first = y >= n || (x < n && in_order(a, x) <= in_order(b, y));
            out[diagonal + k] = first ? in_order(a, x++) : in_order(b, y++);
        }
    }
}
#else
REFERENCE(merge_path)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int x = 0, y = 0; x < n || y < n;) {
        bool first = y >= n || (x < n && in_order(a, x) <= in_order(b, y));
        out[x + y] = first ? in_order(a, x) : in_order(b, y);
        if (first) x++; else y++;
    }
}
#endif
