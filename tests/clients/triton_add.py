"""Triton through its own launcher, without torch: vector add, softmax rows, layer norm, dropout. See docs/clients.md for the variables it needs."""
import ctypes
import numpy as np
import triton
import triton.language as tl
from triton.runtime import driver

cu = ctypes.CDLL("libcuda.so.1")


class Array:
    """Device memory with what Triton asks of an argument."""

    def __init__(self, values):
        self.host = np.ascontiguousarray(values)
        self.dtype = {"float32": tl.float32, "int32": tl.int32}[self.host.dtype.name]
        address = ctypes.c_uint64()
        assert cu.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(self.host.nbytes)) == 0
        self.address = address.value
        assert cu.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), ctypes.c_void_p(self.host.ctypes.data), ctypes.c_size_t(self.host.nbytes)) == 0

    def data_ptr(self):
        return self.address

    def numpy(self):
        out = np.empty_like(self.host)
        assert cu.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(self.address), ctypes.c_size_t(out.nbytes)) == 0
        return out


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def layernorm(x, out, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(i < n, v - mean, 0.0)
    tl.store(out + row * n + i, d * tl.rsqrt(tl.sum(d * d, axis=0) / n + 1e-5), mask=i < n)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(keep, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


context = ctypes.c_void_p()
assert cu.cuInit(0) == 0 and cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
driver.active.get_current_stream = lambda device: 0
driver.active.get_current_device = lambda: 0
n = 1000
x, y, out = Array(np.arange(n, dtype=np.float32)), Array(np.ones(n, np.float32)), Array(np.zeros(n, np.float32))
good, failed = 0, []


def check(name, run, want):
    global good
    try:
        run()
        assert np.allclose(out.numpy(), want.reshape(-1), rtol=1e-4, atol=1e-5), "wrong result"
        good += 1
    except Exception as e:
        failed.append(f"{name}: {type(e).__name__} {str(e)[:200]}")


check("add", lambda: add[(4,)](x, y, out, n, BLOCK=256), x.host + 1)
rows = np.random.default_rng(1).normal(size=(10, 100)).astype(np.float32)
x = Array(rows)
e = np.exp(rows - rows.max(1, keepdims=True))
check("softmax", lambda: softmax[(10,)](x, out, 100, BLOCK=128), e / e.sum(1, keepdims=True))
check("layernorm", lambda: layernorm[(10,)](x, out, 100, BLOCK=128), (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5))
try:
    dropout[(4,)](x, out, n, 0.3, 7, BLOCK=256)
    kept = out.numpy() != 0
    assert 0.6 < kept.mean() < 0.8 and np.allclose(out.numpy()[kept], rows.reshape(-1)[kept] / 0.7, rtol=1e-5)
    good += 1
except Exception as e:
    failed.append(f"dropout: {type(e).__name__} {str(e)[:200]}")
print(f"triton: {good} of {good + len(failed)}")
for line in failed:
    print("  failed:", line)
raise SystemExit(1 if failed else 0)
