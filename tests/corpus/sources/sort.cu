// Bitonic and odd-even sorting, and a radix pass.
extern "C" __global__ void sort_bitonic(unsigned *data) {
    __shared__ unsigned s[512];
    unsigned t = threadIdx.x;
    s[t] = data[blockIdx.x * 512 + t];
    s[t + 256] = data[blockIdx.x * 512 + t + 256];
    for (unsigned k = 2; k <= 512; k *= 2)
        for (unsigned j = k / 2; j; j /= 2) {
            __syncthreads();
            unsigned a = 2 * j * (t / j) + t % j, b = a + j;
            bool up = (a & k) == 0;
            if ((s[a] > s[b]) == up) { unsigned x = s[a]; s[a] = s[b]; s[b] = x; }
        }
    __syncthreads();
    data[blockIdx.x * 512 + t] = s[t];
    data[blockIdx.x * 512 + t + 256] = s[t + 256];
}
extern "C" __global__ void sort_radix_pass(const unsigned *in, unsigned *out, int bit, int n) {
    __shared__ int zeros;
    __shared__ int place[256];
    int t = threadIdx.x;
    unsigned v = t < n ? in[t] : ~0u;
    int one = v >> bit & 1;
    place[t] = !one;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int x = t >= d ? place[t - d] : 0;
        __syncthreads();
        place[t] += x;
        __syncthreads();
    }
    if (t == 255) zeros = place[255];
    __syncthreads();
    int at = one ? zeros + t - place[t] : place[t] - 1;
    if (at < n) out[at] = v;
}
