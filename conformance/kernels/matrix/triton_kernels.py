import triton, triton.language as tl
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget

@triton.jit
def tr_matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    nn = tl.cdiv(N, BN)
    m, n = pid // nn, pid % nn
    rm = (m * BM + tl.arange(0, BM)) % M
    rn = (n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * sbk
    om = m * BM + tl.arange(0, BM)
    on = n * BN + tl.arange(0, BN)
    tl.store(c + om[:, None] * scm + on[None, :], acc.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))

@triton.jit
def tr_attention(q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    first = tl.program_id(0) * BM
    rm = first + tl.arange(0, BM)
    rd = tl.arange(0, D)
    qs = tl.load(q + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, first + BM, BN):
        rn = start + tl.arange(0, BN)
        ks = tl.load(k + rn[None, :] * D + rd[:, None])
        s = tl.dot(qs, ks) * scale
        s = tl.where(rm[:, None] >= rn[None, :], s, float("-inf"))
        now = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        alpha = tl.exp2(m - now)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        vs = tl.load(v + rn[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), vs, acc)
        m = now
    tl.store(o + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))

@triton.jit
def tr_layernorm(x, y, w, b, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < N
    v = tl.load(x + row * stride + i, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / N
    d = tl.where(mask, v - mean, 0.0)
    var = tl.sum(d * d, 0) / N
    r = 1 / tl.sqrt(var + eps)
    out = d * r * tl.load(w + i, mask=mask) + tl.load(b + i, mask=mask)
    tl.store(y + row * stride + i, out, mask=mask)

t = GPUTarget("cuda", 80, 32)
def go(fn, sig, consts, al, name, **opt):
    attrs = {(i,): [["tt.divisibility", 16]] for i in al}
    src = ASTSource(fn, signature={**sig, **{k: "constexpr" for k in consts}}, constexprs={(fn.arg_names.index(k),): v for k, v in consts.items()}, attrs=attrs)
    out = triton.compile(src, target=t, options=opt)
    open(name + ".ptx", "w").write(out.asm["ptx"])
    print(name, out.metadata.num_warps, out.metadata.shared, [p for p in out.asm["ptx"].splitlines() if ".param" in p and ".entry" not in p])
    print(sorted({l.split()[0] for l in out.asm["ptx"].splitlines() if l.strip().startswith(("mma", "ldmatrix", "cp.async"))}))
p = "*fp16"
go(tr_matmul, dict(a=p, b=p, c=p, M="i32", N="i32", K="i32", sam="i32", sbk="i32", scm="i32"), dict(BM=64, BN=64, BK=32), range(9), "triton_matmul", num_warps=4, num_stages=3)
go(tr_matmul, dict(a="*fp8e5", b="*fp8e5", c=p, M="i32", N="i32", K="i32", sam="i32", sbk="i32", scm="i32"), dict(BM=64, BN=64, BK=64), range(9), "triton_matmul_fp8", num_warps=4, num_stages=2)
go(tr_matmul, dict(a="*fp32", b="*fp32", c=p, M="i32", N="i32", K="i32", sam="i32", sbk="i32", scm="i32"), dict(BM=64, BN=64, BK=32), range(9), "triton_matmul_tf32", num_warps=4, num_stages=3)
go(tr_attention, dict(q=p, k=p, v=p, o=p, n="i32", scale="fp32"), dict(BM=64, BN=32, D=64), [0, 1, 2, 3, 4], "triton_attention", num_warps=4, num_stages=2)
go(tr_layernorm, dict(x=p, y=p, w="*fp32", b="*fp32", stride="i32", N="i32", eps="fp32"), dict(BLOCK=1024), [0, 1, 2, 3, 4], "triton_layernorm", num_warps=4)
