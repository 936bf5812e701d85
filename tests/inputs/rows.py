"""Calls of the public array functions that tests/arrays/test_every_function.py does not call: `call(xp, x)`.

These are functions of `linalg` and `fft`, functions that create arrays from numbers, and host functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cuprous as cp
from cuprous._unsupported import Unsupported
from tests.arrays.test_every_function import TABLE

Call = Callable[[Any, Any], Any]


def _named(prefix: str, *names: str) -> dict[str, Call]:
    """Returns calls of functions with one array."""
    return {prefix + name: lambda xp, x, name=name: function(xp, prefix + name)(x) for name in names}


def _definite(xp: Any, x: Any) -> Any:
    return xp.matmul(x, xp.conj(xp.swapaxes(x, -1, -2))) + 9 * xp.eye(x.shape[-2])


def _magnitudes(xp: Any, values: Any) -> Any:
    """Returns values that do not depend on the order or phase of eigenvalues."""
    return xp.sort(xp.abs(values), axis=-1)


#: Decompositions, reduced to values that are unique, without the signs of vectors.
LINALG: dict[str, Call] = {
    **_named("linalg.", "cond", "det", "diagonal", "eigvalsh", "inv", "matrix_norm", "matrix_rank", "matrix_transpose",
             "norm", "pinv", "svdvals", "trace"),
    "linalg.cholesky": lambda xp, x: xp.linalg.cholesky(_definite(xp, x)),
    "linalg.cross": lambda xp, x: xp.linalg.cross(x, x[..., ::-1]),
    "linalg.eig": lambda xp, x: _magnitudes(xp, xp.linalg.eig(x)[0]),
    "linalg.eigh": lambda xp, x: xp.linalg.eigh(x)[0],
    "linalg.eigvals": lambda xp, x: _magnitudes(xp, xp.linalg.eigvals(x)),
    "linalg.lstsq": lambda xp, x: xp.linalg.lstsq(x, x[..., 0])[0],
    "linalg.matmul": lambda xp, x: xp.linalg.matmul(x, x),
    "linalg.matrix_power": lambda xp, x: xp.linalg.matrix_power(x, 3),
    "linalg.multi_dot": lambda xp, x: xp.linalg.multi_dot([x, x, x]),
    "linalg.norm axis": lambda xp, x: xp.linalg.norm(x, axis=-1, keepdims=True),
    "linalg.norm 1": lambda xp, x: xp.linalg.norm(x, 1),
    "linalg.outer": lambda xp, x: xp.linalg.outer(x[..., 0], x[0]),
    "linalg.qr": lambda xp, x: xp.abs(xp.linalg.qr(x, "r")),
    "linalg.slogdet": lambda xp, x: tuple(xp.linalg.slogdet(x)),
    "linalg.solve": lambda xp, x: xp.linalg.solve(x, x[..., :1]),
    "linalg.svd": lambda xp, x: xp.linalg.svd(x)[1],
    "linalg.tensordot": lambda xp, x: xp.linalg.tensordot(x, x, axes=1),
    "linalg.tensorinv": lambda xp, x: xp.linalg.tensorinv(x, ind=1),
    "linalg.tensorsolve": lambda xp, x: xp.linalg.tensorsolve(x, x[..., 0]),
    "linalg.vecdot": lambda xp, x: xp.linalg.vecdot(x, x),
    "linalg.vector_norm": lambda xp, x: xp.linalg.vector_norm(x, axis=0),
}  # fmt: skip


def _transforms() -> dict[str, Call]:
    """Returns calls of every transform, with options for length, norm and axes."""
    calls: dict[str, Call] = {}
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        for label, options in (("", {}), (" n", {"n": 6}), (" axis", {"axis": 0, "norm": "ortho"})):
            calls[f"fft.{name}{label}"] = lambda xp, x, name=name, options=options: getattr(xp.fft, name)(x, **options)
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
        for label, options in (("", {}), (" s", {"s": (4, 2), "axes": (0, -1)})):
            calls[f"fft.{name}{label}"] = lambda xp, x, name=name, options=options: getattr(xp.fft, name)(x, **options)
    for name in ("fftshift", "ifftshift"):
        calls[f"fft.{name}"] = lambda xp, x, name=name: getattr(xp.fft, name)(x)
        calls[f"fft.{name} axes"] = lambda xp, x, name=name: getattr(xp.fft, name)(x, axes=-1)
    return calls


FFT = _transforms()

#: More functions of one array.
ARRAYS: dict[str, Call] = {
    **_named("", "amax", "amin", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "require",
             "iterable", "isscalar", "roots"),
    "argpartition": lambda xp, x: xp.take_along_axis(x, xp.argpartition(x, 0, axis=-1), -1)[..., 0],
    "common_type": lambda xp, x: str(np.dtype(xp.common_type(x))),
    "einsum_path": lambda xp, x: xp.einsum_path("i,i->i", x, x)[0],
    "may_share_memory": lambda xp, x: bool(xp.may_share_memory(x, x[1:])),
    "shares_memory": lambda xp, x: bool(xp.shares_memory(x[::2], x[1::2])),
    "ndenumerate": lambda xp, x: [(i, float(xp.real(v))) for i, v in xp.ndenumerate(x)],
    "polyfit": lambda xp, x: xp.polyfit(xp.arange(len(x)), x, 1),
    "unravel_index": lambda xp, x: xp.unravel_index(xp.abs(x).astype(int), (5, 3)),
    "ravel_multi_index": lambda xp, x: xp.ravel_multi_index([xp.abs(x).astype(int)] * 2, (5, 7)),
    "mask_indices": lambda xp, x: xp.mask_indices(len(x), xp.triu),
    "bitwise_left_shift": lambda xp, x: xp.bitwise_left_shift(x, 1),
    "bitwise_right_shift": lambda xp, x: xp.bitwise_right_shift(x, 1),
}  # fmt: skip

#: Functions of numbers, with valid and invalid arguments; each is a separate test.
NUMBERS: dict[str, list[tuple[Any, ...]]] = {
    "arange": [(5,), (1, 2, 0.25), (5, 0, -2), (0,), ("x",), (0, 3, 0), ()],
    "bartlett": [(5,), (0,), (1,), (-2,), ("x",), (2.5,), (1.5,)],
    "blackman": [(5,), (0,), (1,), (-2,), ("x",), (3.2,)],
    "hamming": [(5,), (0,), (1,), (-2,), ("x",)],
    "hanning": [(5,), (0,), (1,), (-2,), ("x",)],
    "kaiser": [(5, 2.0), (0, 1), (1, 1), (-2, 1), ("x", 1), (2.5, 3)],
    "broadcast_shapes": [((2, 1), (3,)), ((2,), (3,)), (), (5, (1,)), ((-1,),), ("x",)],
    "can_cast": [("int8", "int16"), ("f8", "f4"), ("f8", "f4", "same_kind"), ("f8", "f4", "bogus"),
        ("x", "f4"), (1, "f4")],
    "diag_indices": [(3,), (3, 3), (0,), (-1,), ("x",)],
    "empty": [((0, 3),), ((-1,),), ("x",), (1.5,), ((2, None),), (0, "no-such")],
    "eye": [(3,), (2, 3, 1), (3, None, -9), (0,), (-1,), ("x",), (1.5,)],
    "full": [((2, 3), 1), ((2,), [1, 2]), ((2,), [1, 2, 3]), ((-1,), 0), ((2,), 300, "uint8")],
    "geomspace": [(1, 8, 4), (1, 8, 0), (0, 8, 3), (1, 8, -1), (-1, -8, 3), (1, 8, 2.5)],
    "identity": [(3,), (0,), (-1,), ("x",), (1.5,)],
    "indices": [((2, 3),), ((),), ((-1,),), ("x",), ((0, 2),)],
    "isdtype": [("float32", "integral"), (np.dtype("float32"), "real floating"), (np.dtype("i4"), "bogus"),
        (np.dtype("i4"), 1)],
    "linspace": [(0, 1, 5), (0, 1, 1), (0, 1, 0), (0, 1, -1), (0, 1, 2.5), ([0, 1], [2, 3], 3), ([0, 1], [1, 2, 3]),
        ("x", 1)],
    "logspace": [(0, 2, 3), (0, 2, 0), (0, 2, -1), (0, 2, 2.5)],
    "min_scalar_type": [(10,), (-300,), (1e300,), (1j,), (2**70,)],
    "ones": [((2, 0),), ((-1,),), ("x",), (1.5,), (2, "no-such")],
    "promote_types": [("i4", "f4"), ("u8", "i8"), ("x", "i4"), ("i4",)],
    "tri": [(3,), (2, 3, 1), (0,), (-1,), ("x",)],
    "tril_indices": [(3,), (3, 1, 4), (0,), ("x",)],
    "triu_indices": [(3,), (3, -1, 4), (0,), ("x",)],
    "zeros": [((2, 0),), ((-1,),), ("x",), (1.5,), (2, "no-such"), ((2**40, 2**40),)],
    "iinfo": [("int8",), ("f4",), ("x",)],
    "ndindex": [((2, 2),), ((0,),), ((-1,),), ("x",)],
    "fft.fftfreq": [(5,), (4, 0.5), (0,), (-1,), (1.5,), ("x",)],
    "fft.rfftfreq": [(5,), (4, 0.5), (0,), (-1,), (1.5,), ("x",)],
}  # fmt: skip

#: Names that do not compute on arrays, or that NumPy lacks -> the file that tests them.
ELSEWHERE = {
    **dict.fromkeys(("load", "loadtxt", "genfromtxt", "save", "savetxt", "savez", "savez_compressed", "who"),
                    "arrays/test_printing_and_io.py"),
    "fromfile": "arrays/test_methods.py",
    **dict.fromkeys(("frombuffer", "fromfunction", "fromiter", "fromstring"), "arrays/test_creation.py"),
    **dict.fromkeys(("from_dlpack", "fuse", "get_default_memory_pool", "get_default_pinned_memory_pool",
                     "show_config"), "arrays/test_interop.py"),
    "get_array_module": "arrays/test_elementwise.py",
    **dict.fromkeys(("asnumpy", "explain", "show_code", "synchronize"), "test_tour.py"),
    **dict.fromkeys(("estimate", "estimate_simple", "timeit"), "test_estimate.py"),
    "paced": "test_notebook.py",
    "estimate_scaling": "test_scaling.py",
    **dict.fromkeys(("bind", "bound", "real_package", "unbind"), "runner/test_real.py"),
    "profile": "test_profile.py",
    **dict.fromkeys(("get_device", "set_device"), "test_errors.py"),
    **dict.fromkeys(("TransferWarning", "get_transfers", "set_transfers"), "arrays/test_host_access.py"),
    "__array_namespace_info__": "test_array_api.py",
}  # fmt: skip

#: Names that NumPy has removed or never had, as equivalent NumPy calls.
NOT_IN_NUMPY: dict[str, tuple[Call, Call]] = {
    "asfarray": (lambda xp, x: xp.asfarray(x), lambda xp, x: xp.asarray(x, dtype=float)),
    "in1d": (lambda xp, x: xp.in1d(x, x[:1]), lambda xp, x: xp.isin(x, x[:1]).ravel()),
    "row_stack": (lambda xp, x: xp.row_stack((x, x)), lambda xp, x: xp.vstack((x, x))),
    "rsqrt": (lambda xp, x: xp.rsqrt(x), lambda xp, x: 1 / xp.sqrt(x)),
    "topk": (lambda xp, x: xp.topk(x, 2)[0], lambda xp, x: xp.sort(x)[..., :-3:-1]),
}

CALLS: dict[str, Call] = {**TABLE, **ARRAYS, **LINALG, **FFT}


def public() -> list[str]:
    """Returns the functions of NumPy's three modules by their qualified names."""
    found = []
    for prefix, module in (("", cp), ("linalg.", cp.linalg), ("fft.", cp.fft)):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, (type, Unsupported)):
                found.append(prefix + name)
    return found


def function(xp: Any, name: str) -> Any:
    """Returns the function of a name such as "linalg.norm"."""
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp
