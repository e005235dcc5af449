"""PTX that numba-cuda makes of a few kernels: `numba_kernels.py FOLDER`."""

import math
import pathlib
import sys

from numba import cuda, float32, float64, int32, int64, void


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def matmul(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


def reduce(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    d = 64
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


def mandelbrot(out, x0, y0, step):
    i, j = cuda.grid(2)
    c = complex(x0 + j * step, y0 + i * step)
    z = 0.0j
    for n in range(200):
        if z.real * z.real + z.imag * z.imag > 4:
            out[i, j] = n
            return
        z = z * z + c
    out[i, j] = 200


def integers(x, out):
    i = cuda.grid(1)
    v = x[i]
    out[i] = v // 7 + v % 5 + (v << 3) + cuda.popc(v) + cuda.clz(v) + cuda.brev(v) + cuda.ffs(v)


def functions(x, out):
    i = cuda.grid(1)
    v = x[i]
    out[i] = math.sqrt(v) + math.exp(v) + math.log(v) + math.sin(v) + math.cos(v) + math.tanh(v) + math.erf(v) + math.gamma(v) + math.pow(v, 0.3) + math.atan2(v, 2.0) + math.hypot(v, 1.0)


def warp(x, out):
    i = cuda.grid(1)
    v = x[i]
    v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)
    out[i] = v + cuda.ballot_sync(0xFFFFFFFF, v > 0) + cuda.activemask()


SIGNATURES = [
    ("saxpy_f32", saxpy, void(float32, float32[:], float32[:])),
    ("saxpy_f64", saxpy, void(float64, float64[::1], float64[::1])),
    ("matmul_f32", matmul, void(float32[:, :], float32[:, :], float32[:, :])),
    ("matmul_f64", matmul, void(float64[:, ::1], float64[:, ::1], float64[:, ::1])),
    ("reduce", reduce, void(float32[:], float32[:])),
    ("mandelbrot", mandelbrot, void(int32[:, :], float64, float64, float64)),
    ("integers", integers, void(int32[:], int32[:])),
    ("functions_f32", functions, void(float32[:], float32[:])),
    ("functions_f64", functions, void(float64[:], float64[:])),
    ("warp", warp, void(int32[:], int32[:])),
]

folder = pathlib.Path(sys.argv[1])
for cc in ((7, 5), (8, 0), (9, 0)):
    for fast in (False, True):
        for name, function, signature in SIGNATURES:
            ptx, _ = cuda.compile_ptx(function, signature, cc=cc, fastmath=fast)
            (folder / f"numba_{name}.sm{cc[0]}{cc[1]}{'.fast' if fast else ''}.ptx").write_text(ptx)
