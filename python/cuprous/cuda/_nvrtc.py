"""NVRTC from Python, for what the engine does not need: PTX, mangled names, and code for other GPUs.

Kernels that run here are compiled by the engine. The library is the one in NVIDIA's wheel, or the system's. Code for
GPUs of AMD is compiled by hiprtc, through the engine.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cuprous import _core

#: Options for code that is linked later.
SEPARATE = frozenset(("-dc", "--device-c", "-rdc=true", "--relocatable-device-code=true"))


class Compiled(NamedTuple):
    """The result of a compilation: device code or PTX, the compiler's log, and mangled names."""

    code: bytes
    log: str
    names: dict[str, str]


def wheel_roots() -> list[Path]:
    """Returns the directories of NVIDIA's wheels."""
    import importlib.util

    roots = os.environ.get("CUPROUS_NVIDIA_ROOTS")
    if roots:
        return [Path(root) for root in roots.split(os.pathsep)]
    spec = importlib.util.find_spec("nvidia")
    return [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []


def toolkits() -> list[Path]:
    """Returns the directories of toolkits: CUDA_HOME, CUDA_PATH, and the default one."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return [*named, Path("/usr/local/cuda")]


@functools.cache
def _library() -> ctypes.CDLL:
    pattern = "*/bin/**/nvrtc64_*.dll" if sys.platform == "win32" else "*/lib/libnvrtc.so.*"
    found = [str(f) for root in wheel_roots() for f in sorted(root.glob(pattern)) if "alt" not in f.name]
    system = ["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"] if sys.platform == "win32" else [
        "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
    ]  # fmt: skip
    for path in [*reversed(found), *system]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise RuntimeError("NVRTC was not found: pip install nvidia-cuda-nvrtc")


def _described(status: int) -> str:
    describe = _library().nvrtcGetErrorString
    describe.restype = ctypes.c_char_p
    text: str = describe(status).decode()
    return text


def _call(name: str, *args: Any) -> None:
    status = getattr(_library(), name)(*args)
    if status:
        raise RuntimeError(f"{name}: {_described(status)}")


def version() -> tuple[int, int]:
    """NVRTC's version.

    Raises
    ------
    RuntimeError
        If NVRTC is not installed, with what to install.
    """
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def architectures() -> list[int]:
    """Returns the targets that it compiles for, such as 90 for sm_90."""
    count = ctypes.c_int()
    _call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
    found = (ctypes.c_int * count.value)()
    _call("nvrtcGetSupportedArchs", found)
    return list(found)


def _text(program: ctypes.c_void_p, size: str, get: str) -> bytes:
    length = ctypes.c_size_t()
    _call(size, program, ctypes.byref(length))
    buffer = ctypes.create_string_buffer(max(length.value, 1))
    _call(get, program, buffer)
    return buffer.raw[: length.value]


def compile_source(
    source: str, name: str, target: str, options: Sequence[str] = (), expressions: Sequence[str] = (),
    kind: str | None = None, headers: Mapping[str, str] | None = None,
) -> Compiled:  # fmt: skip
    """Compiles CUDA C++: to device code for a target as `sm_90` or AMD's `gfx90a`, to PTX for one as `compute_90`.

    Parameters
    ----------
    source : str
        The source.
    name : str
        What messages call it.
    target : str
        What to compile for.
    options : sequence of str, optional
        Further options of the compiler.
    kind : str, optional
        "PTX", "CUBIN" or "LTOIR" (link-time code); what the target says if it is None.
    headers : mapping of str to str, optional
        What files of these names hold that the source includes.
    expressions : sequence of str, optional
        Names such as `sum<float>` that are wanted as the linker knows them; templates are instantiated.

    Raises
    ------
    RuntimeError
        If there is no NVRTC (for AMD: hiprtc), or the source has errors: the message is the compiler's log with the
        lines around the first error.
    """
    if target.startswith("gfx"):
        code, log, found = _core.compile_code(source, name, target, list(options), list(expressions))
        return Compiled(code, log, dict(zip(expressions, found, strict=True)))
    said = [option.lstrip("-") for option in options]
    defaults = [] if any(o.startswith("std") for o in said) else ["--std=c++17"]
    lto = ["-dlto"] if kind == "LTOIR" else []
    arguments = [f"--gpu-architecture={target}", "-default-device", *lto, *defaults, *options]
    encoded = (ctypes.c_char_p * len(arguments))(*(a.encode() for a in arguments))
    program = ctypes.c_void_p()
    header_texts = headers or {}
    texts = (ctypes.c_char_p * len(header_texts))(*(text.encode() for text in header_texts.values()))
    names_of = (ctypes.c_char_p * len(header_texts))(*(file.encode() for file in header_texts))
    _call(
        "nvrtcCreateProgram", ctypes.byref(program), source.encode(), name.encode(), len(header_texts), texts, names_of
    )
    try:
        for expression in expressions:
            _call("nvrtcAddNameExpression", program, expression.encode())
        failed = _library().nvrtcCompileProgram(program, len(arguments), encoded)
        log = _text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0\n").decode(errors="replace")
        if failed:
            what = f"[{name}] the source does not compile ({_described(failed)})"

            shown = [excerpt(source, log, name), _core.missing_header(log)]
            raise RuntimeError("\n".join([what, log, *filter(None, shown)]).rstrip())
        names = {}
        for expression in expressions:
            lowered = ctypes.c_char_p()
            _call("nvrtcGetLoweredName", program, expression.encode(), ctypes.byref(lowered))
            names[expression] = (lowered.value or b"").decode()
        kind = kind or ("PTX" if target.startswith("compute_") else "CUBIN")
        return Compiled(_text(program, f"nvrtcGet{kind}Size", f"nvrtcGet{kind}"), log, names)
    finally:
        _call("nvrtcDestroyProgram", ctypes.byref(program))


def excerpt(source: str, log: str, name: str) -> str:
    """Returns the numbered lines around the first error."""
    import re

    found = re.search(rf"{re.escape(name)}\((\d+)\): error", log)
    if not found:
        return ""
    line = int(found[1])
    shown = list(enumerate(source.splitlines(), 1))[max(line - 5, 0) : line + 4]
    return "\n".join(f"{'>' if n == line else ' '}{n:5} | {text}" for n, text in shown)
