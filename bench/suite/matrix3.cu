#include "suite.h"
// Matrices of 3 by 3 as values: products, inverse and determinant by templates.
template <class T, int N> struct Matrix { T at[N][N]; };
template <class T, int N> HD Matrix<T, N> operator*(Matrix<T, N> p, Matrix<T, N> q) {
    Matrix<T, N> r;
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { T sum = 0; for (int k = 0; k < N; k++) sum += p.at[i][k] * q.at[k][j]; r.at[i][j] = sum; }
    return r;
}
template <class T> HD Matrix<T, 3> inverse(const Matrix<T, 3> &p, T &determinant) {
    auto minor = [&p](int i, int j) {
        int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
        return p.at[a][c] * p.at[b][d] - p.at[a][d] * p.at[b][c];
    };
    determinant = p.at[0][0] * minor(0, 0) + p.at[0][1] * minor(0, 1) + p.at[0][2] * minor(0, 2);
    Matrix<T, 3> r;
    for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) r.at[i][j] = minor(j, i) / determinant;
    return r;
}
template <class T> HD void turned(const T *from, T *to, int m) {
    Matrix<T, 3> p = *(const Matrix<T, 3> *)from, q = p;
    T d;
    for (int k = 0; k < m; k++) q = inverse(p * q, d) * p;
    *(Matrix<T, 3> *)to = q;
}
#ifdef __CUDACC__
KERNEL(matrix3)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    EACH(i, n) turned(a + i * 9, out + i * 9, m);
}
#else
REFERENCE(matrix3)(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, int n, int m) {
    for (int i = 0; i < n; i++) turned(a + i * 9, out + i * 9, m);
}
#endif
