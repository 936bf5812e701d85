"""`link=` and `declare_device`: functions of CUDA C++ that kernels call."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous.cuda import types

#: Files by their ending, as Numba tells them apart.
_SOURCES = ("cu",)
_CODE = ("ptx", "cubin", "fatbin", "a", "o", "obj", "lib", "ltoir")


class LinkableCode:
    """Code to link, by its contents: the class says of which kind.

    Args:
        data: text or bytes, or a file object.
        name: what messages call it.
    """

    #: The ending of files of the kind.
    kind = ""

    def __init__(
        self, data: Any, name: str | None = None, setup_callback: Any = None, teardown_callback: Any = None,
        nrt: bool = False,
    ) -> None:  # fmt: skip
        for what, given in (("setup_callback", setup_callback), ("teardown_callback", teardown_callback), ("nrt", nrt)):
            if given:
                raise NotImplementedError(f"[{type(self).__name__}] {what}= is not supported; leave it out")
        self._data = data
        self.name = name or f"<unnamed-{type(self).__name__.lower()}>"

    @property
    def data(self) -> Any:
        """Its text or bytes."""
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


def _source(item: Any) -> str:
    """The CUDA C++ of a file, or of an object that has some."""
    from cuprous.cuda.errors import LinkerError

    if isinstance(item, LinkableCode):
        ending, name = item.kind, item.name
    elif isinstance(item, (str, os.PathLike)):
        name = os.fspath(item)
        ending = os.path.splitext(name)[1].lstrip(".")
        if not ending:
            raise RuntimeError("Don't know how to link file with no extension")
        if ending not in (*_SOURCES, *_CODE):
            raise RuntimeError(f"Don't know how to link file with extension .{ending}")
        if not os.path.exists(name):
            raise LinkerError(f"{name} not found")
    else:
        raise TypeError(f"[cuda.jit] link takes files and objects such as cuda.CUSource, not {type(item).__name__}")
    if ending not in _SOURCES:
        raise NotImplementedError(
            f"[cuda.jit] link of {name}: only CUDA C++ is linked (.cu, cuda.CUSource), compiled with the kernel;"
            " load device code with cuprous.RawModule(path=…)"
        )
    if not isinstance(item, LinkableCode):
        with open(name, encoding="utf-8") as file:
            return file.read()
    text = item.data
    return text.decode() if isinstance(text, bytes) else str(text)


def sources(link: Any) -> str:
    """The CUDA C++ of all that `link=` has.

    Raises:
        LinkerError: for a file that is not there.
        NotImplementedError: for device code.
        RuntimeError: for files of other kinds.
    """
    items: Iterable[Any] = [link] if isinstance(link, (str, os.PathLike, LinkableCode)) else link
    return "\n".join(_source(item) for item in items)


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

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"{self.name} is CUDA C++: kernels can call it")

    def __repr__(self) -> str:
        return f"<cuda function {self.name}: {self.sig}>"


def declare_device(name: str, sig: Any, link: Any = (), use_cooperative: bool = False, abi: str = "numba") -> Any:
    """A function of CUDA C++ that kernels linked with it call: `bar = cuda.declare_device("bar", "int32(int32)")`.

    Args:
        name: its name; it is `extern "C" __device__`.
        sig: what it takes and returns, numbers all.
        link: its source, as the `link=` of `cuda.jit`, which need not name it again then.
        abi: "numba": it is `int bar(int* result, int a)` and returns 0; "c": it is `int bar(int a)`.

    Raises:
        NotImplementedError: for `use_cooperative`. Arrays and tuples are refused where a kernel calls it.
        TypeError: for a signature without a return type.
    """
    if use_cooperative:
        raise NotImplementedError("[cuda.declare_device] use_cooperative=True is not supported; leave it out")
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    found = types.signature_of(sig)
    if not isinstance(found, types.Signature):
        raise TypeError("Return type must be provided for device declarations")
    return DeclaredFunction(name, found, abi, link)


def called(function: Any) -> list[Any]:
    """What the functions of CUDA C++ that a kernel names want to be linked with."""
    code = function.__code__
    cells = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            continue
    names = {**{name: function.__globals__.get(name) for name in code.co_names}, **cells}
    found: list[Any] = []
    for value in names.values():
        if isinstance(value, DeclaredFunction) and value.link:
            link = value.link
            items = [link] if isinstance(link, (str, os.PathLike, LinkableCode)) else list(link)
            found.extend(item for item in items if item not in found)
    return found
