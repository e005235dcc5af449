#include "suite.h"
// Paths of a price by a linear congruential generator, in double precision, and what they are worth on average in each thread.
HD double worth(uint64_t seed, int m) {
    double sum = 0;
    for (int path = 0; path < 8; path++) {
        double price = 100;
        for (int k = 0; k < m; k++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            price *= 1 + ((double)(seed >> 11) * 0x1p-53 - 0.5) * 0.1;
        }
        sum += price > 100 ? price - 100 : 0;
    }
    return sum / 8;
}
#ifdef __CUDACC__
KERNEL(monte_carlo)(const uint64_t *a, const int *b, double *out, int n, int m) {
    EACH(i, n) out[i] = worth(a[i], m);
}
#else
REFERENCE(monte_carlo)(const uint64_t *a, const int *b, double *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = worth(a[i], m);
}
#endif
