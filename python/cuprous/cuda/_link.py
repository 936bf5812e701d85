"""`link=` and `declare_device`: functions of CUDA C++ and of device code that kernels call."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from cuprous import _core
from cuprous.cuda import config, types
from cuprous.cuda._headers import include_options, with_headers_noted
from cuprous.cuda.errors import LinkerError

#: Kinds of files by extension, as in Numba.
_SOURCES = ("cu",)
_CODE = ("ptx", "cubin", "fatbin", "a", "o", "obj", "lib", "ltoir")


class LinkableCode:
    """Code to link into a kernel, by its contents. The subclass determines the kind.

    Parameters
    ----------
    data : object
        Text or bytes, or a file object.
    name : str, optional
        Its name in messages.
    setup_callback : callable, optional
        Called with each module (`LoadedModule`) that the code is loaded in, before its first launch.
    teardown_callback : callable, optional
        Called with it before it is unloaded: when its kernel is freed, the context is reset, or the program ends.
    nrt : bool, default False
        For Numba's signature; only False.

    Raises
    ------
    NotImplementedError
        For `nrt`.
    TypeError
        For callbacks that cannot be called.

    Examples
    --------
    >>> code = cuda.CUSource('extern "C" __device__ int one(int* result) { *result = 1; return 0; }')
    >>> code.kind
    'cu'
    """

    #: The ending of files of the kind.
    kind = ""

    def __init__(
        self, data: Any, name: str | None = None, setup_callback: Any = None, teardown_callback: Any = None,
        nrt: bool = False,
    ) -> None:  # fmt: skip
        if nrt:
            raise NotImplementedError(f"[{type(self).__name__}] nrt= is not supported; leave it out")
        for what, given in (("setup_callback", setup_callback), ("teardown_callback", teardown_callback)):
            if given is not None and not callable(given):
                raise TypeError(f"{what} must be callable, not {type(given).__name__}")
        self._data = data
        self.name = name or f"<unnamed-{type(self).__name__.lower()}>"
        self.setup_callback = setup_callback
        self.teardown_callback = teardown_callback

    @property
    def data(self) -> Any:
        """The text or bytes."""
        if hasattr(self._data, "read"):
            self._data = self._data.read()
        return self._data


def _kind(name: str, ending: str, what: str) -> type[LinkableCode]:
    return type(name, (LinkableCode,), {"kind": ending, "__doc__": f"{what}, to link into a kernel."})


CUSource = _kind("CUSource", "cu", "CUDA C++")
PTXSource = _kind("PTXSource", "ptx", "PTX")
Cubin = _kind("Cubin", "cubin", "Device code")
Fatbin = _kind("Fatbin", "fatbin", "Device code for several GPUs")
Archive = _kind("Archive", "a", "A library of device code")
Object = _kind("Object", "o", "An object file")
LTOIR = _kind("LTOIR", "ltoir", "Code for link-time optimization")


class Linked(NamedTuple):
    """The code that a kernel is linked with."""

    #: CUDA C++, compiled with the kernel.
    source: str
    #: Include options of the compiler.
    extra: list[str]
    #: Device code: endings, names, contents.
    objects: list[tuple[str, str, bytes]]
    #: Callbacks for loading and unloading of modules.
    callbacks: list[tuple[Any, Any]]


def _piece(item: Any) -> tuple[str, str, bytes]:
    """Returns the extension, name and contents of a file or of a `LinkableCode`."""
    if isinstance(item, LinkableCode):
        data = item.data
        return item.kind, item.name, data.encode() if isinstance(data, str) else bytes(data)
    if not isinstance(item, (str, os.PathLike)):
        raise TypeError(f"[cuda.jit] link takes files and objects such as cuda.CUSource, not {type(item).__name__}")
    name = os.fspath(item)
    ending = os.path.splitext(name)[1].lstrip(".")
    if not ending:
        raise RuntimeError("Don't know how to link file with no extension")
    if ending not in (*_SOURCES, *_CODE):
        raise RuntimeError(f"Don't know how to link file with extension .{ending}")
    if not os.path.exists(name):
        raise LinkerError(f"{name} not found")
    with open(name, "rb") as file:
        return ending, name, file.read()


def linked(function: Any, link: Any) -> Linked:
    """Returns what a function is linked with: `link=`, and the links of the functions that it calls.

    Raises
    ------
    LinkerError
        For a file that does not exist.
    RuntimeError
        For files of unknown kinds.
    """
    items: list[Any] = [link] if isinstance(link, (str, os.PathLike, LinkableCode)) else list(link)
    declared = called(function)
    for one in declared:
        wanted = one.link
        more = [wanted] if isinstance(wanted, (str, os.PathLike, LinkableCode)) else list(wanted or ())
        items.extend(item for item in more if item not in items)
    pieces = [_piece(item) for item in items]
    text = "\n".join(data.decode() for ending, _, data in pieces if ending in _SOURCES)
    objects = [piece for piece in pieces if piece[0] not in _SOURCES]
    if objects:
        # Functions that no CUDA C++ source defines are in device code, so the compiler needs prototypes.
        names = set(re.findall(r"[A-Za-z_]\w*", text))
        text = "\n".join([*(one.prototype() for one in declared if one.name not in names), text])
    coded = [item for item in items if isinstance(item, LinkableCode)]
    callbacks = [(item.setup_callback, item.teardown_callback) for item in coded]
    extra: list[str] = []
    if "#include" in text:
        folders = [os.path.dirname(os.path.abspath(f)) for f in items if isinstance(f, (str, os.PathLike))]
        folders += [folder for folder in config.CUDA_NVRTC_EXTRA_SEARCH_PATHS.split(":") if folder]
        extra = [f"--include-path={folder}" for folder in dict.fromkeys(folders)]
        text = with_headers_noted(text, extra)
        extra += include_options()
    return Linked(text, extra, objects, [both for both in callbacks if any(both)])


class LoadedModule:
    """A module of device code that the driver has loaded, as callbacks get it."""

    def __init__(self, handle: int) -> None:
        #: The driver's `CUmodule`, as a number.
        self.handle = handle

    def __int__(self) -> int:
        return self.handle

    def __repr__(self) -> str:
        return f"<LoadedModule {self.handle:#x}>"


#: What is to be called before modules go.
_teardowns: list[weakref.finalize[Any, Any]] = []


def tear_down() -> None:
    """Unloads the modules that have callbacks."""
    while _teardowns:
        waiting = _teardowns.pop()
        alive = waiting.peek()
        waiting()
        if alive is not None:
            alive[0].forget()


def _run(callbacks: list[Any], module: LoadedModule) -> None:
    for callback in callbacks:
        callback(module)


def loader(callbacks: list[tuple[Any, Any]], kernel: Callable[[], Any]) -> Callable[[int], None]:
    """Returns the function to call with the handle of each module loaded for the kernel that `kernel()` returns."""

    def loaded(handle: int) -> None:
        module = LoadedModule(handle)
        _run([setup for setup, _ in callbacks if setup is not None], module)
        ends = [teardown for _, teardown in callbacks if teardown is not None]
        if ends:
            _teardowns[:] = [waiting for waiting in _teardowns if waiting.alive]
            _teardowns.append(weakref.finalize(kernel(), _run, ends, module))

    return loaded


#: Numbers' names in C.
_C_TYPES = {
    "void": "void", "none": "void", "bool": "bool", "boolean": "bool", "int8": "signed char", "int16": "short",
    "int32": "int", "int64": "long long", "uint8": "unsigned char", "uint16": "unsigned short",
    "uint32": "unsigned int", "uint64": "unsigned long long", "float32": "float", "float64": "double",
}  # fmt: skip


class DeclaredFunction:
    """A function of CUDA C++ that kernels call by its name."""

    def __init__(self, name: str, signature: types.Signature, abi: str, link: Any) -> None:
        self.name = self.__name__ = name
        self.sig = signature
        self.abi = abi
        #: What the kernels that call it are linked with besides their own `link=`.
        self.link = link

    @property
    def _kernel_name(self) -> str:
        args = [arg.key for arg in self.sig.args]
        return _core.declare_linked(self.name, args, self.sig.return_type.key, self.abi == "numba")

    def prototype(self) -> str:
        """The declaration in C++.

        Raises
        ------
        NotImplementedError
            For types without a C name.
        """
        wanted = [self.sig.return_type, *self.sig.args]
        for ty in wanted:
            if str(ty) not in _C_TYPES:
                raise NotImplementedError(
                    f"[cuda.jit] {self.name} takes or gives {ty}, which only CUDA C++ is linked with, not device code"
                )
        result, *params = (_C_TYPES[str(ty)] for ty in wanted)
        if self.abi == "numba":
            result, params = "int", [f"{result}*", *params]
        return f'extern "C" __device__ {result} {self.name}({", ".join(params)});'

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"{self.name} is CUDA C++: kernels can call it")

    def __repr__(self) -> str:
        return f"<cuda function {self.name}: {self.sig}>"


def declare_device(name: str, sig: Any, link: Any = (), use_cooperative: bool = False, abi: str = "numba") -> Any:
    """Declares a function of CUDA C++ that kernels can call.

    Parameters
    ----------
    name : str
        Its name; it is `extern "C" __device__`.
    sig : str or tuple of types
        The types of its arguments and result, which are numbers.
    link : sequence of str, optional
        Its source or device code, as `link=` of `cuda.jit`, which need not name it again then.
    use_cooperative : bool, default False
        For Numba's signature; only False.
    abi : str, default "numba"
        "numba" for `int bar(int* result, int a)`, which returns 0; "c" for `int bar(int a)`.

    Returns
    -------
    callable
        The function, which only kernels call.

    Raises
    ------
    NotImplementedError
        For `use_cooperative`. Arrays and tuples are refused where a kernel calls it.
    TypeError
        For a signature without a return type.

    Examples
    --------
    >>> cuda.declare_device("bar", "int32(int32)")
    <cuda function bar: int32(int32)>
    """
    if use_cooperative:
        raise NotImplementedError("[cuda.declare_device] use_cooperative=True is not supported; leave it out")
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    found = types.signature_of(sig)
    if not isinstance(found, types.Signature):
        raise TypeError("Return type must be provided for device declarations")
    return DeclaredFunction(name, found, abi, link)


def called(function: Any) -> list[DeclaredFunction]:
    """Returns the declared functions that a function and its callees call."""
    found: list[DeclaredFunction] = []
    seen: set[Any] = set()

    def look(function: Any) -> None:
        code = function.__code__
        if code in seen:
            return
        seen.add(code)
        values = [function.__globals__.get(name) for name in code.co_names]
        for cell in function.__closure__ or ():
            try:
                values.append(cell.cell_contents)
            except ValueError:
                continue
        for value in values:
            inner = getattr(value, "py_func", value)
            if isinstance(value, DeclaredFunction):
                if value not in found:
                    found.append(value)
            elif isinstance(inner, FunctionType) and isinstance(value, _core.Kernel):
                look(inner)

    look(function)
    return found
