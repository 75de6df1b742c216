"""Loads libtorch's two libraries, without importing torch, before the extension that needs them.

Waiting threads of libgomp spin for milliseconds by default; beside other work on the cores that makes training several times slower.
The runtime reads how long once, when it is loaded, so this works where torch was not imported before; else see
python/bindings/calm_threads.h."""
import ctypes
import importlib.util
import os
import pathlib
import sys

_SPIN = "GOMP_SPINCOUNT"


def _torch_folder() -> pathlib.Path:
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise ImportError("protogcd needs torch: pip install 'torch==2.13.*'")
    return pathlib.Path(next(iter(found.submodule_search_locations)))


def load() -> bool:
    """Whether the runtime was loaded by somebody else before, with its own idea of waiting."""
    if "torch" in sys.modules:
        return _SPIN not in os.environ and "OMP_WAIT_POLICY" not in os.environ
    lent = _SPIN not in os.environ and "OMP_WAIT_POLICY" not in os.environ
    if lent:
        os.environ[_SPIN] = "2000"
    try:
        libraries = _torch_folder() / "lib"
        for name in ("libgomp.so.1", "libc10.so", "libtorch_cpu.so"):
            if (libraries / name).exists():
                ctypes.CDLL(str(libraries / name))
    finally:
        if lent:  # read by now; the environment is as it was
            del os.environ[_SPIN]
    return False
