"""`torch.testing`: comparison of tensors, and random tensors for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _comparisons, _creation, _placeholders, _random_numbers, _types
from cuprous.torch._memory_format import in_format

#: The tolerances (relative, absolute) of dtypes; others must be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool =
                 True,
                 check_layout: bool = True, check_stride: bool = False, msg: Any = None) -> None:  # fmt: skip
    """Checks that tensors, numbers, or containers of them are close: |actual - expected| ≤ atol + rtol · |expected|.

    Parameters
    ----------
    actual : array_like
        The tensor, number or container.
    expected : array_like
        What it should be.
    allow_subclasses : bool, default True
        For PyTorch's signature; it has no effect.
    rtol : float, optional
        The relative tolerance, by default one for the dtype.
    atol : float, optional
        The absolute tolerance, by default one for the dtype.
    equal_nan : bool, default False
        Whether NaN is close to NaN.
    check_device : bool, default True
        Whether devices have to be equal.
    check_dtype : bool, default True
        Whether dtypes have to be equal.
    check_layout : bool, default True
        For PyTorch's signature; it has no effect.
    check_stride : bool, default False
        Whether strides have to be equal.
    msg : str or callable, optional
        The message of the error, or a function of the usual one.

    Raises
    ------
    AssertionError
        If they are not, or if shapes, dtypes or devices differ.
    ValueError
        If only one tolerance is given.

    See Also
    --------
    torch.testing.assert_allclose, torch.testing.make_tensor

    Examples
    --------
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified, but got no "
            f"{'rtol' if rtol is None else 'atol'} instead."
        )

    def fail(text: str) -> None:
        raise AssertionError(msg(text) if callable(msg) else msg or text)

    def check(a: Any, b: Any, path: str) -> None:
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                fail(f"The keys of the mappings do not match: {sorted(a.keys() ^ b.keys())}")
            for key in a:
                check(a[key], b[key], f"{path}[{key!r}]")
        elif isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
            if len(a) != len(b):
                fail(f"The length of the sequences mismatch: {len(a)} != {len(b)}")
            for index, (x, y) in enumerate(zip(a, b, strict=True)):
                check(x, y, f"{path}[{index}]")
        else:
            _check_tensors(a, b, path)

    def _check_tensors(a: Any, b: Any, path: str) -> None:
        numbers = not isinstance(a, Tensor) or not isinstance(b, Tensor)
        if a is None or b is None:
            return fail(f"None mismatch: {a} is not {b}") if a is not b else None
        x, y = (t if isinstance(t, Tensor) else _creation.as_tensor(t) for t in (a, b))
        where = f" at {path}" if path else ""
        if x.dims != y.dims:
            fail(f"The values for attribute 'shape' do not match: {x.shape} != {y.shape}{where}.")
        if check_device and x.device_name != y.device_name:
            fail(f"The values for attribute 'device' do not match: {x.device} != {y.device}{where}.")
        if check_dtype and not numbers and x.dtype is not y.dtype:
            fail(f"The values for attribute 'dtype' do not match: {x.dtype} != {y.dtype}{where}.")
        if check_stride and x.stride_tuple() != y.stride_tuple():
            fail(f"The values for attribute 'stride()' do not match: {x.stride()} != {y.stride()}{where}.")
        bounds = [_TOLERANCES.get(t.dtype_name, (0.0, 0.0)) for t in (x, y)]
        relative = max(bound[0] for bound in bounds) if rtol is None else rtol
        absolute = max(bound[1] for bound in bounds) if atol is None else atol
        kind = _core.t_promote_types(x.dtype_name, y.dtype_name)
        p, q = (t.detach().cpu().to(_types.DTYPES[kind]) for t in (x, y))
        near = _comparisons.isclose(p, q, relative, absolute, equal_nan)
        if not bool(near.all()):
            wrong = ~near.numpy()
            u, v = (t.double() if not t.is_complex() else t for t in (p, q))
            gap = np.abs(u.numpy() - v.numpy())
            worst = np.unravel_index(int(np.nanargmax(np.where(wrong, np.nan_to_num(gap, nan=np.inf), -1))), gap.shape)
            fail(
                f"Tensor-likes are not close!{where}\n\nMismatched elements: {int(wrong.sum())} / {wrong.size} "
                f"({100 * wrong.mean():.1f}%)\nGreatest absolute difference: {float(gap[worst])} at index "
                f"{tuple(int(i) for i in worst)} (up to {absolute} allowed)\n(up to {relative} relative allowed)"
            )

    check(actual, expected, "")


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
                    equal_nan: bool = True, msg: str = "") -> None:  # fmt: skip
    """Checks as `assert_close` does, but compares dtypes and devices as values. It is deprecated in PyTorch.

    Parameters
    ----------
    actual : Tensor or number
        The tensor or number.
    expected : array_like
        What it should be.
    rtol : float, optional
        The relative tolerance, by default one for the dtype.
    atol : float, optional
        The absolute tolerance, by default one for the dtype.
    equal_nan : bool, default True
        Whether NaN is close to NaN.
    msg : str, default ""
        The message of the error.

    See Also
    --------
    torch.testing.make_tensor, torch.testing.assert_close

    Examples
    --------
    >>> torch.testing.assert_allclose(torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64))
    """
    actual, expected = _creation.as_tensor(actual), _creation.as_tensor(expected)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
                 msg=msg or None)  # fmt: skip


def make_tensor(*shape: Any, dtype: Any, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:  # fmt: skip
    """Returns a tensor of uniform random numbers.

    Parameters
    ----------
    *shape : int or sequence of ints
        The extents, as integers or as one sequence.
    dtype : dtype
        The dtype.
    device : device or str
        The device.
    low : float, optional
        The lower bound, by default -9, and 0 for bool and uint8.
    high : float, optional
        The upper bound, which is not included, by default 9, and 2 for bool.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    noncontiguous : bool, default False
        Whether the tensor has gaps in memory.
    exclude_zero : bool, default False
        Whether zeros are replaced.
    memory_format : memory_format, optional
        The order of dimensions in memory, by default row-major.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    See Also
    --------
    torch.testing.assert_close, torch.testing.assert_allclose

    Examples
    --------
    >>> torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    extents = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    name = dtype.name
    unsigned = name == "bool" or name.startswith("uint")
    least = (0 if unsigned else -9) if low is None else low
    most = ((2 if name == "bool" else 10) if not dtype.is_floating_point else 9) if high is None else high
    if dtype.is_floating_point or dtype.is_complex:
        result = _random_numbers.rand(*extents, dtype=dtype, device=device) * (most - least) + least
    else:
        result = _random_numbers.randint(int(least), int(most), tuple(extents), device=device).to(dtype)
    if exclude_zero:
        result = _comparisons.where(result == 0, _creation.ones_like(result), result)
    if noncontiguous and result.numel() > 1:
        result = result.repeat_interleave(2, -1)[..., ::2]
    return in_format(result, memory_format).requires_grad_(requires_grad)


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("testing", name)


__all__ = ["assert_allclose", "assert_close", "make_tensor"]
