// out: list sum 5050
// out: preferred 0 last 0
// out: read mostly 1
// out: cpu -1
// out: attach ok
// out: pointer 3 same 1
// out: linked 100 nodes
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
struct Node { int value; Node* next; };
__global__ void walk(Node* n, int* sum, int* count) { for (; n; n = n->next) { *sum += n->value; ++*count; } }
int main() {
    Node* nodes; int* out; CHECK(cudaMallocManaged(&nodes, 100 * sizeof(Node))); CHECK(cudaMallocManaged(&out, 8, cudaMemAttachHost)); out[0] = out[1] = 0;
    for (int i = 0; i < 100; i++) { nodes[i].value = i + 1; nodes[i].next = i < 99 ? nodes + i + 1 : nullptr; }
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0}; cudaStream_t s; CHECK(cudaStreamCreate(&s));
    CHECK(cudaMemAdvise(nodes, 100 * sizeof(Node), cudaMemAdviseSetReadMostly, gpu)); CHECK(cudaMemAdvise(nodes, 100 * sizeof(Node), cudaMemAdviseSetPreferredLocation, gpu)); CHECK(cudaMemAdvise(nodes, 100 * sizeof(Node), cudaMemAdviseSetAccessedBy, gpu));
    CHECK(cudaMemPrefetchAsync(nodes, 100 * sizeof(Node), gpu, 0, s)); CHECK(cudaStreamAttachMemAsync(s, out, 0, cudaMemAttachGlobal));
    walk<<<1, 1, 0, s>>>(nodes, out, out + 1); CHECK(cudaStreamSynchronize(s)); printf("list sum %d\n", out[0]);
    int pref, last, rm; CHECK(cudaMemRangeGetAttribute(&pref, 4, cudaMemRangeAttributePreferredLocation, nodes, 100 * sizeof(Node))); CHECK(cudaMemRangeGetAttribute(&last, 4, cudaMemRangeAttributeLastPrefetchLocation, nodes, 100 * sizeof(Node))); printf("preferred %d last %d\n", pref, last);
    CHECK(cudaMemRangeGetAttribute(&rm, 4, cudaMemRangeAttributeReadMostly, nodes, 100)); printf("read mostly %d\n", rm);
    CHECK(cudaMemPrefetchAsync(nodes, 100 * sizeof(Node), cpu, 0, s)); CHECK(cudaMemRangeGetAttribute(&last, 4, cudaMemRangeAttributeLastPrefetchLocation, nodes, 100)); printf("cpu %d\n", last); printf("attach ok\n");
    cudaPointerAttributes a; CHECK(cudaPointerGetAttributes(&a, nodes)); printf("pointer %d same %d\n", a.type, a.devicePointer == a.hostPointer); printf("linked %d nodes\n", out[1]);
}
