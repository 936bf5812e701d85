"""The intrinsics of kernels. Outside a kernel a call raises RuntimeError."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

#: The module of docstrings. It is for people, not for programs, so it is imported when it is needed.
_DOCS = "cuprous.cuda._intrinsic_docs"


class _Documentation:
    """The attribute `__doc__` of intrinsics, which is composed when it is read.

    Parameters
    ----------
    doc : str
        The docstring of the class, and of intrinsics without a row.
    """

    def __init__(self, doc: str) -> None:
        self._doc = doc

    def __get__(self, intrinsic: Any, owner: Any = None) -> str:
        docs = import_module(_DOCS)
        name = "" if intrinsic is None else intrinsic._kernel_name.removeprefix("cuda.")
        return docs.docstring(name) if name in docs.ROWS else self._doc


class _Signature:
    """The attribute `__signature__` of intrinsics, which is composed when it is read."""

    def __get__(self, intrinsic: Any, owner: Any = None) -> Any:
        docs = import_module(_DOCS)
        name = "" if intrinsic is None else intrinsic._kernel_name.removeprefix("cuda.")
        if name not in docs.ROWS:
            raise AttributeError("__signature__")
        return docs.signature(name)


class _Intrinsic:
    __doc__ = _Documentation("A name that can be used only in kernels.")
    __signature__ = _Signature()

    def __init__(self, name: str) -> None:
        self._kernel_name = name
        self.__name__ = name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self._kernel_name} can only be called in a kernel (a function with @cuda.jit)")

    def __repr__(self) -> str:
        return f"<{self._kernel_name} of kernels>"


class Vector(_Intrinsic):
    __doc__ = _Documentation("A vector type, which kernels call to create a vector.")

    #: Its other names.
    aliases: tuple[str, ...] = ()


class _Group:
    """A namespace of intrinsics, such as `cuda.atomic`. Members are what its class annotates, and `members`."""

    def __init__(self, name: str, members: str = "") -> None:
        self._group = name
        for member in [*type(self).__annotations__, *members.split()]:
            setattr(self, member, _Intrinsic(f"{name}.{member}"))

    if not TYPE_CHECKING:  # which would hide misspelled names

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"{self._group} has no {name!r}")

    def __repr__(self) -> str:
        return f"<{self._group} of kernels>"


class Dim3(_Group):
    __doc__ = _Documentation("An index or extent in three dimensions: `cuda.threadIdx.x`.")
    x: int
    y: int
    z: int

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._kernel_name = name


class _Arrays(_Group):
    array: Any


class _Constants(_Group):
    array_like: Any


class _Atomic(_Group):
    add: Any
    sub: Any
    and_: Any
    or_: Any
    xor: Any
    inc: Any
    dec: Any
    exch: Any
    max: Any
    min: Any
    nanmax: Any
    nanmin: Any
    cas: Any
    compare_and_swap: Any


class _Half(_Group):
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


threadIdx, blockIdx = Dim3("cuda.threadIdx"), Dim3("cuda.blockIdx")
blockDim, gridDim = Dim3("cuda.blockDim"), Dim3("cuda.gridDim")
laneid: int = _Intrinsic("cuda.laneid")  # type: ignore[assignment]  # in kernels it is a number
warpsize = 32
shared, local = _Arrays("cuda.shared"), _Arrays("cuda.local")
const, atomic = _Constants("cuda.const"), _Atomic("cuda.atomic")

fp16 = _Half(
    "cuda.fp16",
    "hadd hsub hmul hdiv hneg habs hfma heq hne hge hgt hle hlt hmax hmin hsin hcos hlog hlog2 hlog10 hexp hexp2 "
    "hexp10 hsqrt hrsqrt hrcp hceil hfloor htrunc hrint htanh htanh_approx",
)

#: CUDA's names of vectors, by the type of their elements: `float3` is `float32x3`.
_VECTORS = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar", "uint16": "ushort",
    "uint32": "uint", "uint64": "ulong", "float32": "float", "float64": "double",
}  # fmt: skip
VECTORS: dict[str, Vector] = {}
for _dtype, _name in _VECTORS.items():
    for _n in range(1, 5):
        VECTORS[f"{_dtype}x{_n}"] = VECTORS[f"{_name}{_n}"] = Vector(f"cuda.{_dtype}x{_n}")
        VECTORS[f"{_dtype}x{_n}"].aliases = (f"{_name}{_n}",)
        if _dtype in ("int64", "uint64"):
            VECTORS[f"{_name}long{_n}"] = VECTORS[f"{_dtype}x{_n}"]
            VECTORS[f"{_dtype}x{_n}"].aliases += (f"{_name}long{_n}",)

#: Everything else, by name.
FUNCTIONS = [
    "grid", "gridsize", "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp",
    "threadfence", "threadfence_block", "threadfence_system", "nanosleep", "activemask", "lanemask_lt", "all_sync",
    "any_sync", "eq_sync", "ballot_sync", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
    "match_any_sync", "match_all_sync", "popc", "brev", "clz", "ffs", "selp", "ldca", "ldcg", "ldcs", "ldlu", "ldcv",
    "stcg", "stcs", "stwb", "stwt", "fma", "cbrt", "rsqrt", "sinpi", "cospi",
]  # fmt: skip
for _name in FUNCTIONS:
    globals()[_name] = _Intrinsic(f"cuda.{_name}")


def __getattr__(name: str) -> Any:
    """Raises AttributeError. Exists to tell type checkers that the module has more names than are written out."""
    raise AttributeError(f"module 'cuprous.cuda._intrinsics' has no attribute {name!r}")
