"""PyCUDA: gpuarray, SourceModule, ElementwiseKernel, ReductionKernel, streams, events, page-locked, mapped and managed memory, errors.

PyCUDA has nvcc make machine code; `tests/clients/nvcc`, first in PATH, has it make PTX instead. See docs/clients.md.
"""
import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

rng = np.random.default_rng(1)
a, b = rng.random(1000, dtype=np.float32), rng.random(1000, dtype=np.float32)

module = SourceModule("""
__constant__ float factor;
__global__ void axpy(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i];
}
__global__ void transpose(float *out, const float *in, int w, int h) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
""")
where, size = module.get_global("factor")
assert size == 4
cuda.memcpy_htod(where, np.float32(3))
y = b.copy()
module.get_function("axpy")(cuda.InOut(y), cuda.In(a), np.int32(1000), block=(128, 1, 1), grid=(8, 1))
assert np.allclose(y, b + 3 * a, rtol=1e-6)
print("SourceModule: right")

m = rng.random((50, 70), dtype=np.float32)
out = np.empty((70, 50), np.float32)
module.get_function("transpose")(cuda.Out(out), cuda.In(m), np.int32(70), np.int32(50), block=(16, 16, 1), grid=(5, 4))
assert (out == m.T).all()
print("shared memory: right")

x, z = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
assert ((2 * x + z).get() == np.float32(2) * a + b).all() and ((x * z)[10:20].get() == (a * b)[10:20]).all()
assert np.isclose(gpuarray.sum(x).get(), a.sum(), rtol=1e-5) and gpuarray.max(x).get() == a.max()
assert np.isclose(gpuarray.dot(x, z).get(), a @ b, rtol=1e-5)
assert (gpuarray.arange(100, dtype=np.int32).get() == np.arange(100)).all() and (gpuarray.zeros(5, np.float64).get() == 0).all()
print("gpuarray: right")

ElementwiseKernel("float *x, float *z", "z[i] = x[i] > 0.5f ? x[i] : -z[i]", "choose")(x, z)
assert (z.get() == np.where(a > 0.5, a, -b)).all()
count = ReductionKernel(np.int32, neutral="0", reduce_expr="a+b", map_expr="x[i] > 0.25f ? 1 : 0", arguments="float *x")
assert count(x).get() == (a > 0.25).sum()
scanned = gpuarray.to_gpu(np.arange(5000, dtype=np.int32))
InclusiveScanKernel(np.int32, "a+b")(scanned)
assert (scanned.get() == np.arange(5000).cumsum()).all()
print("elementwise, reduction, scan: right")

stream, begin, end = cuda.Stream(), cuda.Event(), cuda.Event()
locked = cuda.pagelocked_empty(1000, np.float32)
locked[:] = a
begin.record(stream)
x.set_async(locked, stream)
back = cuda.pagelocked_empty(1000, np.float32)
x.get_async(stream, back)
end.record(stream)
end.synchronize()
assert (back == a).all() and end.time_since(begin) >= 0
# `register_host_memory` crashes in PyCUDA 2026.1 itself, whose own test of it is a known failure.
mapped = cuda.pagelocked_empty(1024, np.float32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
mapped[:] = 1
module.get_function("axpy")(np.intp(mapped.base.get_device_pointer()), x, np.int32(1000), block=(256, 1, 1), grid=(4, 1))
cuda.Context.synchronize()
assert np.allclose(mapped[:1000], 1 + 3 * a, rtol=1e-6) and (mapped[1000:] == 1).all()
managed = cuda.managed_zeros(1000, np.float32, mem_flags=cuda.mem_attach_flags.GLOBAL)
module.get_function("axpy")(managed, x, np.int32(1000), block=(256, 1, 1), grid=(4, 1))
cuda.Context.synchronize()
assert np.allclose(managed, 3 * a, rtol=1e-6)
print("streams, events, page-locked, mapped and managed memory: right")

device = cuda.Device(0)
print(device.name(), device.compute_capability(), len(device.get_attributes()) > 50)
try:
    SourceModule("__global__ void k(int *p) { this is no CUDA; }")
except cuda.CompileError:
    print("a wrong source is an error: right")
