"""PTX that tinygrad's own renderer makes: `tinygrad_kernels.py FOLDER`."""

import os
import pathlib
import sys

os.environ["DEV"] = "PYTHON"
from tinygrad import Tensor, dtypes
from tinygrad.codegen import to_program
from tinygrad.helpers import Target
from tinygrad.renderer.ptx import PTXRenderer
from tinygrad.uop.ops import Ops

PROGRAMS = {
    "add": lambda: Tensor.empty(1000) + Tensor.empty(1000),
    "matmul": lambda: Tensor.empty(64, 48) @ Tensor.empty(48, 80),
    "matmul_half": lambda: Tensor.empty(64, 64, dtype=dtypes.half) @ Tensor.empty(64, 64, dtype=dtypes.half),
    "sum": lambda: Tensor.empty(5000).sum(),
    "softmax": lambda: Tensor.empty(16, 100).softmax(),
    "conv": lambda: Tensor.empty(1, 3, 16, 16).conv2d(Tensor.empty(8, 3, 3, 3)).relu(),
    "gelu": lambda: Tensor.empty(300).gelu(),
    "sin": lambda: Tensor.empty(300).sin() + Tensor.empty(300).log(),
    "int": lambda: (Tensor.empty(300, dtype=dtypes.int) // 7) % 5,
    "long": lambda: Tensor.empty(300, dtype=dtypes.int64) * 3 + 1,
    "double": lambda: Tensor.empty(300, dtype=dtypes.double).sqrt() / 3,
    "cast": lambda: Tensor.empty(300, dtype=dtypes.uint8).cast(dtypes.half) + 1,
    "where": lambda: (Tensor.empty(300) > 0).where(Tensor.empty(300), 2),
    "argmax": lambda: Tensor.empty(20, 30).argmax(1),
    "cumsum": lambda: Tensor.empty(300).cumsum(),
}

folder = pathlib.Path(sys.argv[1])
for sm in (75, 86, 90):
    renderer = PTXRenderer(Target(device="CUDA", arch=f"sm_{sm}"))
    for name, program in PROGRAMS.items():
        sinks = [u for u in program().schedule_linear().toposort() if u.op is Ops.SINK and u.arg is not None]
        for i, sink in enumerate(sinks):
            binary = next(u.arg for u in to_program(sink, renderer).src if u.op is Ops.BINARY)
            (folder / f"tinygrad_{name}{i or ''}.sm{sm}.ptx").write_text(binary.decode())
