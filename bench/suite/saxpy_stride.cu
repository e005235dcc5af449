#include "suite.h"
#ifdef __CUDACC__
KERNEL(saxpy_stride)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (INDEX i = FIRST(x); i < (INDEX)n; i += STEP(x)) out[i] = fma((ELEMENT)2.5, a[i], b[i]);
}
#else
REFERENCE(saxpy_stride)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = fma((ELEMENT)2.5, a[i], b[i]);
}
#endif
