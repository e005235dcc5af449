// Kernels in C for clang's own back end: `clang --target=nvptx64-nvidia-cuda`, and LLVM's `llc` from the IR between them. No header of CUDA is needed.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef unsigned char uchar4 __attribute__((ext_vector_type(4)));

#define KERNEL __attribute__((nvptx_kernel))
#define SHARED __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))

#define TID __nvvm_read_ptx_sreg_tid_x()
#define CTA __nvvm_read_ptx_sreg_ctaid_x()
#define THREADS __nvvm_read_ptx_sreg_ntid_x()
#define CTAS __nvvm_read_ptx_sreg_nctaid_x()

KERNEL void clang_saxpy(float *y, const float *x, float a, int n) {
    for (int i = CTA * THREADS + TID; i < n; i += THREADS * CTAS)
        y[i] = a * x[i] + y[i];
}

KERNEL void clang_vectors(float4 *out, const float4 *in, const uchar4 *bytes) {
    int i = CTA * THREADS + TID;
    float4 v = in[i], w = v.wzyx * 2.0f + v;
    uchar4 b = bytes[i];
    w.x += (float)(b.x + b.w);
    w.y -= (float)(b.y ^ b.z);
    out[i] = v.x > 0.0f ? w : -w;
}

static SHARED float tile[256];

KERNEL void clang_reduce(float *out, const float *in) {
    int t = TID;
    tile[t] = in[CTA * 256 + t];
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d)
            tile[t] += tile[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[CTA] = tile[0];
}

static const CONSTANT u32 rounds[8] = {0x9e3779b9, 0x7f4a7c15, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f, 0x165667b1, 0xd3a2646c, 0xfd7046c5};

KERNEL void clang_hash(u32 *out, const u32 *in, int words) {
    int i = CTA * THREADS + TID;
    u32 h = 0x811c9dc5;
    u64 sum = i;
    for (int k = 0; k < words; k++) {
        u32 w = in[(i * 7 + k) & 255];
        h = (h ^ w) * rounds[k & 7];
        h = h << 13 | h >> 19;
        sum += (u64)w * h;
        if (w & 1)
            continue;
        h += __builtin_popcount(w) + __builtin_clz(w | 1) + __builtin_ctz(w | 0x80000000);
        if ((w & 63) == 62)
            break;
    }
    out[i] = h ^ (u32)(sum >> 32) ^ (u32)sum;
}

struct node {
    int key;
    short left, right;
    double weight;
};

static double walk(const struct node *nodes, int at, int key, int depth) {
    if (at < 0 || depth == 0)
        return 0.0;
    struct node n = nodes[at];
    if (n.key == key)
        return n.weight;
    return n.weight * 0.5 + walk(nodes, key < n.key ? n.left : n.right, key, depth - 1);
}

KERNEL void clang_tree(double *out, const int *keys, int n) {
    struct node nodes[16];
    for (int k = 0; k < 16; k++) {
        nodes[k].key = keys[k];
        nodes[k].left = 2 * k + 1 < 16 ? 2 * k + 1 : -1;
        nodes[k].right = 2 * k + 2 < 16 ? 2 * k + 2 : -1;
        nodes[k].weight = k + keys[k] * 0.25;
    }
    int i = CTA * THREADS + TID;
    out[i] = walk(nodes, 0, keys[i % n], 6);
}

typedef int (*operation)(int, int);
static int add(int a, int b) { return a + b; }
static int subtract(int a, int b) { return a - b; }
static int scale(int a, int b) { return a * b; }
static int divide(int a, int b) { return b ? a / b : a; }

KERNEL void clang_pointers(int *out, const int *in) {
    operation table[4] = {add, subtract, scale, divide};
    int i = CTA * THREADS + TID;
    int a = in[i], b = in[i + 1];
    for (int k = 0; k < 3; k++)
        a = table[(a ^ k) & 3](a, b);
    out[i] = a;
}

KERNEL void clang_switch(int *out, const int *in) {
    int i = CTA * THREADS + TID, a = in[i], r = 0;
    for (int k = 0; k < 8; k++) {
        switch ((a >> k * 4) & 15) {
        case 0: r += 3; break;
        case 1: r ^= 0x55; // fall through
        case 2: r <<= 1; break;
        case 3: goto done;
        case 4: r -= a; break;
        case 5: r = r * r; break;
        case 6: r = ~r; break;
        case 7: r >>= 3; break;
        case 8: r += k; break;
        default: r = (r << 5) - r; continue;
        }
        r += 1;
    }
done:
    out[i] = r;
}

KERNEL void clang_matrix(double *c, const double *a, const double *b, int n) {
    int i = CTA, j = TID;
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

static SHARED u32 bins[32];

KERNEL void clang_histogram(u32 *out, const unsigned char *in, int n) {
    if (TID < 32)
        bins[TID] = 0;
    __syncthreads();
    for (int i = CTA * THREADS + TID; i < n; i += THREADS * CTAS)
        __nvvm_atom_add_gen_i((int *)(u32 *)&bins[in[i] & 31], 1);
    __syncthreads();
    if (TID < 32)
        __nvvm_atom_add_gen_i((int *)&out[TID], bins[TID]);
}

KERNEL void clang_half(_Float16 *out, const _Float16 *in, const short *ints) {
    int i = CTA * THREADS + TID;
    _Float16 x = in[i], y = in[i + 1];
    _Float16 r = x * y + (_Float16)ints[i];
    if (x < y)
        r = r - x / (_Float16)3.0f;
    out[i] = r;
}
