"""Discrete Fourier transforms: `torch.fft`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.fft import _transforms
from cuprous.torch import _args, _joining
from cuprous.torch._args import wrap_dim, write_out
from cuprous.torch._info import get_default_dtype
from cuprous.torch._keywords import complete as _complete
from cuprous.torch._ranges import arange
from cuprous.torch.autograd import Function

_map = _core.t_map
_BACK = {"forward": "backward", "backward": "forward", "real": "half", "half": "real"}


class _Transform(Function):
    """One transform along some dimensions, with `n` points along the last of them. It is linear; its backward pass is
    the transform with the opposite sign of the exponent and the same normalization."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kind: str, dims: list[int], n: int, by: str) -> Tensor:
        ctx.rest = kind, dims, n, by
        return _core.t_wrap(_core.fft(x.as_array(), kind, dims, n, by))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        kind, dims, n, by = ctx.rest
        if kind == "real":
            # A value of the half spectrum that stands for two values is counted twice in the backward pass.
            g = _weighted(g, dims[-1], n, 0.5)
        dx = _Transform.apply(g, _BACK[kind], dims, n, by)
        if kind == "half":
            dx = _weighted(dx, dims[-1], n, 2.0)
        return dx, None, None, None, None


def _weighted(half: Tensor, dim: int, n: int, weight: float) -> Tensor:
    """Scales a half spectrum by a weight, except its first value and, for even n, its last."""
    positions = _core.t_iota([half.dims[dim]], [1], 0, half.device_name)
    unpaired = _map("equal", positions, 0)
    if n % 2 == 0:
        unpaired = _map("logical_or", unpaired, _map("equal", positions, n // 2))
    factor = _map("where", unpaired, 1.0, _core.t_full([], weight, _component(half), half.device_name))
    return half * factor.reshape([-1] + [1] * (half.ndim - 1 - dim))


def _component(x: Tensor) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(x.dtype_name, x.dtype_name)


def _truncate_or_pad(x: Tensor, n: int, dim: int) -> Tensor:
    """Returns the tensor truncated or zero-padded to n elements along a dimension."""
    have = x.dims[dim]
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    if have > n:
        return x.narrow(dim, 0, n)
    if have < n:
        zeros = [n - have if k == dim else m for k, m in enumerate(x.dims)]
        return _joining.cat([x, _core.t_full(zeros, 0, x.dtype_name, x.device_name)], dim)
    return x


def _divisor(norm: str | None, forward: bool) -> str:
    try:
        return _transforms.divisor(norm, forward)
    except ValueError:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"') from None


def _cast(x: Tensor, to_complex: bool) -> Tensor:
    if x.dtype_name in ("float16", "bfloat16"):
        raise RuntimeError(f"Unsupported dtype {x.dtype_name} for a Fourier transform; use float32")
    name = x.dtype_name
    if not (x.is_floating_point() or x.is_complex()):
        name = _core.t_default_dtype()
    if to_complex:
        name = {"float32": "complex64", "float64": "complex128"}.get(name, name)
    return _args.astype(x, name)


def _all(x: Tensor, points: list[int | None], dims: list[int]) -> Tensor:
    for n, dim in zip(points, dims, strict=True):
        x = x if n is None else _truncate_or_pad(x, n, dim)
    return x


def _complex_to_complex(
    x: Tensor, points: list[int | None], dims: list[int], forward: bool, norm: str | None
) -> Tensor:
    by = _divisor(norm, forward)
    x = _all(_cast(x, True), points, dims)
    result: Tensor = _Transform.apply(x, "forward" if forward else "backward", dims, x.dims[dims[-1]], by)
    return result


def _real_to_half(x: Tensor, points: list[int | None], dims: list[int], forward: bool, norm: str | None) -> Tensor:
    if x.is_complex():
        raise RuntimeError(f"expected a real input tensor, but got {x.dtype}")
    by = _divisor(norm, forward)
    x = _all(_cast(x, False), points, dims)
    half: Tensor = _Transform.apply(x, "real", dims, x.dims[dims[-1]], by)
    return half if forward else _map("conjugate", half)


def _half_to_real(x: Tensor, points: list[int | None], dims: list[int], forward: bool, norm: str | None) -> Tensor:
    by = _divisor(norm, forward)
    last = points[-1]
    n = 2 * (x.dims[dims[-1]] - 1) if last is None else last
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    x = _all(_cast(x, True), [*points[:-1], n // 2 + 1], dims)
    x = _map("conjugate", x) if forward else x
    result: Tensor = _Transform.apply(x, "half", dims, n, by)
    return result


_Kernel = Callable[[Tensor, "list[int | None]", "list[int]", bool, "str | None"], Tensor]
_KERNELS: dict[str, tuple[_Kernel, bool, str]] = {
    "fft": (_complex_to_complex, True, "the discrete Fourier transform"),
    "ifft": (_complex_to_complex, False, "the inverse of `fft`"),
    "rfft": (_real_to_half, True, "the first n // 2 + 1 values of `fft` of real values"),
    "irfft": (_half_to_real, False, "the inverse of `rfft`"),
    "hfft": (_half_to_real, True, "`fft` of values whose second half is the conjugate of the first, which is real"),
    "ihfft": (_real_to_half, False, "the inverse of `hfft`"),
}
#: What transforms return, and the results of their examples: of (1, 2, 3, 2) or (1, 2, 3), and of ((1, 2), (3, 4)).
_RESULTS = {
    "fft": ("A complex tensor", "[ 8.+0.j, -2.+0.j,  0.+0.j, -2.+0.j]", "[10.+0.j, -2.+0.j], [-4.+0.j,  0.+0.j]"),
    "ifft": ("A complex tensor", "[ 2.0000+0.j, -0.5000+0.j,  0.0000+0.j, -0.5000+0.j]",
             "[ 2.5000+0.j, -0.5000+0.j], [-1.0000+0.j,  0.0000+0.j]"),
    "rfft": ("A complex tensor of n // 2 + 1 values", "[ 8.+0.j, -2.+0.j,  0.+0.j]",
             "[10.+0.j, -2.+0.j], [-4.+0.j,  0.+0.j]"),
    "irfft": ("A real tensor of n values, by default 2 (m - 1) for m values", "[ 2.0000, -0.5000,  0.0000, -0.5000]",
              "[ 2.5000, -0.5000], [-1.0000,  0.0000]"),
    "hfft": ("A real tensor of n values, by default 2 (m - 1) for m values", "[ 8., -2.,  0., -2.]",
             "[10., -2.], [-4.,  0.]"),
    "ihfft": ("A complex tensor of n // 2 + 1 values", "[ 2.0000-0.j, -0.5000-0.j,  0.0000-0.j]",
              "[ 2.5000-0.j, -0.5000-0.j], [-1.0000-0.j,  0.0000-0.j]"),
}  # fmt: skip


def _transform_1d(name: str) -> Callable[..., Tensor]:
    kernel, forward, what = _KERNELS[name]

    def transform(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *,
                  out: Tensor | None = None) -> Tensor:  # fmt: skip
        return write_out(out, kernel(input, [n], [wrap_dim(dim, input.ndim)], forward, norm))

    returns, result, _ = _RESULTS[name]
    values = "[1.0, 2.0, 3.0]" if kernel is _half_to_real else "[1.0, 2.0, 3.0, 2.0]"
    doc = f"""Returns {what}, along a dimension.

    Parameters
    ----------
    input : Tensor
        The values, a {"real" if kernel is _real_to_half else "real or complex"} tensor.
    n : int, optional
        The number of values, to which the input is truncated or padded with zeros.
    dim : int, default -1
        The dimension.
    norm : str, optional
        "backward" (the default) divides the inverse transform by n, "forward" the forward transform, and
        "ortho" both by the root of n.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        {returns}.

    Raises
    ------
    RuntimeError
        For fewer than one value, another `norm`, or complex values if they must be real.

    See Also
    --------
    torch.fft.{name[1:] if name[0] == "i" else f"i{name}"}

    Examples
    --------
    >>> torch.fft.{name}(torch.tensor({values}))
    tensor({result})
    """
    return _args.named(transform, name, doc)


def _transform_nd(name: str, fixed: Sequence[int] | None) -> Callable[..., Tensor]:
    kernel, forward, what = _KERNELS[name[:-1]]

    def transform(input: Tensor, s: Sequence[int] | None = None, dim: Any = fixed, norm: str | None = None, *,
                  out: Tensor | None = None) -> Tensor:  # fmt: skip
        if dim is None:
            dims = list(range(input.ndim - (input.ndim if s is None else len(s)), input.ndim))
        else:
            dims = [wrap_dim(d, input.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
        points: list[int | None] = [None] * len(dims) if s is None else [None if n == -1 else n for n in s]
        if len(points) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if not dims:
            raise RuntimeError(f"{name} must transform at least one axis")
        return write_out(out, kernel(input, points, dims, forward, norm))

    which = "the last two" if fixed else "all"
    returns, _, result = _RESULTS[name[:-1]]
    result = result.replace("], [", "],\n                [")
    doc = f"""Returns {what}, along several dimensions.

    Parameters
    ----------
    input : Tensor
        The values, a {"real" if kernel is _real_to_half else "real or complex"} tensor.
    s : sequence of ints, optional
        The numbers of values along each dimension, to which the input is truncated or padded with zeros; -1 keeps
        an extent.
    dim : int or sequence of ints, optional
        The dimensions, {which} by default.
    norm : str, optional
        "backward" (the default) divides the inverse transform by the number of values, "forward" the forward
        transform, and "ortho" both by its root.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        {returns}{" along the last of them" * (kernel is not _complex_to_complex)}.

    Raises
    ------
    RuntimeError
        For repeated dimensions, another `norm`, or complex values if they must be real.

    See Also
    --------
    torch.fft.{name[1:] if name[0] == "i" else f"i{name}"}

    Examples
    --------
    >>> torch.fft.{name}(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([{result}])
    """
    return _args.named(transform, name, doc)


fft, ifft, rfft, irfft, hfft, ihfft = map(_transform_1d, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (
    _transform_nd(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")
)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = (
    _transform_nd(name, None) for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
)


def _frequencies(name: str) -> Callable[..., Tensor]:
    def frequencies(n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
                    device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
        positions = arange(
            n if name == "fftfreq" else n // 2 + 1, dtype=dtype or get_default_dtype(), layout=layout, device=device
        )
        if name == "fftfreq":
            positions = _map("where", positions >= (n + 1) // 2, positions - n, positions)
        result = write_out(out, _map("divide", positions, n * d))
        if requires_grad:
            result.requires_grad = True
        return result

    transform = name.removesuffix("freq")
    result = "0.0000,  0.2500, -0.5000, -0.2500" if name == "fftfreq" else "0.0000, 0.2500, 0.5000"
    return _args.named(
        frequencies,
        name,
        f"""Returns the frequencies of the values of `{transform}`.

    Parameters
    ----------
    n : int
        The number of samples.
    d : float, default 1.0
        The distance of samples.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The floating dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.

    Returns
    -------
    Tensor
        A tensor of shape ({"n" if name == "fftfreq" else "n // 2 + 1"}), in cycles per unit of `d`.

    See Also
    --------
    torch.fft.fftshift

    Examples
    --------
    >>> torch.fft.{name}(4)
    tensor([{result}])
    """,
    )


fftfreq, rfftfreq = _frequencies("fftfreq"), _frequencies("rfftfreq")


def _shifted(input: Tensor, dim: Any, back: bool) -> Tensor:
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(d, input.ndim) for d in dims]
    return _joining.roll(input, [(input.dims[d] + back) // 2 for d in dims], dims)


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Returns the spectrum with the zero frequency moved to the center.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.fft.fftfreq, torch.fft.rfftfreq, torch.fft.ifftshift

    Examples
    --------
    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted(input, dim, False)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Returns the inverse of `fftshift`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.fft.fftshift

    Examples
    --------
    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return _shifted(input, dim, True)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

globals().update(_complete({name: globals()[name] for name in __all__}))
