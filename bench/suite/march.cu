#include "suite.h"
// Rays that go forward by the distance to the nearest of two shapes, until they are there.
struct Point { ELEMENT x, y, z; };
HD ELEMENT length(Point p) { return sqrt(p.x * p.x + p.y * p.y + p.z * p.z); }
HD ELEMENT distance(Point p) {
    ELEMENT ball = length(p) - (ELEMENT)0.8;
    ELEMENT ring = sqrt(p.x * p.x + p.z * p.z) - (ELEMENT)1.1;
    ELEMENT torus = sqrt(ring * ring + p.y * p.y) - (ELEMENT)0.15;
    return fmin(ball, torus);
}
HD ELEMENT walk(ELEMENT u, ELEMENT v, int m) {
    Point eye = {u, v, -3}, way = {u / 4, v / 4, 1};
    ELEMENT size = length(way), t = 0;
    way.x /= size; way.y /= size; way.z /= size;
    for (int k = 0; k < m; k++) {
        ELEMENT d = distance(Point{eye.x + way.x * t, eye.y + way.y * t, eye.z + way.z * t});
        if (d < (ELEMENT)0.001) return t;
        t += d;
        if (t > 10) break;
    }
    return -1;
}
#ifdef __CUDACC__
KERNEL(march)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    EACH(i, n) out[i] = walk(a[i], b[i], m);
}
#else
REFERENCE(march)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = walk(a[i], b[i], m);
}
#endif
