// out: cudaErrorAssert
#include <cassert>
#include <cstdio>
__global__ void k(int x) { assert(x == 1); }
int main() { k<<<1, 32>>>(2); printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize())); }
