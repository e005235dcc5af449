"""``pytest --hostwarp``: a session with the drop-in CUDA libraries in place of NVIDIA's.

The system's loader reads LD_LIBRARY_PATH when a process begins, so pytest is begun again with it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def directory() -> Path:
    """Where the libraries are: HOSTWARP_DROPIN, or what the wheel has."""
    said = os.environ.get("HOSTWARP_DROPIN")
    found = Path(said) if said else Path(__file__).with_name("dropin")
    if not (found / "libcuda.so.1").exists():
        raise FileNotFoundError(f"--hostwarp: there is no libcuda.so.1 in {found}; `cargo xtask dropin` makes it, HOSTWARP_DROPIN says where it is")
    return found


def pytest_addoption(parser):
    parser.addoption("--hostwarp", action="store_true", help="run with Hostwarp's CUDA libraries in place of NVIDIA's")


def pytest_load_initial_conftests(early_config, parser, args):
    if not early_config.known_args_namespace.hostwarp or os.environ.get("HOSTWARP_PYTEST") == str(os.getpid()):
        return
    import pytest

    try:
        libraries = str(directory())
    except FileNotFoundError as error:
        raise pytest.UsageError(str(error)) from None
    more = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = f"{libraries}:{more}" if more else libraries
    os.environ["TRITON_LIBCUDA_PATH"] = libraries
    # The process keeps its number, so it knows that it has been here.
    os.environ["HOSTWARP_PYTEST"] = str(os.getpid())
    sys.stdout.flush()
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *early_config.invocation_params.args])


def pytest_report_header(config):
    if config.getoption("hostwarp"):
        return f"hostwarp: CUDA libraries from {directory()}"
