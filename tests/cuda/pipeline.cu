// out: all 16 chunks right
// out: order kept: 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <vector>
// Four streams, double-buffered chunks: copy in, two kernels, copy out; a fifth stream joins by events.
__global__ void square(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= x[i]; }
__global__ void shift(float* x, int n, float by) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += by; }
__global__ void total(const float* x, int n, double* out) { double s = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i]; atomicAdd(out, s); }
int main() {
    const int chunks = 16, n = 10000;
    float *in, *out; CHECK(cudaHostAlloc(&in, chunks * n * 4, cudaHostAllocDefault)); CHECK(cudaHostAlloc(&out, chunks * n * 4, cudaHostAllocPortable));
    for (int i = 0; i < chunks * n; i++) in[i] = (float)(i % 37);
    cudaStream_t s[4], join; for (auto& x : s) CHECK(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
    int lo, hi; CHECK(cudaDeviceGetStreamPriorityRange(&lo, &hi)); CHECK(cudaStreamCreateWithPriority(&join, cudaStreamNonBlocking, hi));
    float* d[4]; double* sums; for (auto& x : d) CHECK(cudaMalloc(&x, n * 4)); CHECK(cudaMalloc(&sums, chunks * 8)); CHECK(cudaMemset(sums, 0, chunks * 8));
    std::vector<cudaEvent_t> done(chunks);
    for (int c = 0; c < chunks; c++) {
        int k = c % 4; CHECK(cudaEventCreateWithFlags(&done[c], cudaEventDisableTiming));
        CHECK(cudaMemcpyAsync(d[k], in + c * n, n * 4, cudaMemcpyHostToDevice, s[k]));
        square<<<(n + 255) / 256, 256, 0, s[k]>>>(d[k], n);
        shift<<<7, 96, 0, s[k]>>>(d[k], n, (float)c);
        CHECK(cudaMemcpyAsync(out + c * n, d[k], n * 4, cudaMemcpyDefault, s[k]));
        CHECK(cudaEventRecord(done[c], s[k]));
        CHECK(cudaStreamWaitEvent(join, done[c]));
        total<<<1, 64, 0, join>>>(d[k], n, sums + c);
        cudaEvent_t back; CHECK(cudaEventCreate(&back)); CHECK(cudaEventRecord(back, join)); CHECK(cudaStreamWaitEvent(s[k], back, 0)); CHECK(cudaEventDestroy(back));
    }
    CHECK(cudaStreamSynchronize(join)); CHECK(cudaDeviceSynchronize());
    double host[chunks]; CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int c = 0; c < chunks; c++) { bool ok = true; double sum = 0; for (int i = 0; i < n; i++) { float v = in[c * n + i]; v = v * v + c; sum += v; ok &= out[c * n + i] == v; } right += ok && sum == host[c]; }
    printf("all %d chunks right\n", right);
    bool finished = true; for (auto e : done) finished &= cudaEventQuery(e) == cudaSuccess; printf("order kept: %d\n", finished);
    for (auto e : done) CHECK(cudaEventDestroy(e)); for (auto x : s) CHECK(cudaStreamDestroy(x));
}
