"""PyTorch's names of parameters, where a function has another name for one or takes it by position.

Every function and method of `torch` gets what its own signature lacks of the tables below, and of NumPy's names
`axis` and `keepdims`. A function that lacks nothing is left as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from cuprous.torch._args import write_outs

#: NumPy's names, which PyTorch takes as well.
_NUMPY = {"axis": "dim", "keepdims": "keepdim"}

_PRODUCTS = {"addmm": "mat1 mat2", "addmv": "mat vec", "baddbmm": "batch1 batch2", "addbmm": "batch1 batch2",
             "addr": "vec1 vec2"}  # fmt: skip
#: Functions of one matrix that PyTorch calls `input`.
_OF_A = (
    "cholesky cholesky_ex cond det eig eigh eigvals eigvalsh householder_product inverse logdet lstsq matrix_exp "
    "matrix_norm matrix_power matrix_rank norm pinv slogdet solve_triangular tensorinv tensorsolve"
)
_PARTS = {"indices": "indices_or_sections", "sections": "indices_or_sections",
          "tensor_indices_or_sections": "indices_or_sections"}  # fmt: skip
#: Function -> PyTorch's name -> the name here. A row counts for the form that writes to its first argument, too.
RENAMED: dict[str, dict[str, str]] = {
    **{name: dict(zip(theirs.split(), ("first", "second"), strict=True)) for name, theirs in _PRODUCTS.items()},
    **{name: {"input": "A"} for name in _OF_A.split()},
    **{name: _PARTS for name in ("tensor_split", "hsplit", "vsplit", "dsplit")},
    **{name: {"mat2": "other"} for name in ("mm", "bmm", "spmm")},
    **{name: {"other": "dim"} for name in ("max", "min")},
    "cholesky_inverse": {"input": "L"},
    "cholesky_solve": {"input": "B", "input2": "L"},
    "copy": {"other": "src"},
    "dot": {"tensor": "other"},
    "float_power": {"exponent": "other"},
    "heaviside": {"values": "other"},
    "index_fill": {"value": "source"},
    "isin": {"element": "elements", "test_element": "test_elements"},
    "lu_solve": {"input": "b"},
    "multi_dot": {"input": "tensors"},
    "mv": {"vec": "other"},
    "ormqr": {"input2": "tau", "input3": "other"},
    "pinverse": {"input": "A", "rcond": "rtol"},
    "searchsorted": {"values": "input"},
    "smm": {"mat2": "mat"},
    "split": {"split_size": "split_size_or_sections", "split_sizes": "split_size_or_sections"},
    "swapaxes": {"axis0": "dim0", "axis1": "dim1"},
    "triangular_solve": {"input": "b"},
    "uniform": {"from": "a", "to": "b"},
    "vector_norm": {"input": "x"},
}

#: Function -> the names of parameters that it takes by position alone, in their order.
POSITIONAL: dict[str, tuple[str, ...]] = {
    "broadcast_to": ("size",), "chain_matmul": ("matrices",), "expand": ("size",), "flip": ("dims",),
    "new_empty": ("size",), "new_full": ("size", "fill_value"), "new_ones": ("size",), "new_tensor": ("data",),
    "new_zeros": ("size",), "permute": ("dims",), "random_": ("from", "to"), "repeat": ("repeats",),
    "reshape": ("shape",), "result_type": ("scalar", "scalar1", "tensor", "other", "scalar2"),
    "sparse_csc_tensor": ("ccol_indices", "row_indices"), "sparse_csr_tensor": ("crow_indices", "col_indices"),
    "sum_to_size": ("size",), "tile": ("dims",), "to": ("other",), "view": ("size",),
}  # fmt: skip

#: Functions that write their result to `out` here, because they do not do it themselves.
_OUT = (
    "addbmm addmm addmv addr aminmax argmax argmin argsort baddbmm bucketize chain_matmul cholesky cholesky_ex "
    "cholesky_inverse cholesky_solve column_stack cross cummax cummin diag diag_embed diff dstack frexp gather "
    "hardshrink histc hstack index_add index_copy index_reduce index_select inner inv_ex isin isneginf isposinf kron "
    "kthvalue ldexp log_softmax logcumsumexp lu_unpack masked_select median mode msort mvlgamma nanmean nanmedian "
    "nanquantile nansum nonzero orgqr polar qr quantile renorm row_stack scatter scatter_add scatter_reduce "
    "searchsorted sigmoid slice_scatter slogdet softmax solve_ex sort std_mean svd take take_along_dim tensordot "
    "threshold topk var_mean vdot vecdot vstack"
)
OUT = frozenset(_OUT.split())
#: Products that compute in the dtype `out_dtype`.
OUT_DTYPE = frozenset(("addmm", "baddbmm", "bmm", "mm"))


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names that a function's own signature has; for a form that writes to its first argument, those of
    the function."""
    while (inner := getattr(function, "__wrapped__", None) or getattr(function, "forwards_to", None)) is not None:
        function = inner
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def accepted(name: str, function: Callable[..., Any]) -> dict[str, str]:
    """Returns PyTorch's names of parameters that have another name in a function's signature, with that name."""
    own = parameters(function)
    numpy = {theirs: ours for theirs, ours in _NUMPY.items() if ours in own and theirs not in own}
    renamed = RENAMED.get(name) or RENAMED.get(name.removesuffix("_"), {})
    return numpy | {theirs: ours for theirs, ours in renamed.items() if theirs not in own and ours in own}


