"""Convolutions and transposed convolutions; extraction of windows as columns (`unfold`) and its adjoint (`fold`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch import _autocast
from cuprous.torch.autograd import Function
from cuprous.torch.nn._cudnn_hint import prefer_cudnn
from cuprous.torch.nn._windows import Windows, batched, per_axis

_SHORT = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
          "int64": "long int", "int32": "int", "complex64": "c10::complex<float>",
          "complex128": "c10::complex<double>"}  # fmt: skip


def _check(name: str, x: Tensor, w: Tensor, bias: Tensor | None, rank: int, groups: int, transposed: bool) -> None:
    """Checks that operands match. Error messages contain their shapes."""
    if w.ndim != rank + 2:
        raise RuntimeError(
            f"expected {rank + 2}-dimensional weight for {name}, but got {w.ndim}-dimensional weight of size "
            f"{list(w.dims)} instead"
        )
    for what, other in (("weight", w), ("bias", bias)):
        if other is None:
            continue
        if other.dtype_name != x.dtype_name:
            ours, theirs = (_SHORT.get(t.dtype_name, t.dtype_name) for t in (x, other))
            raise RuntimeError(f"Input type ({ours}) and {what} type ({theirs}) should be the same")
        if other.device_name != x.device_name:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got input is on {x.device}, different from "
                f"{what} on {other.device} ([{name}])"
            )
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    out = w.dims[0]
    if out < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                           f"weight of size {list(w.dims)} instead")  # fmt: skip
    if out % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
                           f"got weight of size {list(w.dims)} instead")  # fmt: skip
    channels = out if transposed else w.dims[1] * groups
    if x.dims[1] != channels:
        given = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(f"Given {given}, weight of size {list(w.dims)}, expected input{list(x.dims)} to have "
                           f"{channels} channels, but got {x.dims[1]} channels instead")  # fmt: skip
    results = w.dims[1] * groups if transposed else out
    if bias is not None and bias.dims != (results,):
        given = "transposed=1, " if transposed else ""
        raise RuntimeError(f"Given {given}weight of size {list(w.dims)}, expected bias to be 1-dimensional with "
                           f"{results} elements, but got bias of size {list(bias.dims)} instead")  # fmt: skip


def _widths(stride: Any, dilation: Any, rank: int) -> tuple[list[int], list[int]]:
    steps, spaces = per_axis("stride", stride, rank), per_axis("dilation", dilation, rank)
    if min(steps) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(spaces) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    return steps, spaces


def _pads(padding: Any, kernel: list[int], stride: list[int], dilation: list[int]) -> list[tuple[int, int]]:
    """Returns the padding before and after each dimension."""
    if isinstance(padding, str):
        if padding == "valid":
            return [(0, 0)] * len(kernel)
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return [(total // 2, total - total // 2) for total in totals]
    widths = per_axis("padding", padding, len(kernel))
    if min(widths) < 0:
        raise RuntimeError("negative padding is not supported")
    return [(p, p) for p in widths]


def _biased(y: Tensor, bias: Tensor | None, rank: int) -> Tensor:
    return y if bias is None else y + bias.reshape([-1] + [1] * rank)


def _convolution(rank: int) -> Callable[..., Tensor]:
    name = f"conv{rank}d"

    def conv(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
             dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
        x, was_batched = batched(name, input, rank)
        _check(name, x, weight, bias, rank, groups, False)
        steps, spaces = _widths(stride, dilation, rank)
        kernel, size = list(weight.dims[2:]), list(x.dims[2:])
        pads = _pads(padding, kernel, steps, spaces)
        padded = [n + a + b for n, (a, b) in zip(size, pads, strict=True)]
        spans = [d * (k - 1) + 1 for d, k in zip(spaces, kernel, strict=True)]
        if any(n < k for n, k in zip(padded, spans, strict=True)):
            shown = [" x ".join(map(str, extents)) for extents in (padded, spans)]
            raise RuntimeError(f"Calculated padded input size per channel: ({shown[0]}). Kernel size: ({shown[1]}). "
                               "Kernel size can't be greater than actual input size")  # fmt: skip
        out = [(n - k) // s + 1 for n, k, s in zip(padded, spans, steps, strict=True)]
        before = [a for a, _ in pads]
        prefer_cudnn(x)
        y = _core.t_convolution("output", x, weight, size, kernel, out, steps, spaces, before, groups)
        y = _biased(y, bias, rank)
        return y if was_batched else y.squeeze(0)

    doc = f"""Returns the cross-correlation over the last {rank} dimension{"s" if rank > 1 else ""}.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating or complex dtype.
    weight : Tensor
        A tensor of shape (O, C / groups, ...), of the same dtype.
    bias : Tensor, optional
        A vector of O elements, or None.
    stride : int or sequence of ints, default 1
        The distance of windows, a number or one for each dimension.
    padding : int, sequence of ints or str, default 0
        Zeros on both sides, or "valid", or "same" for an output of the input's extents.
    dilation : int or sequence of ints, default 1
        The distance of the elements of a window, a number or one for each dimension.
    groups : int, default 1
        The number of groups of channels that are convolved separately.

    Returns
    -------
    Tensor
        A tensor of shape (N, O, ...) or (O, ...).

    Raises
    ------
    RuntimeError
        If shapes, dtypes or widths do not match.

    See Also
    --------
    torch.nn.Conv{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 3{", 5" * rank}), torch.ones(8, 3{", 3" * rank})).shape
    torch.Size([1, 8{", 3" * rank}])
    """
    return _autocast.policy(named(conv, name, doc))


def _transposed(rank: int) -> Callable[..., Tensor]:
    name = f"conv_transpose{rank}d"

    def conv_transpose(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
                       output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:  # fmt: skip
        x, was_batched = batched(name, input, rank)
        _check(name, x, weight, bias, rank, groups, True)
        steps, spaces = _widths(stride, dilation, rank)
        pads, more = per_axis("padding", padding, rank), per_axis("output_padding", output_padding, rank)
        if min(pads) < 0 or min(more) < 0:
            raise RuntimeError("negative padding is not supported")
        for m, s, d in zip(more, steps, spaces, strict=True):
            if m >= s and m >= d:
                raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got "
                                   f"output_padding={more}, stride={steps}, dilation={spaces}")  # fmt: skip
        kernel, size = list(weight.dims[2:]), list(x.dims[2:])
        out = [
            (n - 1) * s - 2 * p + d * (k - 1) + m + 1
            for n, s, p, d, k, m in zip(size, steps, pads, spaces, kernel, more, strict=True)
        ]
        if min(out) < 1:
            raise RuntimeError(f"Given input size per channel: ({' x '.join(map(str, size))}). Calculated output size "
                               f"per channel: ({' x '.join(map(str, out))}). Output size is too small")  # fmt: skip
        prefer_cudnn(x)
        y = _core.t_convolution("input", x, weight, out, kernel, size, steps, spaces, pads, groups)
        y = _biased(y, bias, rank)
        return y if was_batched else y.squeeze(0)

    doc = f"""Returns the transposed convolution over the last {rank} dimension{"s" if rank > 1 else ""}.

    It is the gradient of a convolution with respect to its input.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating or complex dtype.
    weight : Tensor
        A tensor of shape (C, O / groups, ...), of the same dtype.
    bias : Tensor, optional
        A vector of O elements, or None.
    stride : int or sequence of ints, default 1
        The distance of windows of the output, a number or one for each dimension.
    padding : int or sequence of ints, default 0
        The number of elements removed from both sides of the output.
    output_padding : int or sequence of ints, default 0
        The number of elements added at the end of the output.
    groups : int, default 1
        The number of groups of channels that are convolved separately.
    dilation : int or sequence of ints, default 1
        The distance of the elements of a window, a number or one for each dimension.

    Returns
    -------
    Tensor
        A tensor of shape (N, O, ...) or (O, ...).

    Raises
    ------
    RuntimeError
        If shapes, dtypes or widths do not match.

    See Also
    --------
    torch.nn.ConvTranspose{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 8{", 3" * rank}), torch.ones(8, 3{", 3" * rank})).shape
    torch.Size([1, 3{", 5" * rank}])
    """
    return _autocast.policy(named(conv_transpose, name, doc))


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed, (1, 2, 3))


# --- windows as columns


def _blocks(function: str, size: list[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Windows:
    kernel, spaces, pads, steps = (
        per_axis(name, given, 2)
        for name, given in (("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding),
                            ("stride", stride))
    )  # fmt: skip
    if min(kernel) <= 0 or min(spaces) <= 0 or min(steps) <= 0 or min(pads) < 0:
        raise RuntimeError(
            f"[{function}] kernel_size, dilation and stride must be positive and padding not negative, but got "
            f"kernel_size={kernel}, dilation={spaces}, padding={pads}, stride={steps}"
        )
    out = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(size, pads, spaces, kernel, steps, strict=True)
    ]
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({size[0]}, {size[1]}), kernel_size=({kernel[0]}, {kernel[1]}), "
            f"dilation=({spaces[0]}, {spaces[1]}), padding=({pads[0]}, {pads[1]}), calculated shape of the array of "
            f"sliding blocks as ({out[0]}, {out[1]}), but its components must be at least one."
        )
    return Windows(size, kernel, out, steps, spaces, pads)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Returns the windows of images as columns.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, H, W) or (C, H, W).
    kernel_size : int or pair of ints
        The extents of a window, a number or a pair.
    dilation : int or pair of ints, default 1
        The distance of the elements of a window, a number or a pair.
    padding : int or pair of ints, default 0
        Zeros on both sides, a number or a pair.
    stride : int or pair of ints, default 1
        The distance of windows, a number or a pair.

    Returns
    -------
    Tensor
        A tensor of shape (N, C · elements of a window, windows).

    Raises
    ------
    RuntimeError
        If no window fits into the input.

    See Also
    --------
    torch.nn.functional.fold, torch.nn.Unfold, torch.Tensor.unfold

    Examples
    --------
    >>> F.unfold(torch.ones(1, 3, 4, 4), kernel_size=2).shape
    torch.Size([1, 12, 9])
    """
    x, was_batched = batched("unfold", input, 2)
    windows = _blocks("unfold", list(x.dims[2:]), kernel_size, dilation, padding, stride)
    return _columns(x, windows) if was_batched else _columns(x, windows).squeeze(0)


