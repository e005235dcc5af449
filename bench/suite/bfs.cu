#include "suite.h"
// Levels of a graph of n nodes by one CTA with frontiers in shared memory; each node has three neighbours.
#define MOST 2048
#ifdef __CUDACC__
KERNEL(bfs)(const unsigned *a, const int *b, int *out, int n, int m) {
    __shared__ int frontier[2][MOST], level[MOST], count[2];
    const unsigned *graph = a + (INDEX)blockIdx.x * 3 * n;
    for (int i = threadIdx.x; i < n; i += BX) level[i] = -1;
    if (threadIdx.x == 0) { count[0] = 1; count[1] = 0; frontier[0][0] = 0; }
    __syncthreads();
    if (threadIdx.x == 0) level[0] = 0;
    __syncthreads();
    int now = 0, depth = 1;
    while (count[now] > 0) {
        for (int i = threadIdx.x; i < count[now]; i += BX) {
            int v = frontier[now][i];
            for (int k = 0; k < 3; k++) {
                int w = graph[3 * v + k] % n;
                if (atomicCAS(&level[w], -1, depth) == -1) frontier[!now][atomicAdd(&count[!now], 1)] = w;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) count[now] = 0;
        now = !now;
        depth++;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += BX) out[(INDEX)blockIdx.x * n + i] = level[i];
}
#else
REFERENCE(bfs)(const unsigned *a, const int *b, int *out, int n, int m) {
    int *queue = (int *)malloc(n * sizeof(int));
    for (int g = 0; g < m; g++, a += 3 * n, out += n) {
        int head = 0, tail = 1;
        for (int i = 0; i < n; i++) out[i] = -1;
        out[queue[0] = 0] = 0;
        for (; head < tail; head++) for (int v = queue[head], k = 0; k < 3; k++) {
            int w = a[3 * v + k] % n;
            if (out[w] < 0) { out[w] = out[v] + 1; queue[tail++] = w; }
        }
    }
    free(queue);
}
#endif
