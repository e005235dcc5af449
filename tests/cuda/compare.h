// What programs that compare with the host share: checks of calls, counts of differences, copies up and down.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <cmath>
#include <vector>
#include <algorithm>
#include <numeric>
#include <map>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("FAIL %s:%d %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e_)); exit(2); } } while (0)
static int bad_ = 0;
template <class A, class B> static void eq(const char* w, size_t i, A a, B b) { if (!(a == (A)b)) { if (bad_++ < 8) printf("BAD %s[%zu]: %.17g want %.17g\n", w, i, (double)a, (double)b); } }
static void near_(const char* w, size_t i, double a, double b, double t) { if (!(fabs(a - b) <= t * (1 + fabs(b)))) { if (bad_++ < 8) printf("BAD %s[%zu]: %.17g want %.17g\n", w, i, a, b); } }
#define DONE() do { CK(cudaDeviceSynchronize()); printf(bad_ ? "WRONG %d\n" : "ok\n", bad_); return bad_ != 0; } while (0)
template <class T> T* up(const std::vector<T>& v) { T* p; CK(cudaMalloc(&p, v.size() * sizeof(T) + 16)); CK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
template <class T> std::vector<T> down(const T* p, size_t n) { std::vector<T> v(n); CK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
template <class T> T* zeros(size_t n) { T* p; CK(cudaMalloc(&p, n * sizeof(T))); CK(cudaMemset(p, 0, n * sizeof(T))); return p; }
static inline uint32_t rnd() { static uint64_t s = 88172645463325252ull; s ^= s << 13; s ^= s >> 7; s ^= s << 17; return (uint32_t)(s >> 16); }
