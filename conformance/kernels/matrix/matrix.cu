// Whole kernels of matrices: products through mma.sync fed by cp.async and ldmatrix, attention, wmma, cuda::pipeline.
// C (m by n) = A (m by k, rows) * B (n by k, rows of the transposed matrix). All extents are multiples of the tile.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace {
__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void copy16(unsigned to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
__device__ void load4(unsigned (&r)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
__device__ void load4_turned(unsigned (&r)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}

#define PRODUCT_F32(NAME, HEAD)                                                                                     \
    struct NAME {                                                                                                   \
        using Sum = float;                                                                                          \
        static __device__ void add(Sum (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {                 \
            asm volatile(HEAD " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                    \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                           \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                           \
        }                                                                                                           \
    };
#define PRODUCT_S32(NAME, HEAD)                                                                                     \
    struct NAME {                                                                                                   \
        using Sum = int;                                                                                            \
        static __device__ void add(Sum (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {                 \
            asm volatile(HEAD " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                    \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                           \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                           \
        }                                                                                                           \
    };
PRODUCT_F32(F16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
PRODUCT_F32(Bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
PRODUCT_F32(Tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
PRODUCT_F32(E4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
PRODUCT_F32(E5m2, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32")
PRODUCT_S32(S8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
PRODUCT_S32(U8, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32")
PRODUCT_S32(S4, "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")

// Sums in halves: two registers.
struct Half {
    using Sum = unsigned;
    static __device__ void add(Sum (&d)[2], const unsigned (&a)[4], unsigned b0, unsigned b1) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

constexpr int SIDE = 64, BYTES = 64, STAGES = 3;
// 16 bytes of a row of a tile, so that eight rows of one column lie in different banks.
__device__ unsigned place(int row, int chunk) { return row * BYTES + ((chunk ^ (row >> 1 & 3)) << 4); }

// 128 threads make 64 by 64 of C; each warp 32 by 32. `row` is the number of bytes of a row of A and B.
template <class Product, int REGISTERS>
__device__ void product(const char* a, const char* b, typename Product::Sum* c, int n, int row) {
    __shared__ __align__(128) char tiles[STAGES][2][SIDE * BYTES];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    a += size_t(blockIdx.y) * SIDE * row;
    b += size_t(blockIdx.x) * SIDE * row;
    auto fetch = [&](int tile) {
        for (int i = tid; i < SIDE * 4; i += 128) {
            int r = i / 4, chunk = i % 4;
            size_t from = size_t(r) * row + size_t(tile) * BYTES + chunk * 16;
            copy16(shared_address(tiles[tile % STAGES][0]) + place(r, chunk), a + from);
            copy16(shared_address(tiles[tile % STAGES][1]) + place(r, chunk), b + from);
        }
    };
    int count = row / BYTES;
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < count) fetch(i);
        commit();
    }
    typename Product::Sum d[2][4][REGISTERS] = {};
    int y = warp / 2 * 32, x = warp % 2 * 32;
    for (int tile = 0; tile < count; tile++) {
        wait<STAGES - 2>();
        __syncthreads();
        if (tile + STAGES - 1 < count) fetch(tile + STAGES - 1);
        commit();
        unsigned at_a = shared_address(tiles[tile % STAGES][0]), at_b = shared_address(tiles[tile % STAGES][1]);
#pragma unroll
        for (int step = 0; step < 2; step++) {
            unsigned fa[2][4], fb[2][4];
            for (int i = 0; i < 2; i++) {
                load4(fa[i], at_a + place(y + 16 * i + lane % 16, 2 * step + lane / 16));
                load4(fb[i], at_b + place(x + 16 * i + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2));
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) Product::add(d[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
    }
    y += blockIdx.y * SIDE + lane / 4;
    x += blockIdx.x * SIDE + lane % 4 * 2;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int r = 0; r < REGISTERS; r++) {
                size_t line = y + 16 * i, column = x + 8 * j;
                if (REGISTERS == 2) c[((line + 8 * r) * n + column) / 2] = d[i][j][r];
                else c[(line + r / 2 * 8) * n + column + r % 2] = d[i][j][r];
            }
}
}  // namespace

#define GEMM(NAME, PRODUCT, REGISTERS)                                                                              \
    extern "C" __global__ void __launch_bounds__(128) NAME(const char* a, const char* b, PRODUCT::Sum* c, int n, int row) { \
        product<PRODUCT, REGISTERS>(a, b, c, n, row);                                                               \
    }
GEMM(gemm_f16, F16, 4)
GEMM(gemm_f16_half, Half, 2)
GEMM(gemm_bf16, Bf16, 4)
GEMM(gemm_tf32, Tf32, 4)
GEMM(gemm_e4m3, E4m3, 4)
GEMM(gemm_e5m2, E5m2, 4)
GEMM(gemm_s8, S8, 4)
GEMM(gemm_u8, U8, 4)
GEMM(gemm_s4, S4, 4)

// Attention of one head: q, k, v of n by 64 halves, o in f32; each CTA of 4 warps 64 rows of q, a warp 16 of them.
extern "C" __global__ void __launch_bounds__(128) attention_f16(const __half* q, const __half* k, const __half* v, float* o, int n, int causal) {
    __shared__ __align__(128) __half keys[64 * 64], values[64 * 64];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, g = lane / 4, t = lane % 4;
    int first = blockIdx.x * 64 + warp * 16;
    auto at = [](int row, int chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); };
    for (int i = tid; i < 64 * 8; i += 128)
        copy16(shared_address(keys) + at(i / 8, i % 8), q + size_t(blockIdx.x * 64 + i / 8) * 64 + i % 8 * 8);
    commit();
    wait<0>();
    __syncthreads();
    unsigned fq[4][4];
    for (int s = 0; s < 4; s++) load4(fq[s], shared_address(keys) + at(warp * 16 + lane % 16, 2 * s + lane / 16));
    __syncthreads();
    float sums[8][4] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {};
    int tiles = causal ? blockIdx.x + 1 : n / 64;
    for (int tile = 0; tile < tiles; tile++) {
        for (int i = tid; i < 64 * 8; i += 128) {
            size_t from = size_t(tile * 64 + i / 8) * 64 + i % 8 * 8;
            copy16(shared_address(keys) + at(i / 8, i % 8), k + from);
            copy16(shared_address(values) + at(i / 8, i % 8), v + from);
        }
        commit();
        wait<0>();
        __syncthreads();
        float scores[8][4] = {};
        for (int s = 0; s < 4; s++)
            for (int j = 0; j < 4; j++) {
                unsigned fk[4];
                load4(fk, shared_address(keys) + at(16 * j + lane % 8 + lane / 16 * 8, 2 * s + lane / 8 % 2));
                F16::add(scores[2 * j], fq[s], fk[0], fk[1]);
                F16::add(scores[2 * j + 1], fq[s], fk[2], fk[3]);
            }
        float now[2] = {most[0], most[1]};
        for (int j = 0; j < 8; j++)
            for (int r = 0; r < 4; r++) {
                float x = scores[j][r] * 0.18033688f;  // log2(e) / 8
                if (causal && tile * 64 + j * 8 + 2 * t + r % 2 > first + g + r / 2 * 8) x = -INFINITY;
                scores[j][r] = x;
                now[r / 2] = fmaxf(now[r / 2], x);
            }
        float scale[2];
        for (int r = 0; r < 2; r++) {
            now[r] = fmaxf(now[r], __shfl_xor_sync(~0u, now[r], 1));
            now[r] = fmaxf(now[r], __shfl_xor_sync(~0u, now[r], 2));
            scale[r] = exp2f(most[r] - now[r]);
            most[r] = now[r];
            total[r] *= scale[r];
        }
        for (int j = 0; j < 8; j++)
            for (int r = 0; r < 4; r++) {
                scores[j][r] = exp2f(scores[j][r] - now[r / 2]);
                total[r / 2] += scores[j][r];
                sums[j][r] *= scale[r / 2];
            }
        for (int s = 0; s < 4; s++) {
            unsigned fp[4];
            for (int r = 0; r < 4; r++) {
                const float* p = &scores[2 * s + r / 2][r % 2 * 2];
                __half2 two = __floats2half2_rn(p[0], p[1]);
                fp[r] = *reinterpret_cast<unsigned*>(&two);
            }
            for (int j = 0; j < 4; j++) {
                unsigned fv[4];
                load4_turned(fv, shared_address(values) + at(16 * s + lane % 16, 2 * j + lane / 16));
                F16::add(sums[2 * j], fp, fv[0], fv[1]);
                F16::add(sums[2 * j + 1], fp, fv[2], fv[3]);
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; r++) {
        total[r] += __shfl_xor_sync(~0u, total[r], 1);
        total[r] += __shfl_xor_sync(~0u, total[r], 2);
    }
    for (int j = 0; j < 8; j++)
        for (int r = 0; r < 4; r++) o[size_t(first + g + r / 2 * 8) * 64 + j * 8 + 2 * t + r % 2] = sums[j][r] / total[r / 2];
}

// As in the programming guide: wmma from global memory, a warp for each 16 by 16.
extern "C" __global__ void wmma_f16(const __half* a, const __half* b, float* c, int n, int k) {
    using namespace nvcuda::wmma;
    int x = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16, y = blockIdx.y * 16;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        load_matrix_sync(fa, a + size_t(y) * k + i, k);
        load_matrix_sync(fb, b + size_t(x) * k + i, k);
        mma_sync(sum, fa, fb, sum);
    }
    store_matrix_sync(c + size_t(y) * n + x, sum, n, mem_row_major);
}

// wmma of bytes through shared memory, 32 by 8.
extern "C" __global__ void wmma_s8(const signed char* a, const signed char* b, int* c, int n, int k) {
    using namespace nvcuda::wmma;
    __shared__ __align__(32) signed char tile[32 * 64];
    int x = blockIdx.x * 8, y = blockIdx.y * 32;
    fragment<matrix_a, 32, 8, 16, signed char, row_major> fa;
    fragment<matrix_b, 32, 8, 16, signed char, col_major> fb;
    fragment<accumulator, 32, 8, 16, int> sum;
    fill_fragment(sum, 0);
    for (int i = 0; i < k; i += 64) {
        for (int j = threadIdx.x; j < 128; j += 32)
            reinterpret_cast<int4*>(tile)[j] = *reinterpret_cast<const int4*>(a + size_t(y + j / 4) * k + i + j % 4 * 16);
        __syncwarp();
        for (int s = 0; s < 64; s += 16) {
            load_matrix_sync(fa, tile + s, 64);
            load_matrix_sync(fb, b + size_t(x) * k + i + s, k);
            mma_sync(sum, fa, fb, sum);
        }
        __syncwarp();
    }
    store_matrix_sync(c + size_t(y) * n + x, sum, n, mem_row_major);
}

// Two stages of cuda::pipeline feed wmma: 4 warps, 32 by 32 of C.
extern "C" __global__ void __launch_bounds__(128) pipeline_f16(const __half* a, const __half* b, float* c, int n, int k) {
    using namespace nvcuda::wmma;
    constexpr int DEEP = 2;
    __shared__ __align__(128) __half tiles[DEEP][2][32 * 32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, DEEP> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int tid = threadIdx.x, warp = tid / 32, x = blockIdx.x * 32, y = blockIdx.y * 32;
    auto fetch = [&](int tile) {
        pipe.producer_acquire();
        int row = tid / 4, chunk = tid % 4 * 8;
        cuda::memcpy_async(&tiles[tile % DEEP][0][row * 32 + chunk], a + size_t(y + row) * k + tile * 32 + chunk, cuda::aligned_size_t<16>(16), pipe);
        cuda::memcpy_async(&tiles[tile % DEEP][1][row * 32 + chunk], b + size_t(x + row) * k + tile * 32 + chunk, cuda::aligned_size_t<16>(16), pipe);
        pipe.producer_commit();
    };
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    int count = k / 32;
    fetch(0);
    for (int tile = 0; tile < count; tile++) {
        if (tile + 1 < count) fetch(tile + 1);
        pipe.consumer_wait();
        for (int s = 0; s < 32; s += 16) {
            load_matrix_sync(fa, &tiles[tile % DEEP][0][warp / 2 * 16 * 32 + s], 32);
            load_matrix_sync(fb, &tiles[tile % DEEP][1][warp % 2 * 16 * 32 + s], 32);
            mma_sync(sum, fa, fb, sum);
        }
        pipe.consumer_release();
    }
    store_matrix_sync(c + size_t(y + warp / 2 * 16) * n + x + warp % 2 * 16, sum, n, mem_row_major);
}

// A producer warp and three consumers with bulk copies and mbarriers: sums of rows of `row` floats, one CTA.
extern "C" __global__ void __launch_bounds__(128) bulk_rows(const float* in, float* out, int rows, int row) {
    __shared__ __align__(128) float stage[4][256];
    __shared__ unsigned long long full[4], empty[4];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; i++) {
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&full[i])), "r"(1) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&empty[i])), "r"(32) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    auto wait_for = [](unsigned long long* at, unsigned parity) {
        asm volatile("{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again; }"
                     ::"r"(shared_address(at)), "r"(parity) : "memory");
    };
    if (warp == 0) {
        if (lane == 0)
            for (int i = 0; i < rows; i++) {
                int s = i % 4;
                wait_for(&empty[s], (i / 4 & 1) ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&full[s])), "r"(row * 4) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                             ::"r"(shared_address(stage[s])), "l"(in + size_t(blockIdx.x * rows + i) * row), "r"(row * 4), "r"(shared_address(&full[s])) : "memory");
            }
        return;
    }
    for (int i = 0; i < rows; i++) {
        int s = i % 4;
        if (i % 3 != warp - 1) continue;
        wait_for(&full[s], i / 4 & 1);
        float sum = 0;
        for (int j = lane; j < row; j += 32) sum += stage[s][j];
        for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
        if (lane == 0) out[blockIdx.x * rows + i] = sum;
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(&empty[s])) : "memory");
    }
}
