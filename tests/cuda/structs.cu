// out: 6 1.5 9
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

struct Small { char c; double d; short s[3]; };
__global__ void k(Small in, Small* out) { out->c = in.c + 1; out->d = in.d * 0.5; out->s[2] = in.s[0] + in.s[1]; }
int main() { Small in = {5, 3.0, {4, 5, 0}}, *out; CHECK(cudaMallocManaged(&out, sizeof(Small))); k<<<1, 1>>>(in, out); CHECK(cudaDeviceSynchronize()); printf("%d %.1f %d\n", out->c, out->d, out->s[2]); }
