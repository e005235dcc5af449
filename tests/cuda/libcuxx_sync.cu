// out: ok
#include "compare.h"
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void lat(int* out) {
  __shared__ cuda::latch<cuda::thread_scope_block>* lp; __shared__ alignas(16) char st[sizeof(cuda::latch<cuda::thread_scope_block>)]; __shared__ int sum;
  if (threadIdx.x == 0) { lp = new (st) cuda::latch<cuda::thread_scope_block>(blockDim.x / 2); sum = 0; }
  __syncthreads();
  if (threadIdx.x < blockDim.x / 2) { atomicAdd(&sum, threadIdx.x); lp->count_down(); } else { lp->wait(); out[blockIdx.x * (blockDim.x / 2) + threadIdx.x - blockDim.x / 2] = sum; }
}
__global__ void sem(int* ctr, int* maxs, cuda::counting_semaphore<cuda::thread_scope_device, 3>* s) {
  if (threadIdx.x % 32) return;
  s->acquire();
  int n = atomicAdd(ctr, 1) + 1; atomicMax(maxs, n); __nanosleep(20); atomicSub(ctr, 1);
  s->release(); atomicAdd(maxs + 1, 1);
}
__global__ void bar(const int* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2]; __shared__ int buf[2][32];
  if (threadIdx.x == 0) for (int i = 0; i < 2; i++) { init(&full[i], 64); init(&empty[i], 64); }
  __syncthreads();
  int role = threadIdx.x / 32, l = threadIdx.x % 32;
  if (role == 0) { for (int i = 0; i < 16; i++) { empty[i % 2].arrive_and_wait(); buf[i % 2][l] = in[blockIdx.x * 512 + i * 32 + l] * 2; auto tk = full[i % 2].arrive(); (void)tk; } }
  else { auto t0 = empty[0].arrive(); auto t1 = empty[1].arrive(); (void)t0; (void)t1; int acc = 0;
    for (int i = 0; i < 16; i++) { full[i % 2].arrive_and_wait(); acc += buf[i % 2][31 - l]; if (i < 14) { auto tk = empty[i % 2].arrive(); (void)tk; } } out[blockIdx.x * 32 + l] = acc; }
}
template <int S> __global__ void pipe(const int4* in, int4* out, int n) {
  auto g = cg::this_thread_block(); __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, S> st; __shared__ int4 buf[S][64];
  auto p = cuda::make_pipeline(g, &st); int tiles = n / 64; 
  for (int c = 0, f = 0; c < tiles; c++) {
    for (; f < tiles && f < c + S; f++) { p.producer_acquire(); cuda::memcpy_async(g, buf[f % S], in + (blockIdx.x * tiles + f) * 64, cuda::aligned_size_t<16>(sizeof(int4) * 64), p); p.producer_commit(); }
    p.consumer_wait(); int4 v = buf[c % S][63 - g.thread_rank()]; v.x += c; out[(blockIdx.x * tiles + c) * 64 + g.thread_rank()] = v; p.consumer_release();
  }
}
__global__ void at(cuda::atomic<unsigned long long, cuda::thread_scope_system>* a, cuda::atomic<float>* f, short* sh, int* flag, int* data, unsigned* res, double* dd) {
  a->fetch_add(threadIdx.x, cuda::memory_order_relaxed); a->fetch_max(threadIdx.x);
  f->fetch_add(0.5f, cuda::memory_order_release);
  cuda::atomic_ref<double, cuda::thread_scope_block> rd(*dd); rd.fetch_add(0.25);
  cuda::atomic_ref<short> r16(*sh); r16.fetch_add(1);
  cuda::atomic_ref<int, cuda::thread_scope_device> fl(*flag);
  if (blockIdx.x == 0 && threadIdx.x == 0) { *data = 42; cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device); fl.store(1, cuda::memory_order_relaxed); fl.notify_all(); }
  if (blockIdx.x == 1 && threadIdx.x == 33) { fl.wait(0, cuda::memory_order_acquire); res[0] = *data; }
  unsigned o = 5; cuda::atomic_ref<unsigned> cr(res[1]); do { o = cr.load(); } while (!cr.compare_exchange_weak(o, o * 3 + 1));
}
int main() {
  int* o = zeros<int>(4096); lat<<<3, 256>>>(o); { auto h = down(o, 3 * 128); for (int i = 0; i < 384; i++) eq("latch", i, h[i], 127 * 64); }
  int* c = zeros<int>(4); cuda::counting_semaphore<cuda::thread_scope_device, 3> hs(3); decltype(hs)* ds; CK(cudaMalloc(&ds, sizeof hs)); CK(cudaMemcpy(ds, &hs, sizeof hs, cudaMemcpyHostToDevice));
  sem<<<8, 128>>>(c, c + 1, ds); { auto h = down(c, 3); eq("left", 0, h[0], 0); if (h[1] > 3 || h[1] < 1) eq("max", 0, h[1], 3); eq("n", 0, h[2], 32); }
  std::vector<int> a(4096); for (auto& x : a) x = rnd() % 1000; int* d = up(a);
  bar<<<8, 64>>>(d, o); { auto h = down(o, 256); for (int b = 0; b < 8; b++) for (int l = 0; l < 32; l++) { int s = 0; for (int i = 0; i < 16; i++) s += 2 * a[b * 512 + i * 32 + 31 - l]; eq("bar", l, h[b * 32 + l], s); } }
  int* o2 = zeros<int>(4096); pipe<3><<<2, 64>>>((int4*)d, (int4*)o2, 512); { auto h = down(o2, 4096); for (int t = 0; t < 16; t++) for (int i = 0; i < 64; i++) for (int q = 0; q < 4; q++) eq("pipe", i, h[(t * 64 + i) * 4 + q], a[(t * 64 + 63 - i) * 4 + q] + (q == 0 ? t % 8 : 0)); }
  char* z = zeros<char>(256); unsigned* res = zeros<unsigned>(4);
  at<<<4, 64>>>((cuda::atomic<unsigned long long, cuda::thread_scope_system>*)z, (cuda::atomic<float>*)(z + 8), (short*)(z + 18), (int*)(z + 32), (int*)(z + 36), res, (double*)(z + 64));
  auto hz = down(z, 256); eq("a", 0, *(unsigned long long*)&hz[0] >= 63, true); eq("f", 0, *(float*)&hz[8], 128.f); eq("sh", 0, *(short*)&hz[18], 256); eq("d", 0, *(double*)&hz[64], 64.0);
  auto hr = down(res, 2); eq("msg", 0, hr[0], 42u); unsigned q = 0; for (int i = 0; i < 256; i++) q = q * 3 + 1; eq("cas", 0, hr[1], q);
  DONE();
}
