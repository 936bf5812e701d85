"""`cuda.compile` and related functions: PTX and LTO-IR of functions, for any GPU, without a launch."""

from __future__ import annotations

import re
from typing import Any

from cuprous.cuda import types
from cuprous.cuda._generated_functions import make_function
from cuprous.cuda._jit import jit
from cuprous.cuda._nvrtc import compile_source
from cuprous.cuda._ptx import _target


class _Parameter:
    """A parameter in Numba's calling convention, in which an array is several parameters, two of them unused."""

    def __init__(self, k: int, cpp: str) -> None:
        self.name, self.cpp = f"a{k}", cpp
        found = re.fullmatch(r"(array|strided)<(.*), (\d+)>", cpp)
        #: The declarations, and the statement that builds the array from them.
        self.declared, self.definition = [f"{cpp} {self.name}"], ""
        if found is None:
            return
        kind, item, axes = found[1], found[2], int(found[3])
        shape = [f"{self.name}_shape{axis}" for axis in range(axes)]
        strides = [f"{self.name}_stride{axis}" for axis in range(axes)]
        own = ["void* {}_meminfo", "void* {}_parent", "long long {}_items", "long long {}_itemsize"]
        self.declared = [text.format(self.name) for text in own] + [f"{item}* {self.name}_data"]
        self.declared += [f"long long {part}" for part in shape + strides]
        parts = [f"{self.name}_data", f"{{{', '.join(shape) or '1'}}}"]
        if kind == "strided":
            parts.append(f"{{{', '.join(strides) or '0'}}}")
        self.definition = f"{cpp} {self.name} = {{{', '.join(parts)}}}; "


def _function(
    pyfunc: Any, args: Any, return_type: types.Type | None, options: Any, abi: str, name: str
) -> tuple[str, Any]:
    """Returns the CUDA C++ of a function for external callers, and its return type."""
    for arg in args:
        if arg is types.none or arg.key[0] == "tuple":
            raise NotImplementedError(f"[cuda.compile] a parameter of {arg} is not supported: numbers and arrays are")
    core = jit(device=True, **options)(pyfunc)
    if return_type is not None and return_type is not types.none:
        params = [f"a{k}" for k in range(len(args))]
        names = {"core": core, "result": return_type}
        core = jit(device=True, **options)(
            make_function("converted", params, [f"return result(core({', '.join(params)}))"], names)
        )
    source, own, ret, cpps, key = core.device_code([t.key for t in args], name)
    if key[0] in ("array", "tuple"):
        raise NotImplementedError(f"[cuda.compile] a device function that returns {types._from_key(key)}: numbers are")
    all_params = [_Parameter(k, cpp) for k, cpp in enumerate(cpps)]
    definitions = "".join(p.definition for p in all_params)
    declarations = ", ".join(text for p in all_params for text in p.declared)
    call = f"{own}({', '.join(p.name for p in all_params)})"
    if abi == "kernel":
        thread_limits = options["launch_bounds"] or ()
        thread_limits = (thread_limits,) if isinstance(thread_limits, int) else thread_limits
        bounds = [str(int(n or 0)) for n in thread_limits]
        limits = f"__launch_bounds__({', '.join(bounds)}) " if bounds else ""
        text = f'extern "C" __global__ void {limits}{name}({declarations}) {{ {definitions}{call}; }}'
    elif abi == "c":
        head = f'extern "C" __device__ {ret} {name}({declarations})'
        text = f"{head} {{ {definitions}{'' if ret == 'void' else 'return '}{call}; }}"
    else:
        # Numba's convention: the first parameter points to the result, and the status 0 means no exception.
        out = "void* r" if ret == "void" else f"{ret}* r"
        declarations = f"{out}, {declarations}" if declarations else out
        head = f'extern "C" __device__ int {name}({declarations})'
        text = f"{head} {{ {definitions}{'' if ret == 'void' else '*r = '}{call}; return 0; }}"
    return f"{source}\n{text}\n", types._from_key(key)


