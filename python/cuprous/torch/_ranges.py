"""Creation of ranges and of identity matrices."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import astype
from cuprous.torch._creation import _configured, _options
from cuprous.torch._types import (
    DTYPES,
)


def _count(start: float, end: float, step: float) -> int:
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if step == 0 or step != step:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    return math.ceil((end - start) / step)


def arange(start: Any, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None,
           device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns the numbers from `start` to below `end` in steps.

    Parameters
    ----------
    start : number
        The first number; with one argument, the end, and numbers start at 0.
    end : number, optional
        The bound, which is not included.
    step : number, default 1
        The difference of neighbors.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default int64 if all arguments are integers, otherwise the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of one dimension.

    See Also
    --------
    torch.linspace, torch.logspace

    Examples
    --------
    >>> torch.arange(3)
    tensor([0, 1, 2])
    >>> torch.arange(1.0, 2.0, 0.5)
    tensor([1.0000, 1.5000])
    """
    if end is None:
        start, end = 0, start
    start, end, step = (x.item() if isinstance(x, Tensor) else x for x in (start, end, step))
    whole = all(isinstance(x, int) for x in (start, end, step))
    name, device_name = _options("arange", out, dtype, device, layout, "int64" if whole else None)
    n = _count(start, end, step)
    if not whole and not (DTYPES[name].is_floating_point or DTYPES[name].is_complex):
        # PyTorch truncates the bounds, those of int64 before it counts and those of other integers afterwards.
        n = _count(int(start), int(end), int(step)) if name == "int64" else n
        start, step, whole = int(start), int(step), True
    if whole:
        values = _core.t_iota([n], [step], start, device_name)
    else:
        wide = name if DTYPES[name].is_complex else "float64"
        scaled = _core.t_map("multiply", _core.t_iota([n], [1], 0, device_name), step, dtype=wide)
        values = _core.t_map("add", scaled, start)
    return _configured(astype(values, name), requires_grad, pin_memory, out)


def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns evenly spaced numbers from `start` to `end`, both included.

    Parameters
    ----------
    start : scalar
        The first number.
    end : number
        The last number.
    steps : int
        The number of elements.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of shape (steps).

    See Also
    --------
    torch.logspace, torch.arange

    Examples
    --------
    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    name, device_name = _options("linspace", out, dtype, device, layout)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    whole = not (DTYPES[name].is_floating_point or DTYPES[name].is_complex)
    start, end = (float(int(x) if whole else x) for x in (start, end))  # PyTorch truncates the bounds
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    index = _core.t_iota([steps], [1], 0, device_name)
    forward = _core.t_map("add", _core.t_map("multiply", index, step, dtype="float64"), start)
    backward = _core.t_map("subtract", end, _core.t_map("multiply", (steps - 1) - index, step, dtype="float64"))
    values = _core.t_map("where", index < steps // 2, forward, backward) if steps > 1 else forward
    return _configured(_core.t_cast(values, name), requires_grad, pin_memory, out)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **options: Any) -> Tensor:
    """Returns powers whose exponents are evenly spaced from `start` to `end`.

    Parameters
    ----------
    start : scalar
        The exponent of the first number.
    end : number
        The exponent of the last number.
    steps : int
        The number of elements.
    base : float, default 10.0
        The base.
    **options : any
        The keywords of `linspace`.

    Returns
    -------
    Tensor
        A tensor of shape (steps).

    See Also
    --------
    torch.arange, torch.linspace

    Examples
    --------
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    requires_grad, pin_memory, out = (options.pop(name, None) for name in ("requires_grad", "pin_memory", "out"))
    if out is not None:
        options = {"dtype": out.dtype, "device": out.device} | options
    name = _options("logspace", out, options.pop("dtype", None), options.get("device"), options.get("layout"))[0]
    kind = DTYPES[name]
    if not (kind.is_floating_point or kind.is_complex):
        start, end = int(start), int(end)
    exponents = linspace(start, end, steps, dtype=kind if kind.is_floating_point else DTYPES["float64"], **options)
    powers = astype(_core.t_map("power", base, exponents), name)
    return _configured(powers, bool(requires_grad), bool(pin_memory), out)


def eye(n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns a matrix with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        The number of rows.
    m : int, optional
        The number of columns, by default `n`.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of shape (n, m).

    See Also
    --------
    torch.empty, torch.zeros, torch.ones, torch.full

    Examples
    --------
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    name, device_name = _options("eye", out, dtype, device, layout)
    m = n if m is None else m
    equal = _core.t_iota([n, m], [1, 0], 0, device_name) == _core.t_iota([n, m], [0, 1], 0, device_name)
    return _configured(_core.t_cast(equal, name), requires_grad, pin_memory, out)


__all__ = ["arange", "eye", "linspace", "logspace"]
