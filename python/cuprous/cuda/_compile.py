"""`cuda.compile` and its like: PTX of kernels, for this GPU or for another one, without launching them."""

from __future__ import annotations

from typing import Any

from cuprous.cuda import types
from cuprous.cuda._device import Device, is_available
from cuprous.cuda._jit import Dispatcher, jit


def _target(cc: tuple[int, int] | None) -> str:
    """The target of a compute capability; without one, this machine's GPU, else what runs on all that are supported."""
    if cc is None:
        return f"compute_{Device().compute_capability}" if is_available() else "compute_75"
    return f"compute_{cc[0]}{cc[1]}"


def ptx(kernel: Dispatcher, args: Any, cc: tuple[int, int] | None = None, flags: Any = ()) -> str:
    """The PTX of a kernel for arguments of such types."""
    from cuprous._nvrtc import compile_source

    source = kernel.cuda_code([t.key for t in args], True, True)
    name = str(kernel.py_func.__name__)
    return compile_source(source, name, _target(cc), flags).code.rstrip(b"\0").decode()


def compile(
    pyfunc: Any, sig: Any, debug: bool | None = None, lineinfo: bool = False, device: bool = True,
    fastmath: bool = False, cc: tuple[int, int] | None = None, opt: bool | None = None, abi: str = "c",
    abi_info: Any = None, output: str = "ptx", forceinline: bool = False, launch_bounds: Any = None,
) -> tuple[str, types.Type]:  # fmt: skip
    """A kernel's PTX, and what it returns: nothing.

    Args:
        pyfunc: the function.
        sig: the types of its arguments.
        lineinfo, fastmath, launch_bounds: as for `cuda.jit`.
        cc: the compute capability to compile for, (9, 0); that of this machine's GPU if None.

    Raises:
        NotImplementedError: for device functions (`device=True`), `debug`, `opt=False`, `abi_info`, `output="ltoir"`.
        RuntimeError: where NVRTC is not installed.
        TypeError, TypingError, UnsupportedError: for a signature or function that cannot be compiled.
    """
    if output not in ("ptx", "ltoir"):
        raise NotImplementedError(f"Unsupported output type: {output}")
    for name, given in (
        ("device=True", device), ("debug", debug), ("opt=False", opt is False), ("abi_info", abi_info),
        ("output='ltoir'", output == "ltoir"),
    ):  # fmt: skip
        if given:
            raise NotImplementedError(f"[cuda.compile] {name} is not supported; kernels become PTX (device=False)")
    kernel: Dispatcher = jit(lineinfo=lineinfo, fastmath=fastmath, launch_bounds=launch_bounds)(pyfunc)
    found = types.signature_of(sig)
    if isinstance(found, types.Signature) and found.return_type is not types.none:
        raise TypeError("CUDA kernel must have void return type.")
    args = found.args if isinstance(found, types.Signature) else found
    flags = (["--use_fast_math"] if fastmath else []) + (["-lineinfo"] if lineinfo else [])
    return ptx(kernel, args, cc, flags), types.none


def compile_ptx(
    pyfunc: Any, sig: Any, debug: bool | None = None, lineinfo: bool = False, device: bool = False,
    fastmath: bool = False, cc: tuple[int, int] | None = None, opt: bool | None = None, abi: str = "numba",
    abi_info: Any = None, forceinline: bool = False, launch_bounds: Any = None,
) -> tuple[str, types.Type]:  # fmt: skip
    """A kernel's PTX: see `compile`."""
    return compile(
        pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, "ptx", forceinline, launch_bounds
    )  # fmt: skip


def compile_for_current_device(pyfunc: Any, sig: Any, **options: Any) -> tuple[str, types.Type]:
    """`compile` for the current GPU."""
    return compile(pyfunc, sig, **options)


def compile_ptx_for_current_device(pyfunc: Any, sig: Any, **options: Any) -> tuple[str, types.Type]:
    """`compile_ptx` for the current GPU."""
    return compile_ptx(pyfunc, sig, **options)


__all__ = ["compile", "compile_for_current_device", "compile_ptx", "compile_ptx_for_current_device"]
