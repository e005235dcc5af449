"""PTX that Triton makes of a few kernels: `triton_kernels.py FOLDER`."""

import os
import pathlib
import sys

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def layer_norm(x, w, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(i < n, v - mean, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(out + row * n + i, d * r * tl.load(w + i, mask=i < n), mask=i < n)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    kk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for s in range(0, k, BK):
        x = tl.load(a + i[:, None] * k + (s + kk)[None, :])
        y = tl.load(b + (s + kk)[:, None] * n + j[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * n + j[None, :], acc)


@triton.jit
def scan(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def histogram(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i) % 64, 1)


@triton.jit
def random(out, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.rand(seed, i))


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    tl.store(out + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=i < n)


SIGNATURES = {
    add: [("f32", "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}), ("f16", "*fp16 *fp16 *fp16 i32", {"BLOCK": 512}), ("i64", "*i64 *i64 *i64 i32", {"BLOCK": 256})],
    softmax: [("f32", "*fp32 *fp32 i32", {"BLOCK": 1024})],
    layer_norm: [("f16", "*fp16 *fp32 *fp16 i32 fp32", {"BLOCK": 512}), ("bf16", "*bf16 *fp32 *bf16 i32 fp32", {"BLOCK": 512})],
    matmul: [
        ("f32", "*fp32 *fp32 *fp32 i32 i32 i32", {"BM": 32, "BN": 32, "BK": 32}),
        ("f16", "*fp16 *fp16 *fp32 i32 i32 i32", {"BM": 64, "BN": 64, "BK": 32}),
    ],
    scan: [("f32", "*fp32 *fp32", {"BLOCK": 512}), ("i32", "*i32 *i32", {"BLOCK": 128})],
    sort: [("i32", "*i32 *i32", {"BLOCK": 128})],
    histogram: [("i32", "*i32 *i32", {"BLOCK": 256})],
    random: [("f32", "*fp32 i32", {"BLOCK": 256})],
    gelu: [("f32", "*fp32 *fp32 i32", {"BLOCK": 256}), ("f16", "*fp16 *fp16 i32", {"BLOCK": 256})],
}

folder = pathlib.Path(sys.argv[1])
for sm in (80, 90):
    for kernel, variants in SIGNATURES.items():
        for name, types, constants in variants:
            names = [n for n in kernel.arg_names if n not in constants]
            signature = dict(zip(names, types.split()), **{c: "constexpr" for c in constants})
            source = ASTSource(kernel, signature, constexprs={(kernel.arg_names.index(c),): v for c, v in constants.items()})
            made = triton.compile(source, target=GPUTarget("cuda", sm, 32))
            (folder / f"triton_{kernel.__name__}_{name}.sm{sm}.ptx").write_text(made.asm["ptx"])