def _columns(x: Tensor, windows: Windows) -> Tensor:
    seen = windows.view(windows.padded(x))
    return seen.reshape(x.dims[0], x.dims[1] * windows.size, math.prod(windows.output))


class _FoldFunction(Function):
    """`unfold` or `fold`; each is the backward pass of the other."""

    @staticmethod
    def forward(ctx: Any, columns: Tensor, windows: Windows) -> Tensor:
        ctx.windows = windows
        n, channels = columns.dims[0], columns.dims[1] // windows.size
        padded = _core.t_full([n, channels, *windows.reach], 0, columns.dtype_name, columns.device_name)
        parts = columns.reshape(n, channels, windows.size, *windows.output)
        if windows.disjoint:
            _core.t_update(windows.view(padded), parts.reshape(n, channels, *windows.kernel, *windows.output))
        else:
            for tap, part in zip(windows.taps(padded), parts.unbind(2), strict=True):
                _core.t_update(tap, tap + part)
        return windows.unpadded(padded)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _columns(g, ctx.windows), None


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:  # fmt: skip
    """Returns images from columns, the adjoint of `unfold`: elements of overlapping windows are summed.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C · elements of a window, windows).
    output_size : int or pair of ints
        The extents of the images, a number or a pair.
    kernel_size : int or pair of ints
        The extents of a window, a number or a pair.
    dilation : int or pair of ints, default 1
        The distance of the elements of a window, a number or a pair.
    padding : int or pair of ints, default 0
        Zeros on both sides of the images, a number or a pair.
    stride : int or pair of ints, default 1
        The distance of windows, a number or a pair.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, H, W).

    Raises
    ------
    RuntimeError
        If the shapes of columns and windows do not match.

    See Also
    --------
    torch.nn.functional.unfold

    Examples
    --------
    >>> F.fold(torch.ones(1, 12, 9), output_size=4, kernel_size=2).shape
    torch.Size([1, 3, 4, 4])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.dims)}"
        )
    columns = input if input.ndim == 3 else input.unsqueeze(0)
    size = per_axis("output_size", output_size, 2)
    windows = _blocks("fold", size, kernel_size, dilation, padding, stride)
    if columns.dims[1] % windows.size:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={columns.dims[1]} and kernel_size=({windows.kernel[0]}, {windows.kernel[1]})."
        )
    count = math.prod(windows.output)
    if columns.dims[2] != count:
        raise RuntimeError(
            f"Given output_size=({size[0]}, {size[1]}), expected size of input's dimension 2 to match the calculated "
            f"number of sliding blocks {windows.output[0]} * {windows.output[1]} = {count}, but got "
            f"input.size(2)={columns.dims[2]}."
        )
    result: Tensor = _FoldFunction.apply(columns, windows)
    return result if input.ndim == 3 else result.squeeze(0)


__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold", "unfold",
]  # fmt: skip
