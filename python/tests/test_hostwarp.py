import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hostwarp

SAXPY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<5>; .reg .f32 %f<5>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.u32 %r2, %r2, %r3, %r4; setp.ge.u32 %p, %r2, %r1; @%p ret;
  mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5]; fma.rn.f32 %f4, %f1, %f3, %f2; st.global.f32 [%rd4], %f4;
  ret;
}
.visible .entry forever() { again: bra again; }
"""


@pytest.fixture(scope="module")
def module():
    return hostwarp.Module(SAXPY, "saxpy.ptx")


@pytest.mark.parametrize("engine", ["interp", "auto"])
def test_arrays_are_copied_in_and_out(module, engine):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    report = module["saxpy"][4, 256](y, x, 2.0, 1000, engine=engine)
    assert np.array_equal(y, 2 * np.arange(1000, dtype=np.float32) + 1)
    assert np.array_equal(x, np.arange(1000)) and report.engine in ("interp", "jit")


def test_arrays_of_the_device_are_used_in_place(module):
    y, x = hostwarp.zeros(100), hostwarp.array(np.arange(100), np.float32)
    view = np.asarray(y)
    module.saxpy[1, 128](y, x, 3, 100)
    assert view[99] == 297 and view.ctypes.data == y.address
    view[0] = 5
    module.saxpy[1, 128](view, np.asarray(x), 1, 100)
    assert view[0] == 5 and view[99] == 396 and y.numpy()[99] == 396
    assert y.__cuda_array_interface__["data"][0] == y.address
    assert np.array_equal(np.from_dlpack(y), y.numpy())
    # A view of a part.
    module.saxpy[1, 128](view[50:], np.ones(50, np.float32), 1, 50)
    assert view[49] == 4 * 49 and view[50] == 201


def test_layouts(module):
    y = np.zeros((100, 2), np.float32)[:, 1]
    x = np.ones(100, np.float32)
    x.flags.writeable = False
    module.saxpy[1, 128](y, x, 2, 100)
    assert np.all(y == 2) and np.all(y.base[:, 0] == 0)
    same = np.ones(10, np.float32)
    module.saxpy[1, 32](same, same, 1, 10)
    assert np.all(same == 2)
    with pytest.raises(hostwarp.LaunchError, match="shares memory"):
        module.saxpy[1, 32](same[1:], same[:-1], 1, 9)


def test_errors_say_what_is_wrong(module):
    y = np.zeros(10, np.float32)
    with pytest.raises(hostwarp.PtxError, match="bad.ptx:1"):
        hostwarp.Module("nonsense", "bad.ptx")
    with pytest.raises(hostwarp.LaunchError, match="did you mean `saxpy`"):
        module["saxpi"]
    with pytest.raises(AttributeError):
        module.saxpi
    with pytest.raises(hostwarp.LaunchError, match="4 parameters"):
        module.saxpy[1, 1](y)
    with pytest.raises(hostwarp.LaunchError, match="no pointer"):
        module.saxpy[1, 1](y, y, y, 1)
    with pytest.raises(hostwarp.LaunchError, match="does not fit"):
        module.saxpy[1, 1](y, y, 1.0, 1 << 32)
    with pytest.raises(hostwarp.KernelFault, match="`y`"):
        module.saxpy[1, 32](y, np.zeros(32, np.float32), 1.0, 32)
    with pytest.raises(hostwarp.Error):
        module.saxpy[1, 4096](y, y, 1.0, 1)
    with pytest.raises(hostwarp.KernelFault):
        module.forever[1, 1](timeout=0.1)


def test_check_eval_explain():
    assert hostwarp.check(SAXPY) and hostwarp.check(SAXPY).diagnostics == []
    found = hostwarp.check(".version 8.0\n.target sm_80\n.entry k() { add.s33 %r1, %r2; }", "k.ptx")
    assert not found and found.diagnostics and "k.ptx:3" in found.rendered
    out = hostwarp.eval("vmad.s32.s32.u32.sat r0, r1, r2, r3", r1=1, r2=2, r3=3)
    assert out["r0"].value == 5 and out["r0"].bits == 5
    assert hostwarp.eval("sub.s32 d, a, b", a=1, b=3)["d"].value == -2
    assert hostwarp.eval("add.f32 d, a, b", a=np.float32(1.5), b=np.float32(2))["d"].value == 3.5
    assert "video" in hostwarp.explain("vmad") or "vmad" in hostwarp.explain("vmad")
    assert hostwarp.explain("U0001")
    with pytest.raises(ValueError, match="vmad"):
        hostwarp.explain("vmat")


def test_others_run_meanwhile(module):
    turns = 0

    def launch():
        with pytest.raises(hostwarp.KernelFault):
            module.forever[1, 1](timeout=0.5)

    thread = threading.Thread(target=launch)
    thread.start()
    while thread.is_alive():
        turns += 1
        time.sleep(0.01)
    assert turns > 10


def test_an_interrupt_stops_a_kernel(module):
    began = time.monotonic()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        module.forever[1, 1](timeout=60)
    assert time.monotonic() - began < 20
    y = np.zeros(4, np.float32)
    module.saxpy[1, 4](y, np.ones(4, np.float32), 1, 4)
    assert np.all(y == 1)


def test_the_plugin_puts_the_libraries_in_place(tmp_path):
    from hostwarp.pytest_plugin import directory

    try:
        libraries = directory()
    except FileNotFoundError:
        pytest.skip("no drop-in libraries")
    test = tmp_path / "test_cuda.py"
    test.write_text(
        "import ctypes\n"
        "def test_device():\n"
        "    cuda, count = ctypes.CDLL('libcuda.so.1'), ctypes.c_int()\n"
        "    assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 1\n"
        "    name = ctypes.create_string_buffer(64)\n"
        "    assert cuda.cuDeviceGetName(name, 64, 0) == 0 and b'ostwarp' in name.value\n"
    )
    env = {k: v for k, v in os.environ.items() if k not in ("HOSTWARP_PYTEST", "LD_LIBRARY_PATH")}
    ran = subprocess.run([sys.executable, "-m", "pytest", "--hostwarp", "-q", str(test)], env=env, capture_output=True, text=True)
    assert ran.returncode == 0 and "1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert str(libraries) in ran.stdout or "1 passed" in ran.stdout
