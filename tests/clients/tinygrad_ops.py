"""tinygrad's public API on its CUDA device with its PTX renderer, against NumPy: DEV=CUDA:PTX python tinygrad_ops.py"""
import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes

cases, bad = 0, []


def check(name, make, want, tolerance=0.0):
    """One case: `make` runs on the device; exact unless a tolerance is given."""
    global cases
    cases += 1
    try:
        got = make()
        got = got.numpy() if isinstance(got, Tensor) else got
        good = np.allclose(got, want, rtol=tolerance, atol=tolerance) if tolerance else np.array_equal(got, want)
        if not good:
            bad.append(f"{name}: wrong result")
    except Exception as e:
        bad.append(f"{name}: {type(e).__name__} {str(e)[:90]}")


rng = np.random.default_rng(1)
SHAPES = [(7,), (64,), (5, 9), (3, 4, 5)]
INTS = {dtypes.int8: np.int8, dtypes.uint8: np.uint8, dtypes.int16: np.int16, dtypes.uint16: np.uint16, dtypes.int32: np.int32,
        dtypes.uint32: np.uint32, dtypes.int64: np.int64, dtypes.uint64: np.uint64}
FLOATS = {dtypes.half: (np.float16, 2e-3), dtypes.float: (np.float32, 1e-5), dtypes.double: (np.float64, 1e-5)}

for dt, npt in INTS.items():
    low = 0 if np.issubdtype(npt, np.unsignedinteger) else -40
    for shape in SHAPES[:2]:
        x, y = rng.integers(low, 40, shape).astype(npt), rng.integers(1, 40, shape).astype(npt)
        X, Y = Tensor(x, dtype=dt), Tensor(y, dtype=dt)
        for name, f, g in [("add", lambda a, b: a + b, np.add), ("sub", lambda a, b: a - b, np.subtract), ("mul", lambda a, b: a * b, np.multiply),
                           ("and", lambda a, b: a & b, np.bitwise_and), ("or", lambda a, b: a | b, np.bitwise_or),
                           ("xor", lambda a, b: a ^ b, np.bitwise_xor), ("lt", lambda a, b: a < b, np.less), ("max", lambda a, b: a.maximum(b), np.maximum)]:
            check(f"{name} {dt} {shape}", lambda: f(X, Y), g(x, y))
for dt, (npt, tolerance) in FLOATS.items():
    for shape in SHAPES:
        x, y = rng.normal(size=shape).astype(npt), (rng.random(shape) + 0.5).astype(npt)
        X, Y = Tensor(x, dtype=dt), Tensor(y, dtype=dt)
        for name, f, g in [("add", lambda a, b: a + b, np.add), ("mul", lambda a, b: a * b, np.multiply), ("div", lambda a, b: a / b, np.divide),
                           ("maximum", lambda a, b: a.maximum(b), np.maximum), ("where", lambda a, b: (a > 0).where(a, b), lambda a, b: np.where(a > 0, a, b))]:
            check(f"{name} {dt} {shape}", lambda: f(X, Y), g(x, y), tolerance)
        for name, f, g in [("neg", lambda a: -a, np.negative), ("abs", lambda a: a.abs(), np.abs), ("square", lambda a: a.square(), np.square),
                           ("exp", lambda a: a.exp(), np.exp), ("sin", lambda a: a.sin(), np.sin), ("tanh", lambda a: a.tanh(), np.tanh),
                           ("sigmoid", lambda a: a.sigmoid(), lambda a: 1 / (1 + np.exp(-a)))]:
            check(f"{name} {dt} {shape}", lambda: f(X), g(x), 10 * tolerance)
        for name, f, g in [("sqrt", lambda a: a.sqrt(), np.sqrt), ("log", lambda a: a.log(), np.log), ("reciprocal", lambda a: a.reciprocal(), lambda a: 1 / a)]:
            check(f"{name} {dt} {shape}", lambda: f(Y), g(y), 10 * tolerance)
a, b = rng.integers(-50, 50, (37, 21)).astype(np.float32), rng.integers(1, 50, (37, 21)).astype(np.float32)
A, B, I = Tensor(a), Tensor(b), Tensor(rng.integers(-99, 99, 100).astype(np.int32))
check("sum", lambda: A.sum(), a.sum())
for axis in (0, 1):
    check(f"sum {axis}", lambda: A.sum(axis=axis), a.sum(axis))
    check(f"max {axis}", lambda: A.max(axis=axis), a.max(axis))
    check(f"argmax {axis}", lambda: A.argmax(axis=axis), a.argmax(axis))
    check(f"cumsum {axis}", lambda: A.cumsum(axis=axis), a.cumsum(axis), 1e-5)
    check(f"softmax {axis}", lambda: (A / 10).softmax(axis=axis), np.exp(a / 10) / np.exp(a / 10).sum(axis, keepdims=True), 1e-4)
    check(f"std {axis}", lambda: A.std(axis=axis), a.std(axis, ddof=1), 1e-4)
for n in (1, 8, 17, 64):
    p, q = rng.integers(-9, 9, (n, 32)).astype(np.float32), rng.integers(-9, 9, (32, n)).astype(np.float32)
    check(f"matmul {n}", lambda: Tensor(p) @ Tensor(q), p @ q)
check("conv2d", lambda: Tensor(a[None, None]).conv2d(Tensor(np.ones((1, 1, 3, 3), np.float32))).sum(), sum(a[y:y + 35, x:x + 19].sum() for y in range(3) for x in range(3)), 1e-4)
check("layernorm", lambda: A.layernorm(), (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5), 1e-3)
check("transpose", lambda: A.T.contiguous(), a.T)
check("cat", lambda: A.cat(B), np.concatenate([a, b]))
check("pad", lambda: A.pad(((1, 2), (3, 4))), np.pad(a, ((1, 2), (3, 4))))
check("flip", lambda: A.flip(0).contiguous(), a[::-1])
check("sort", lambda: I.sort()[0], np.sort(I.numpy()))
check("one_hot", lambda: Tensor([0, 2, 1]).one_hot(3), np.eye(3)[[0, 2, 1]])
check("gather", lambda: A[Tensor([3, 1, 30])], a[[3, 1, 30]])


@TinyJit
def step(x):
    return (x * 2 + 1).realize()


def jitted():
    x = Tensor(a).realize()
    for _ in range(5):
        x = step(x.contiguous().realize())
    return x


check("jit", jitted, a * 32 + 31)
print(f"tinygrad on {Device.DEFAULT}: {cases - len(bad)} of {cases}")
for line in bad:
    print("  failed:", line)
raise SystemExit(1 if bad else 0)
