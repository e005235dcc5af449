"""numba-cuda's own packaged tests, module by module. Fails where a test fails that is not in EXPECTED, or no longer fails that is."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

NO_CUPY = "CuPy is not installed"
EXPECTED = {
    "test_device_arch_specific": "tensormap.replace is not there yet",
    "test_set_registers_no_max": "asserts how many registers ptxas takes",
    "test_declare_device_cabi_pointer_return": "declares a function with a result that its definition has not; nvlink refuses it too",
    "test_declare_device_cabi_void_return": "declares a function with a result that its definition has not; nvlink refuses it too",
    "test_dump_assembly": "wants no warning, and numba-cuda warns where there is no nvJitLink",
    "test_efficient_launch_configuration": "wants no warning, and numba-cuda warns where there is no nvJitLink",
    "test_ipc_array": "no IPC",
    "test_ipc_handle": "no IPC",
    "test_ipc_handle_serialization": "no IPC",
    "test_staged": "no IPC",
    "test_fork": "numba-cuda's exception cannot be pickled on its way from the child",
    "test_cpu_and_cuda_reuse": "expects numba's cache for the CPU in the place of numba-cuda's",
    "test_cpu_and_cuda_targets": "expects numba's cache for the CPU in the place of numba-cuda's",
    "test_datetime_cupy_inputs": NO_CUPY,
    "test_fortran_contiguous": NO_CUPY,
    "test_kernel_with_buffer": NO_CUPY,
    "test_kernel_with_strided_memory_view": NO_CUPY,
}

root = pathlib.Path(importlib.util.find_spec("numba_cuda").submodule_search_locations[0], "numba/cuda/tests")
names = sorted(
    f"{file.parent.name}.{file.stem}"
    for part in ["core", "cudadrv", "cudapy", "doc_examples", "nocuda", "nrt"]
    for file in (root / part).glob("test_*.py")
)
env = os.environ | {"HOSTWARP_PAD": "1"}  # some read a few elements past what they allocated, as a GPU lets them
ran = skipped = 0
failed, broken, skipped_modules = {}, [], []
names = sys.argv[1:] or names
for name in names:
    command = [sys.executable, "-m", "numba.runtests", "-v", f"numba.cuda.tests.{name}"]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=900)
    except subprocess.TimeoutExpired:
        broken.append(f"{name}: not done in 15 minutes")
        continue
    summary = re.search(r"^Ran (\d+) tests?", done.stderr, re.M)
    if summary is None and re.search(r"^Skipped: ", done.stderr, re.M):
        skipped_modules.append(name)
        continue
    if summary is None:
        broken.append(f"{name}: {(done.stderr.strip() or done.stdout.strip() or 'nothing was printed').splitlines()[-1]}")
        continue
    ran += int(summary[1])
    for count in re.findall(r"skipped=(\d+)", done.stderr)[-1:]:
        skipped += int(count)
    for test in re.findall(r"^(?:ERROR|FAIL): (\w+)", done.stderr, re.M):
        failed[test] = name
print(f"{ran} tests of {len(names)} modules: {ran - skipped - len(failed)} pass, {skipped} are skipped, {len(failed)} fail")
for test, name in failed.items():
    print(f"  {name} {test}: {EXPECTED.get(test, 'NOT EXPECTED')}")
print(f"  not there without CuPy: {', '.join(skipped_modules) or 'nothing'}")
for line in broken:
    print(f"  {line}")
sys.exit(bool(broken or set(failed) - set(EXPECTED)))