def compile(
    pyfunc: Any, sig: Any, debug: bool | None = None, lineinfo: bool = False, device: bool = True,
    fastmath: bool = False, cc: tuple[int, int] | None = None, opt: bool | None = None, abi: str | None = None,
    abi_info: Any = None, output: str = "ptx", forceinline: bool = False, launch_bounds: Any = None,
) -> tuple[Any, types.Type]:  # fmt: skip
    """Compiles a function to PTX or to code for linking.

    Parameters
    ----------
    pyfunc : callable
        The function.
    sig : str or tuple of types
        The types of its arguments, with a type to which the result is converted if there is a return type.
    debug : bool, optional
        Whether to add debug information and to disable optimization.
    lineinfo : bool, default False
        Whether to add source lines.
    device : bool, default True
        True for a device function of numbers, False for a kernel.
    fastmath : bool, default False
        Whether to use approximate functions and divisions.
    cc : pair of ints, optional
        The compute capability, such as (9, 0); by default that of this machine's GPU.
    opt : bool, optional
        Has no effect: PTX is optimized when it is loaded.
    abi : str, optional
        "c" for `int f(int a)`, "numba" for `int f(int* result, int a)`, which returns 0.
    abi_info : dict, optional
        A dict with "abi_name", the name of the function.
    output : str, default "ptx"
        "ptx" for text, or "ltoir" for bytes.
    forceinline : bool, default False
        Has no effect: the compiler decides.
    launch_bounds : int or tuple of ints, optional
        The greatest number of threads of a block, or a tuple that begins with it.

    Returns
    -------
    tuple
        The pair `(code, return type)`.

    Raises
    ------
    NotImplementedError
        For another `abi` or `output`, tuple parameters, and results other than numbers.
    RuntimeError
        If NVRTC is not installed.
    TypeError, TypingError, UnsupportedError
        For a signature or function that cannot be compiled.

    Examples
    --------
    >>> def add(a, b):
    ...     return a + b
    >>> ptx, returns = cuda.compile(add, "int32(int32, int32)", cc=(9, 0))  # doctest: +SKIP
    """
    if abi not in (None, "numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    if abi == "c" and not device:
        raise NotImplementedError("The C ABI is not supported for kernels")
    if forceinline and output != "ltoir":
        raise ValueError("Can only designate forced inlining in LTO-IR")
    if forceinline and not device:
        raise ValueError("Cannot force inlining of kernels")
    if output not in ("ptx", "ltoir"):
        raise NotImplementedError(f"Unsupported output type: {output}")
    found = types.signature_of(sig)
    args, return_type = (found.args, found.return_type) if isinstance(found, types.Signature) else (found, None)
    options = {"fastmath": fastmath, "lineinfo": lineinfo, "launch_bounds": launch_bounds}
    flags = (["--use_fast_math"] if fastmath else []) + (["-lineinfo"] if lineinfo and not debug else [])
    if debug:
        flags.append("--device-debug")
    pyfunc = getattr(pyfunc, "py_func", pyfunc)
    name = re.sub(r"\W", "_", (abi_info or {}).get("abi_name") or pyfunc.__name__)
    if device:
        source, returns = _function(pyfunc, args, return_type, options, abi or "c", name)
        flags.append("--relocatable-device-code=true")
        if forceinline:
            source = source.replace('extern "C" __device__ ', 'extern "C" __device__ __attribute__((always_inline)) ')
    else:
        if return_type is not None and return_type is not types.none:
            raise TypeError("CUDA kernel must have void return type.")
        source, returns = _function(pyfunc, args, None, options, "kernel", name)
        if returns is not types.none:
            raise TypeError("CUDA kernel must have void return type.")
    code = compile_source(source, name, _target(cc), flags, kind="LTOIR" if output == "ltoir" else None).code
    return (code if output == "ltoir" else code.rstrip(b"\0").decode()), returns


def compile_ptx(
    pyfunc: Any, sig: Any, debug: bool | None = None, lineinfo: bool = False, device: bool = False,
    fastmath: bool = False, cc: tuple[int, int] | None = None, opt: bool | None = None, abi: str = "numba",
    abi_info: Any = None, forceinline: bool = False, launch_bounds: Any = None,
) -> tuple[str, types.Type]:  # fmt: skip
    """Returns the PTX of a kernel or of a function.

    Parameters
    ----------
    pyfunc : callable
        The function.
    sig : str or tuple of types
        The types of its arguments, with a type to which the result is converted if there is a return type.
    debug : bool, optional
        Whether to add debug information and to disable optimization.
    lineinfo : bool, default False
        Whether to add source lines.
    device : bool, default False
        True for a device function of numbers, False for a kernel.
    fastmath : bool, default False
        Whether to use approximate functions and divisions.
    cc : pair of ints, optional
        The compute capability, such as (9, 0); by default that of this machine's GPU.
    opt : bool, optional
        Has no effect: PTX is optimized when it is loaded.
    abi : str, default "numba"
        "c" for `int f(int a)`, "numba" for `int f(int* result, int a)`, which returns 0.
    abi_info : dict, optional
        A dict with "abi_name", the name of the function.
    forceinline : bool, default False
        Has no effect: the compiler decides.
    launch_bounds : int or tuple of ints, optional
        The greatest number of threads of a block, or a tuple that begins with it.

    Returns
    -------
    tuple (str, Type)
        The pair `(PTX, return type)`.

    Examples
    --------
    >>> def add(a, b):
    ...     return a + b
    >>> ptx, returns = cuda.compile_ptx(add, "int32(int32, int32)", device=True, cc=(9, 0))  # doctest: +SKIP
    """
    return compile(
        pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, "ptx", forceinline, launch_bounds
    )


def compile_for_current_device(pyfunc: Any, sig: Any, **options: Any) -> tuple[Any, types.Type]:
    """Compiles a function for the current GPU.

    Parameters
    ----------
    pyfunc : callable
        The function.
    sig : str or tuple of types
        The types of its arguments, with a type to which the result is converted if there is a return type.
    **options : any
        The options of `compile`.

    Returns
    -------
    tuple
        The pair `(code, return type)`.

    Examples
    --------
    >>> def add(a, b):
    ...     return a + b
    >>> ptx, returns = cuda.compile_for_current_device(add, "int32(int32, int32)")  # doctest: +SKIP
    """
    return compile(pyfunc, sig, **options)


def compile_ptx_for_current_device(pyfunc: Any, sig: Any, **options: Any) -> tuple[str, types.Type]:
    """Returns the PTX of a kernel or of a function for the current GPU.

    Parameters
    ----------
    pyfunc : callable
        The function.
    sig : str or tuple of types
        The types of its arguments, with a type to which the result is converted if there is a return type.
    **options : any
        The options of `compile`.

    Returns
    -------
    tuple (str, Type)
        The pair `(PTX, return type)`.

    Examples
    --------
    >>> def add(a, b):
    ...     return a + b
    >>> ptx, _ = cuda.compile_ptx_for_current_device(add, "int32(int32, int32)", device=True)  # doctest: +SKIP
    """
    return compile_ptx(pyfunc, sig, **options)


def compile_all(
    pyfunc: Any, sig: Any, debug: bool | None = None, lineinfo: bool = False, device: bool = True,
    fastmath: bool = False, cc: tuple[int, int] | None = None, opt: bool | None = None, abi: str | None = None,
    abi_info: Any = None, output: str = "ltoir", forceinline: bool = False, launch_bounds: Any = None,
) -> tuple[list[Any], types.Type]:  # fmt: skip
    """Compiles a function and returns its code as a list.

    Parameters
    ----------
    pyfunc : callable
        The function.
    sig : str or tuple of types
        The types of its arguments, with a type to which the result is converted if there is a return type.
    debug : bool, optional
        Whether to add debug information and to disable optimization.
    lineinfo : bool, default False
        Whether to add source lines.
    device : bool, default True
        True for a device function of numbers, False for a kernel.
    fastmath : bool, default False
        Whether to use approximate functions and divisions.
    cc : pair of ints, optional
        The compute capability, such as (9, 0); by default that of this machine's GPU.
    opt : bool, optional
        Has no effect: PTX is optimized when it is loaded.
    abi : str, optional
        "c" for `int f(int a)`, "numba" for `int f(int* result, int a)`, which returns 0.
    abi_info : dict, optional
        A dict with "abi_name", the name of the function.
    output : str, default "ltoir"
        "ptx" for text, or "ltoir" for bytes.
    forceinline : bool, default False
        Has no effect: the compiler decides.
    launch_bounds : int or tuple of ints, optional
        The greatest number of threads of a block, or a tuple that begins with it.

    Returns
    -------
    tuple (list, Type)
        The pair `([code], return type)`.

    Examples
    --------
    >>> def add(a, b):
    ...     return a + b
    >>> codes, returns = cuda.compile_all(add, "int32(int32, int32)", cc=(9, 0))  # doctest: +SKIP
    """
    code, returns = compile(
        pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, output, forceinline, launch_bounds
    )
    return [code], returns
