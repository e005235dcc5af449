// Numbers of 128 bits on the device and on the host: nvcc divides them with sums and differences that share the carry flag.
//
// out: 4096 of 4096 right
// out: 32! = 263130836933693530167218012160000000
#include <cstdio>
#include <vector>

typedef __int128 Wide;
typedef unsigned __int128 Unsigned;

struct Results {
    Wide sum, product, quotient, rest, left, right;
    Unsigned unsigned_quotient, unsigned_rest;
    int less;
};

__host__ __device__ Results all(Wide a, Wide b) {
    int by = (int)b & 127;
    return {(Wide)((Unsigned)a + (Unsigned)b),
            (Wide)((Unsigned)a * (Unsigned)b),
            a / b,
            a % b,
            (Wide)((Unsigned)a << by),
            a >> by,
            (Unsigned)a / (Unsigned)b,
            (Unsigned)a % (Unsigned)b,
            a < b};
}

__host__ __device__ bool same(const Results &x, const Results &y) {
    return x.sum == y.sum && x.product == y.product && x.quotient == y.quotient && x.rest == y.rest &&
           x.left == y.left && x.right == y.right && x.unsigned_quotient == y.unsigned_quotient &&
           x.unsigned_rest == y.unsigned_rest && x.less == y.less;
}

__global__ void compute(const Wide *a, const Wide *b, Results *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = all(a[i], b[i]);
}

__device__ __noinline__ Wide factorial(int n) { return n < 2 ? (Wide)1 : n * factorial(n - 1); }

__global__ void factorials(Wide *out) { out[threadIdx.x] = factorial(threadIdx.x); }

static unsigned long long state = 88172645463325252ull;

static unsigned long long random_bits() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

// As many bits as it happens, of either sign.
static Wide random_wide() {
    Unsigned bits = (Unsigned)random_bits() << 64 | random_bits();
    bits >>= random_bits() % 127;
    return random_bits() % 2 ? (Wide)bits : -(Wide)bits;
}

int main() {
    const int n = 4096;
    std::vector<Wide> a(n), b(n);
    for (int i = 0; i < n; i++) {
        a[i] = random_wide();
        b[i] = random_wide();
        if (b[i] == 0) b[i] = 3;
    }
    Wide *da, *db;
    Results *dout;
    cudaMalloc(&da, n * sizeof(Wide));
    cudaMalloc(&db, n * sizeof(Wide));
    cudaMalloc(&dout, n * sizeof(Results));
    cudaMemcpy(da, a.data(), n * sizeof(Wide), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), n * sizeof(Wide), cudaMemcpyHostToDevice);
    compute<<<n / 128, 128>>>(da, db, dout, n);
    std::vector<Results> out(n);
    cudaMemcpy(out.data(), dout, n * sizeof(Results), cudaMemcpyDeviceToHost);
    int right = 0;
    for (int i = 0; i < n; i++) right += same(out[i], all(a[i], b[i]));
    printf("%d of %d right\n", right, n);

    factorials<<<1, 33>>>(da);
    Wide last;
    cudaMemcpy(&last, da + 32, sizeof last, cudaMemcpyDeviceToHost);
    char digits[48];
    int at = 47;
    digits[at] = 0;
    for (; last > 0; last /= 10) digits[--at] = '0' + (int)(last % 10);
    printf("32! = %s\n", digits + at);
}
