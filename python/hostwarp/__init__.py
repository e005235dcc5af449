"""Run NVIDIA PTX on any CPU with the bits a GPU would give."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native
from ._native import Error, KernelFault, LaunchError, PtxError, Unsupported

__all__ = [
    "Array", "CheckResult", "Device", "Error", "Kernel", "KernelFault", "LaunchError", "Module", "PtxError", "Register",
    "Report", "Unsupported", "array", "check", "default_device", "empty", "eval", "explain", "zeros",
]  # fmt: skip

_default: Device | None = None
_lock = threading.Lock()


def default_device() -> Device:
    """The device that everything uses which names none."""
    global _default
    with _lock:
        if _default is None:
            _default = Device()
        return _default


class Device:
    """A virtual GPU with memory of its own."""

    def __init__(self, memory: int | None = None, threads: int | None = None) -> None:
        self._native = _native.Device(memory, threads)

    @property
    def threads(self) -> int:
        return self._native.threads

    def empty(self, shape, dtype=np.float32) -> Array:
        """An array in device memory, of zeros: kernels use it in place."""
        return Array(self, shape, dtype)

    zeros = empty

    def array(self, values, dtype=None) -> Array:
        """A copy in device memory."""
        values = np.ascontiguousarray(values, dtype)
        made = Array(self, values.shape, values.dtype)
        made.copy_from(values)
        return made

    def printed(self) -> str:
        """What kernels have printed since this was last asked."""
        return self._native.printed().decode(errors="replace")

    def llvm(self) -> tuple[bool, str]:
        """Whether the fast engine is there, and with what; or how to get it."""
        return self._native.llvm()


class Array:
    """Elements in device memory, one after the other. ``np.asarray(a)`` is a view of them where the host can reach them, a copy elsewhere."""

    def __init__(self, device: Device, shape, dtype=np.float32) -> None:
        self.device = device
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject:
            raise TypeError("device memory holds no Python objects")
        self.shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
        self.size = int(np.prod(self.shape, dtype=object)) if self.shape else 1
        self.nbytes = self.size * self.dtype.itemsize
        self._buffer = device._native.buffer(self.nbytes)

    @property
    def address(self) -> int:
        """The device address: what a kernel is given."""
        return self._buffer.address

    def copy_from(self, values) -> None:
        values = np.ascontiguousarray(values, self.dtype)
        if values.size != self.size:
            raise ValueError(f"{values.size} elements do not fit an array of {self.size}")
        self._buffer.write(values.ctypes.data, values.nbytes)

    def numpy(self) -> np.ndarray:
        """A copy on the host."""
        out = np.empty(self.shape, self.dtype)
        self._buffer.read(out.ctypes.data, out.nbytes)
        return out

    @property
    def _interface(self) -> dict[str, Any]:
        descr = self.dtype.descr if self.dtype.fields else [("", self.dtype.str)]
        return {"shape": self.shape, "typestr": self.dtype.str, "descr": descr, "data": (self.address, False), "version": 3}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self.device._native.shares_addresses():
            raise AttributeError("the host cannot reach the memory of this device; numpy() copies it")
        return self._interface

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self._interface, "strides": None, "stream": None}

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ValueError("the host cannot reach the memory of this device without a copy")
        return self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)

    def __dlpack__(self, **options):
        return np.asarray(self).__dlpack__(**options)

    def __dlpack_device__(self):
        # The host's memory, as far as anybody who reads it is concerned.
        return (1, 0)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __repr__(self) -> str:
        return f"hostwarp.Array({self.shape}, {self.dtype}, at {self.address:#x})"


def empty(shape, dtype=np.float32) -> Array:
    return default_device().empty(shape, dtype)


zeros = empty


def array(values, dtype=None) -> Array:
    return default_device().array(values, dtype)


class Module:
    """PTX, checked and loaded. ``module["name"]`` or ``module.name`` is a kernel."""

    def __init__(self, ptx: str | bytes, name: str = "<ptx>", *, device: Device | None = None, profile: str = "isa") -> None:
        self.device = device or default_device()
        self._native = self.device._native.load(name, _bytes(ptx), profile)

    @classmethod
    def from_file(cls, path, *, device: Device | None = None, profile: str = "isa") -> Module:
        with open(path, "rb") as file:
            return cls(file.read(), os.fspath(path), device=device, profile=profile)

    @property
    def kernels(self) -> list[str]:
        return self._native.names()

    def __getitem__(self, name: str) -> Kernel:
        return Kernel(self, self._native.kernel(name))

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except LaunchError as error:
            raise AttributeError(str(error)) from None

    def read(self, variable: str) -> bytes:
        return self._native.read_symbol(variable)

    def write(self, variable: str, value) -> None:
        self._native.write_symbol(variable, bytes(value) if isinstance(value, (bytes, bytearray)) else np.ascontiguousarray(value).tobytes())


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


@dataclass(frozen=True)
class Report:
    """What a launch did."""

    engine: str
    seconds: float


def _three(what) -> tuple[int, int, int]:
    sizes = tuple(what) if isinstance(what, (tuple, list)) else (what,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"one to three sizes, not {what!r}")
    return tuple(int(n) for n in sizes + (1,) * (3 - len(sizes)))  # type: ignore[return-value]


class Kernel:
    """``kernel[grid, block](*args)`` or ``kernel[grid, block, shared](*args)``; grid and block are numbers or tuples."""

    def __init__(self, module: Module, native) -> None:
        self.module, self._native = module, native
        self._params = native.params()

    @property
    def name(self) -> str:
        return self._native.name

    def __repr__(self) -> str:
        return f"hostwarp.Kernel {self._native.signature}"

    def __getitem__(self, sizes):
        if not isinstance(sizes, tuple) or len(sizes) not in (2, 3):
            raise TypeError("kernel[grid, block] or kernel[grid, block, shared]")
        grid, block = _three(sizes[0]), _three(sizes[1])
        shared = int(sizes[2]) if len(sizes) == 3 else 0

        def launch(*args, engine: str = "auto", timeout: float | None = None, fuel: int | None = None, cooperative: bool = False) -> Report:
            return self._launch(grid, block, shared, args, engine, timeout, fuel, cooperative)

        return launch

    def _launch(self, grid, block, shared, args, *options) -> Report:
        if len(args) != len(self._params):
            raise LaunchError(f"{len(args)} arguments for {self._native.signature}, which has {len(self._params)} parameters")
        copies = _Copies(self.module.device)
        packed = [self._pack(param, arg, copies) for param, arg in zip(self._params, args)]
        ran = self._native.launch(grid, block, shared, packed, *options)
        copies.back()
        return Report(*ran)

    def _pack(self, param, arg, copies: _Copies) -> bytes:
        name, type_, size, is_array = param
        if isinstance(arg, Array):
            if arg.device is not self.module.device:
                raise LaunchError(f"`{name}`: the array is on another device than the kernel")
            arg = arg.address
        elif isinstance(arg, (bytes, bytearray)):
            if len(arg) != size:
                raise LaunchError(f"`{name}` has {size} bytes, not {len(arg)}")
            return bytes(arg)
        elif isinstance(arg, np.generic):
            data = arg.tobytes()
            if len(data) != size:
                raise LaunchError(f"`{name}` is {type_}, which {arg.dtype} does not fit")
            return data
        elif not isinstance(arg, (int, float, bool)):
            if size != 8:
                raise LaunchError(f"`{name}` is {type_}, no pointer")
            arg = copies.address(name, arg)
        if is_array:
            raise LaunchError(f"`{name}` is an array of {size} bytes: pass bytes")
        return _number(name, type_, size, arg)


def _number(name: str, type_: str, size: int, value) -> bytes:
    if type_.startswith("f"):
        kinds = {2: np.float16, 4: np.float32, 8: np.float64}
        return kinds[size](value).tobytes()
    if isinstance(value, float):
        if type_.startswith("b") and size in (4, 8):
            return {4: np.float32, 8: np.float64}[size](value).tobytes()
        raise LaunchError(f"`{name}` is {type_}: {value} is no integer")
    bits = size * 8
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if type_.startswith("s") else (-(1 << (bits - 1)), 1 << bits)
    if not low <= value < high:
        raise LaunchError(f"`{name}` is {type_}: {value} does not fit")
    return (int(value) & ((1 << bits) - 1)).to_bytes(size, "little")


class _Copies:
    """Arrays of the host on the device while a kernel runs."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._made: list[tuple[int, int, np.ndarray, np.ndarray, Any]] = []

    def address(self, name: str, given) -> int:
        if isinstance(given, np.ndarray):
            host = given
        elif hasattr(given, "__array_interface__"):
            host = np.asarray(given)
        elif hasattr(given, "__dlpack__"):
            host = np.from_dlpack(given)
        else:
            raise LaunchError(f"`{name}`: {type(given).__name__} is neither a number nor an array")
        if host.dtype.hasobject:
            raise LaunchError(f"`{name}`: device memory holds no Python objects")
        low, high = np.lib.array_utils.byte_bounds(host) if hasattr(np.lib, "array_utils") else np.byte_bounds(host)
        contiguous = host.flags.c_contiguous or host.flags.f_contiguous
        if contiguous and host.nbytes and self._device._native.holds(host.ctypes.data, host.nbytes):
            return host.ctypes.data
        for begin, end, other, _, buffer in self._made:
            if (begin, end, other.strides) == (low, high, host.strides):
                return buffer.address
            if host.nbytes and begin < high and low < end:
                raise LaunchError(f"`{name}` shares memory with another argument: use hostwarp.array, which kernels use in place")
        flat = host if contiguous else np.ascontiguousarray(host)
        buffer = self._device._native.buffer(flat.nbytes, name)
        buffer.write(flat.ctypes.data, flat.nbytes)
        self._made.append((low, high, host, flat, buffer))
        return buffer.address

    def back(self) -> None:
        for _, _, host, flat, buffer in self._made:
            # What cannot be written was meant to be read.
            if not host.flags.writeable:
                continue
            buffer.read(flat.ctypes.data, flat.nbytes)
            if flat is not host:
                host[...] = flat


