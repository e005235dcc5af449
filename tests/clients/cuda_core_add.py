"""cuda.core with PTX text: streams, buffers, launches, events."""
import ctypes
import numpy as np
from cuda.core import Device, EventOptions, LaunchConfig, ObjectCode, launch

PTX = b"""
.version 8.8
.target sm_90
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra done;
    mul.wide.u32 %rd4, %r5, 4;
    add.u64 %rd5, %rd1, %rd4; ld.global.f32 %f1, [%rd5];
    add.u64 %rd6, %rd2, %rd4; ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2;
    add.u64 %rd7, %rd3, %rd4; st.global.f32 [%rd7], %f3;
done:
    ret;
}
"""
n = 5000
device = Device()
device.set_current()
stream = device.create_stream()
kernel = ObjectCode.from_ptx(PTX).get_kernel("add")
from cuda.bindings import driver


def ok(result):
    assert result[0] == driver.CUresult.CUDA_SUCCESS, result[0]
    return result[1] if len(result) > 1 else None


x = np.arange(n, dtype=np.float32)
y = np.zeros_like(x)
a, b, c = (int(ok(driver.cuMemAlloc(4 * n))) for _ in range(3))
ok(driver.cuMemcpyHtoD(a, x.ctypes.data, 4 * n))
ok(driver.cuMemcpyHtoD(b, x.ctypes.data, 4 * n))
start = stream.record(options=EventOptions(timing_enabled=True))
launch(stream, LaunchConfig(grid=(n + 255) // 256, block=256), kernel, a, b, c, np.uint32(n))
end = stream.record(options=EventOptions(timing_enabled=True))
end.sync()
ok(driver.cuMemcpyDtoH(y.ctypes.data, c, 4 * n))
assert np.array_equal(y, x + x), y[:8]
print("cuda-core:", device.name, device.compute_capability, "ok,", "time" if end - start >= 0 else "no time")
