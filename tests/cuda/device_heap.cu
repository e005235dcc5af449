// out: nodes 256 sum 32640
// out: aligned 1
// out: assert cudaErrorAssert
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <cassert>
struct N { int v; N* next; }; __device__ N* head; __device__ int lock_;
__global__ void push() { N* n = new N; n->v = blockIdx.x * blockDim.x + threadIdx.x; N* old = head; for (;;) { n->next = old; N* seen = (N*)atomicCAS((unsigned long long*)&head, (unsigned long long)old, (unsigned long long)n); if (seen == old) break; old = seen; } }
__global__ void sum(int* out) { int c = 0, s = 0; while (head) { N* n = head; s += n->v; c++; head = n->next; delete n; } out[0] = c; out[1] = s; void* p = malloc(100); out[2] = ((unsigned long long)p & 15) == 0 && p; free(p); }
__global__ void bad(int x) { assert(x == 1 && "x must be one"); }
int main() { CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20)); push<<<4, 64>>>(); int *d, h[3]; CHECK(cudaMalloc(&d, 12)); sum<<<1, 1>>>(d); CHECK(cudaMemcpy(h, d, 12, cudaMemcpyDeviceToHost)); printf("nodes %d sum %d\n", h[0], h[1]); printf("aligned %d\n", h[2]); bad<<<1, 1>>>(2); printf("assert %s\n", cudaGetErrorName(cudaDeviceSynchronize())); }
