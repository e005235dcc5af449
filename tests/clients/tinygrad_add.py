"""tinygrad on its CUDA device with its PTX renderer: DEV=CUDA:PTX python tinygrad_add.py"""
import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes

cases, bad = 0, []


def check(name, got, want, exact=True):
    global cases
    cases += 1
    got = got.numpy() if isinstance(got, Tensor) else got
    good = np.array_equal(got, want) if exact else np.allclose(got, want, rtol=1e-4, atol=1e-5)
    if not good:
        bad.append(name)


def attempt(name, make, want, exact=True):
    try:
        check(name, make(), want, exact)
    except Exception as e:  # one case is one line of the result
        global cases
        cases += 1
        bad.append(f"{name}: {type(e).__name__} {str(e)[:90]}")


rng = np.random.default_rng(1)
a, b = rng.integers(-50, 50, (37, 21)).astype(np.float32), rng.integers(1, 50, (37, 21)).astype(np.float32)
i, j = rng.integers(-99, 99, 100).astype(np.int32), rng.integers(1, 99, 100).astype(np.int32)
A, B, I, J = Tensor(a), Tensor(b), Tensor(i), Tensor(j)
attempt("add", lambda: A + B, a + b)
attempt("sub", lambda: A - B, a - b)
attempt("mul", lambda: A * B, a * b)
attempt("div", lambda: A / B, a / b, False)
attempt("int add", lambda: I + J, i + j)
attempt("int mul", lambda: I * J, i * j)
attempt("int and", lambda: I & J, i & j)
attempt("int or", lambda: I | J, i | j)
attempt("int xor", lambda: I ^ J, i ^ j)
attempt("where", lambda: (A > 0).where(A, B), np.where(a > 0, a, b))
attempt("maximum", lambda: A.maximum(B), np.maximum(a, b))
attempt("relu", lambda: A.relu(), np.maximum(a, 0))
attempt("sum", lambda: A.sum(), a.sum())
attempt("sum 0", lambda: A.sum(axis=0), a.sum(0))
attempt("sum 1", lambda: A.sum(axis=1), a.sum(1))
attempt("max", lambda: A.max(axis=1), a.max(1))
attempt("mean", lambda: A.mean(), a.mean(), False)
attempt("transpose", lambda: A.T.contiguous(), a.T)
attempt("matmul", lambda: A @ B.T, a @ b.T, False)
attempt("conv2d", lambda: Tensor(a[None, None]).conv2d(Tensor(np.ones((1, 1, 3, 3), np.float32))).sum(), sum(a[y:y + 35, x:x + 19].sum() for y in range(3) for x in range(3)), False)
attempt("exp", lambda: (A / 50).exp(), np.exp(a / 50), False)
attempt("log", lambda: B.log(), np.log(b), False)
attempt("sqrt", lambda: B.sqrt(), np.sqrt(b), False)
attempt("sin", lambda: A.sin(), np.sin(a), False)
attempt("softmax", lambda: (A / 10).softmax(), np.exp(a / 10) / np.exp(a / 10).sum(1, keepdims=True), False)
attempt("sigmoid", lambda: (A / 10).sigmoid(), 1 / (1 + np.exp(-a / 10)), False)
attempt("tanh", lambda: (A / 10).tanh(), np.tanh(a / 10), False)
attempt("half", lambda: A.cast(dtypes.half) + 1, (a + 1).astype(np.float16))
attempt("double", lambda: A.cast(dtypes.double) / 3, a.astype(np.float64) / 3, False)
attempt("int8", lambda: I.cast(dtypes.int8) + J.cast(dtypes.int8), i.astype(np.int8) + j.astype(np.int8))
attempt("cat", lambda: A.cat(B), np.concatenate([a, b]))
attempt("pad", lambda: A.pad(((1, 2), (3, 4))), np.pad(a, ((1, 2), (3, 4))))
attempt("flip", lambda: A.flip(0).contiguous(), a[::-1])
attempt("cumsum", lambda: A.cumsum(axis=0), a.cumsum(0), False)
attempt("argmax", lambda: A.argmax(axis=1), a.argmax(1))
attempt("sort", lambda: I.sort()[0], np.sort(i))


@TinyJit
def step(x):
    return (x * 2 + 1).realize()


def jitted():
    x = Tensor(a).realize()
    for _ in range(5):
        x = step(x.contiguous().realize())
    return x


attempt("jit", jitted, a * 32 + 31)
print(f"tinygrad on {Device.DEFAULT}: {cases - len(bad)} of {cases}")
for line in bad:
    print("  failed:", line)
raise SystemExit(1 if bad else 0)
