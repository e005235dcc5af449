// out: device pointer same 1
// out: doubled 0 2 4 1998
// out: twice cudaErrorHostMemoryAlreadyRegistered
// out: unregister cudaSuccess
// out: again cudaErrorHostMemoryNotRegistered
// out: async 1998
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); exit(1); } } while (0)
#include <vector>
__global__ void dbl(int* p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] *= 2; }
int main() {
    std::vector<int> v(1000); for (int i = 0; i < 1000; i++) v[i] = i; CHECK(cudaHostRegister(v.data(), 4000, cudaHostRegisterMapped)); int* d; CHECK(cudaHostGetDevicePointer(&d, v.data(), 0)); printf("device pointer same %d\n", d == v.data()); dbl<<<4, 256>>>(d, 1000); CHECK(cudaDeviceSynchronize()); printf("doubled %d %d %d %d\n", v[0], v[1], v[2], v[999]); printf("twice %s\n", cudaGetErrorName(cudaHostRegister(v.data() + 10, 40, 0)));
    int* o; CHECK(cudaMalloc(&o, 4000)); cudaStream_t s; CHECK(cudaStreamCreate(&s)); CHECK(cudaMemcpyAsync(o, v.data(), 4000, cudaMemcpyHostToDevice, s)); CHECK(cudaStreamSynchronize(s)); printf("unregister %s\n", cudaGetErrorName(cudaHostUnregister(v.data()))); printf("again %s\n", cudaGetErrorName(cudaHostUnregister(v.data()))); cudaGetLastError(); int l; CHECK(cudaMemcpy(&l, o + 999, 4, cudaMemcpyDeviceToHost)); printf("async %d\n", l);
}