@dataclass(frozen=True)
class CheckResult:
    """Everything that is wrong with a module."""

    ok: bool
    supported: bool
    diagnostics: list[dict[str, Any]]
    rendered: str

    def __bool__(self) -> bool:
        return self.ok


def check(ptx: str | bytes, name: str = "<ptx>") -> CheckResult:
    """Checks PTX without loading it."""
    rendered, lines, wrong, unsupported = _native.check(name, _bytes(ptx))
    return CheckResult(not wrong, not unsupported, [json.loads(line) for line in lines.splitlines()], rendered)


@dataclass(frozen=True)
class Register:
    """A register after :func:`eval`."""

    type: str
    bits: int

    @property
    def value(self) -> int | float:
        kind, width = self.type[0], int("".join(c for c in self.type if c.isdigit()) or 1)
        if self.type in ("f16", "f32", "f64"):
            data = self.bits.to_bytes(width // 8, "little")
            return float(np.frombuffer(data, f"<f{width // 8}")[0])
        if kind == "s" and self.bits >> (width - 1):
            return self.bits - (1 << width)
        return self.bits


def eval(text: str, profile: str = "isa", **registers) -> dict[str, Register]:
    """Runs instructions on registers: ``eval("add.s32 d, a, b", a=1, b=2)["d"].value``. Floats as NumPy scalars: ``a=np.float32(1.5)``."""

    def bits(name: str, value) -> tuple[str, int]:
        if isinstance(value, np.generic):
            return name, int.from_bytes(value.tobytes(), "little")
        if isinstance(value, float):
            raise TypeError(f"{name}: say of what width: np.float32({value})")
        return name, int(value) & ((1 << 128) - 1)

    out = _native.eval(text, [bits(n, v) for n, v in registers.items()], profile)
    return {name: Register(type_, value) for name, type_, value in out}


def explain(name: str) -> str:
    """What there is to say about an instruction or the code of a diagnostic."""
    return _native.explain(name)