def accepting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes all of PyTorch's names; the function itself if it does."""
    renamed, by_position = accepted(name, function), POSITIONAL.get(name, ())
    own = parameters(function)
    by_position = tuple(theirs for theirs in by_position if theirs not in own)
    takes_out, takes_dtype = name in OUT and "out" not in own, name in OUT_DTYPE and "out_dtype" not in own
    if not (renamed or by_position or takes_out or takes_dtype):
        return function

    def translate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = kwargs.pop("out", None) if takes_out else None
        dtype = kwargs.pop("out_dtype", None) if takes_dtype else None
        for theirs in renamed.keys() & kwargs.keys():
            if renamed[theirs] in kwargs:
                raise TypeError(f"{name}() got multiple values for argument '{renamed[theirs]}'")
            kwargs[renamed[theirs]] = kwargs.pop(theirs)
        args += tuple(kwargs.pop(theirs) for theirs in by_position if theirs in kwargs)
        if dtype is not None:
            args = tuple(x.to(dtype) for x in args)
            kwargs = {key: x.to(dtype) if hasattr(x, "to") else x for key, x in kwargs.items()}
        result = function(*args, **kwargs)
        return write_outs(out, result)

    special = frozenset((*renamed, *by_position, *(["out"] * takes_out), *(["out_dtype"] * takes_dtype)))

    @functools.wraps(function)
    def accept(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return function(*args)
        return function(*args, **kwargs) if special.isdisjoint(kwargs) else translate(args, kwargs)

    accept.__module__, accept.__qualname__ = "cuprous.torch", name  # where it is found, also by pickle
    return accept


@functools.cache
def _cached(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return accepting(name, function)


#: Functions that may lack a name. So may those that have a parameter `dim` or `keepdim`.
_NAMED = frozenset((*RENAMED, *POSITIONAL, *OUT, *OUT_DTYPE))


def complete(table: Mapping[str, Any]) -> dict[str, Any]:
    """Returns functions by name that take all of PyTorch's names of parameters."""
    completed = {}
    for name, f in table.items():
        own = parameters(f)
        lacks = hasattr(f, "__code__") and (
            name in _NAMED or name.removesuffix("_") in RENAMED or "dim" in own or "keepdim" in own
        )
        completed[name] = _cached(name, f) if lacks else f
    return completed


__all__ = ["OUT", "OUT_DTYPE", "POSITIONAL", "RENAMED", "accepted", "complete", "parameters"]
