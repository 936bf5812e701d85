"""Dtypes: limits, the default, promotion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._core import Tensor
from cuprous.torch._args import by_name
from cuprous.torch._types import DTYPES, FLOAT8, dtype, dtype_name


class finfo:
    """Limits of a float dtype: eps, max, min, tiny, smallest_normal, resolution, bits, dtype.

    Parameters
    ----------
    type : dtype, optional
        A floating dtype, by default the default dtype.

    Raises
    ------
    TypeError
        For other dtypes.

    See Also
    --------
    torch.iinfo, torch.dtype

    Examples
    --------
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        import ml_dtypes

        if type in FLOAT8.values():
            name = type.name
            info = ml_dtypes.finfo(getattr(ml_dtypes, name))
        else:
            name = _core.t_default_dtype() if type is None else dtype_name(type)
            if name not in DTYPES or (not DTYPES[name].is_floating_point and not DTYPES[name].is_complex):
                raise TypeError(f"torch.finfo() requires a floating point dtype, got {name}; use torch.iinfo")
            info = ml_dtypes.finfo(_dtypes.numpy_dtype(name))
        self.dtype, self.bits = name, int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")  # fmt: skip


class iinfo:
    """Limits of an integer dtype: max, min, bits, dtype.

    Parameters
    ----------
    type : dtype
        An integer dtype.

    Raises
    ------
    TypeError
        For other dtypes.

    See Also
    --------
    torch.dtype, torch.finfo

    Examples
    --------
    >>> torch.iinfo(torch.int8).max
    127
    """

    def __init__(self, type: Any) -> None:
        name = dtype_name(type)
        if _dtypes.kind(name) not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer dtype, got {name}; use torch.finfo for floats")
        self.dtype, self.bits = name, 8 * _dtypes.itemsize(name)
        self.max, self.min = int(_dtypes.highest(name)), int(_dtypes.lowest(name))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def get_default_dtype() -> dtype:
    """Returns the dtype that floats get unless another is given.

    Returns
    -------
    dtype

    See Also
    --------
    torch.set_default_tensor_type, torch.set_default_device, torch.get_default_device, torch.set_default_dtype

    Examples
    --------
    >>> torch.get_default_dtype()
    torch.float32
    """
    return DTYPES[_core.t_default_dtype()]


def set_default_dtype(d: Any) -> None:
    """Sets the dtype that floats get unless another is given.

    Parameters
    ----------
    d : dtype
        A floating dtype.

    Raises
    ------
    TypeError
        For other dtypes.

    See Also
    --------
    torch.get_default_dtype, torch.set_default_tensor_type, torch.set_default_device, torch.get_default_device

    Examples
    --------
    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(1.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    _core.t_set_default_dtype(dtype_name(d))


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Returns the dtype of the result of an operation on two operands.

    Parameters
    ----------
    tensor1 : Tensor or number
        A tensor or number.
    tensor2 : Tensor or number
        A tensor or number.

    Returns
    -------
    dtype

    See Also
    --------
    torch.promote_types, torch.can_cast

    Examples
    --------
    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    return DTYPES[_core.t_result_type(tensor1, tensor2)]


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Returns the smallest dtype to which both can be cast.

    Parameters
    ----------
    type1 : dtype
        A dtype.
    type2 : dtype
        A dtype.

    Returns
    -------
    dtype

    See Also
    --------
    torch.can_cast, torch.result_type

    Examples
    --------
    >>> torch.promote_types(torch.int32, torch.float32)
    torch.float32
    """
    return DTYPES[_core.t_promote_types(type1.name, type2.name)]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Returns True if a cast keeps the kind, which it does not from complex to float, from float to integer, or from
    integer to bool.

    Parameters
    ----------
    from_ : dtype
        A dtype.
    to : dtype
        A dtype.

    Returns
    -------
    bool

    See Also
    --------
    torch.result_type, torch.promote_types

    Examples
    --------
    >>> torch.can_cast(torch.float64, torch.int32)
    False
    """
    rank = [d.is_complex * 3 or d.is_floating_point * 2 or (d.name != "bool") * 1 for d in (from_, to)]
    return rank[0] <= rank[1]


def numel(input: Tensor) -> int:
    """Returns the number of elements.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    int

    See Also
    --------
    torch.typename

    Examples
    --------
    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Returns True if the dtype is a float.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    bool

    See Also
    --------
    torch.is_complex, torch.is_signed, torch.is_tensor, torch.is_storage

    Examples
    --------
    >>> torch.is_floating_point(torch.tensor([1.0]))
    True
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Returns True if the dtype is complex.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    bool

    See Also
    --------
    torch.is_signed, torch.is_tensor, torch.is_storage, torch.is_floating_point

    Examples
    --------
    >>> torch.is_complex(torch.tensor([1j]))
    True
    """
    return input.is_complex()


def _answer(
    name: str, found: Callable[[Tensor], bool], summary: str, related: str, example: str
) -> Callable[[Tensor], bool]:
    def query(input: Tensor) -> bool:
        return found(input)

    query.__name__ = query.__qualname__ = name
    call, result = example.split(" -> ")
    query.__doc__ = f"""Returns {summary}.

    Parameters
    ----------
    input : Tensor
        A tensor.

    Returns
    -------
    bool

    See Also
    --------
    {related}

    Examples
    --------
    >>> {call}
    {result}
    """
    return query


_SIGNED = ("int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
is_signed = _answer("is_signed", lambda x: x.dtype_name in _SIGNED, "whether a dtype has negative numbers",
                    "torch.is_floating_point, torch.is_complex, torch.iinfo",
                    "torch.is_signed(torch.ones(1)) -> True")  # fmt: skip
is_conj = _answer("is_conj", lambda _: False, "False: conjugation is computed and not remembered",
                  "torch.conj, torch.resolve_conj, torch.is_neg",
                  "torch.is_conj(torch.ones(1).conj()) -> False")  # fmt: skip
is_neg = _answer("is_neg", lambda _: False, "False: negation is computed and not remembered",
                 "torch.neg, torch.resolve_neg, torch.is_conj",
                 "torch.is_neg(-torch.ones(1)) -> False")  # fmt: skip
is_distributed = _answer("is_distributed", lambda _: False, "False: the older kind of distributed tensors",
                         "torch.distributed.tensor.DTensor",
                         "torch.is_distributed(torch.ones(1)) -> False")  # fmt: skip


def resolve_conj(input: Tensor) -> Tensor:
    """Returns the tensor itself: conjugation is computed and not remembered.

    Parameters
    ----------
    input : Tensor
        A tensor.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.resolve_neg, torch.conj

    Examples
    --------
    >>> torch.resolve_conj(torch.ones(1))
    tensor([1.])
    """
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """Returns the tensor itself: negation is computed and not remembered.

    Parameters
    ----------
    input : Tensor
        A tensor.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.conj, torch.resolve_conj

    Examples
    --------
    >>> torch.resolve_neg(torch.ones(1))
    tensor([1.])
    """
    return input


FUNCTIONS = by_name(finfo, iinfo, get_default_dtype, set_default_dtype, result_type, promote_types, can_cast, numel,
                    is_floating_point, is_complex, is_signed, is_conj, is_neg, is_distributed, resolve_conj,
                    resolve_neg)  # fmt: skip
METHODS = by_name(is_conj, is_neg, is_distributed)
