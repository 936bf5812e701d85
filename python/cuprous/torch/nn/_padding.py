"""Padding."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining, _shape


def _constant(x: Tensor, dim: int, width: int, first: bool, value: float) -> Tensor:
    shape = [width if i == dim else n for i, n in enumerate(x.dims)]
    return _core.t_full(shape, value, x.dtype_name, x.device_name)


def _replicate(x: Tensor, dim: int, width: int, first: bool, value: float) -> Tensor:
    edge = _shape.narrow(x, dim, 0 if first else x.dims[dim] - 1, 1)
    return _core.t_expand(edge, [width if i == dim else n for i, n in enumerate(x.dims)])


def _reflect(x: Tensor, dim: int, width: int, first: bool, value: float) -> Tensor:
    n = x.dims[dim]
    return _joining.flip(_shape.narrow(x, dim, 1 if first else n - 1 - width, width), dim)


def _circular(x: Tensor, dim: int, width: int, first: bool, value: float) -> Tensor:
    return _shape.narrow(x, dim, x.dims[dim] - width if first else 0, width)


#: For each mode, a function that returns the values of an edge, and one that returns the widest edge for an extent.
_MODES: dict[str, tuple[Callable[[Tensor, int, int, bool, float], Tensor], Callable[[int], int] | None]] = {
    "constant": (_constant, None),
    "replicate": (_replicate, None),
    "reflect": (_reflect, lambda n: n - 1),
    "circular": (_circular, lambda n: n),
}


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Returns the input with more elements at the ends of its last dimensions. Negative widths crop.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    pad : sequence of ints
        The widths before and after each dimension, of the last dimension first.
    mode : str, default "constant"
        "constant" for a value, "reflect" for the input's elements mirrored at the edge, "replicate" for the edge, or
        "circular" for those from the other end.
    value : float, optional
        The value of mode "constant", 0 by default.

    Returns
    -------
    Tensor
        A tensor of the dtype of `input`.

    Raises
    ------
    RuntimeError
        For more widths than dimensions, or widths that a mode does not allow.
    NotImplementedError
        For other modes.

    See Also
    --------
    torch.nn.functional.interpolate

    Examples
    --------
    >>> F.pad(torch.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    >>> F.pad(torch.tensor([[1.0, 2.0, 3.0]]), (1, 1), mode="reflect")
    tensor([[2., 1., 2., 3., 2.]])
    """
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    widths = [operator.index(w) for w in pad]
    if len(widths) % 2 or len(widths) > 2 * input.ndim:
        raise RuntimeError(f"Padding length must be divisible by 2 and at most twice the number of dimensions: got "
                           f"{widths} for an input of shape {list(input.dims)}")  # fmt: skip
    if mode != "constant":
        if value is not None and value != 0:
            raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
        if len(widths) > 6 or not len(widths) // 2 < input.ndim <= len(widths) // 2 + 2:
            raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    edge, most = _MODES[mode]
    for k in range(len(widths) // 2):
        dim = input.ndim - 1 - k
        before, after = widths[2 * k], widths[2 * k + 1]
        n = input.dims[dim]
        if most is not None and max(before, after) > most(n):
            raise RuntimeError(f"Padding size should be {'less than' if mode == 'reflect' else 'at most'} the "
                               f"corresponding input dimension, but got: padding ({before}, {after}) at dimension "
                               f"{dim} of input {list(input.dims)}")  # fmt: skip
        begin, end = max(-before, 0), n - max(-after, 0)
        if end < begin:
            raise RuntimeError(f"padding ({before}, {after}) cuts more than dimension {dim} of {list(input.dims)} has")
        core = _shape.narrow(input, dim, begin, end - begin) if (begin, end) != (0, n) else input
        whole = core if mode == "circular" else input  # what has been cut off does not come round again
        pieces = [edge(whole, dim, before, True, value or 0)] if before > 0 else []
        pieces.append(core)
        if after > 0:
            pieces.append(edge(whole, dim, after, False, value or 0))
        input = _joining.cat(pieces, dim) if len(pieces) > 1 else core
    return input


__all__ = ["pad"]
