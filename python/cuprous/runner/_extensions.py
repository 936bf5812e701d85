"""Extension modules that are compiled against PyTorch's C++ libraries, which Cuprous does not have."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder

#: File names of PyTorch's libraries, as they stand in the table of strings of whatever is linked against them.
_LIBRARIES = tuple(
    f"lib{name}.{suffix}\0".encode()
    for name in ("c10", "torch", "torch_cpu", "torch_python", "torch_cuda")
    for suffix in ("so", "dylib")
)


def refuse_extension(name: str, path: Sequence[str] | None) -> None:
    """Refuses to import an extension module that is linked against PyTorch.

    Raises
    ------
    ImportError
        If the module is such an extension.
    """
    if name.partition(".")[0] in sys.stdlib_module_names:
        return
    spec = PathFinder.find_spec(name, path)
    if spec is None or spec.origin is None or not spec.origin.endswith(tuple(EXTENSION_SUFFIXES)):
        return
    if needs_torch(spec.origin):
        raise ImportError(refusal(name.partition(".")[0], name), name=name, path=spec.origin)


def needs_torch(file: str) -> bool:
    """Returns True if a shared library is linked against PyTorch's."""
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(library) >= 0 for library in _LIBRARIES)


def refusal(library: str, what: str) -> str:
    """Returns the message for a compiled part of a library."""
    return (
        f"{library} is compiled against PyTorch's C++ library ({what}), and torch is bound to Cuprous, which has "
        f"none: run without {library} (most models have a plain implementation beside it), write its kernel with "
        "cuprous.cuda.jit or RawKernel, or run the program without `cuprous run`"
    )
