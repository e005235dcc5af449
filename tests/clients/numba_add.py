"""numba-cuda through the driver's linker (no nvJitLink in the environment)."""
import numpy as np
from numba import cuda


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]


@cuda.jit
def reduce(x, out):
    s = cuda.shared.array(128, np.float32)
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


x = np.arange(1024, dtype=np.float32)
out = cuda.device_array_like(x)
add[8, 128](cuda.to_device(x), cuda.to_device(x), out)
assert np.array_equal(out.copy_to_host(), x + x)
total = cuda.to_device(np.zeros(1, np.float32))
reduce[8, 128](cuda.to_device(x), total)
assert total.copy_to_host()[0] == x.sum()
print("numba-cuda: ok")
