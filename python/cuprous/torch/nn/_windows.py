"""Windows over the last dimensions of a tensor, which convolutions and pooling use."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd import Function

_map = _core.t_map
#: Elements that flat views may have for each one that is needed: see `lines`.
_MOST_BETWEEN = 1.6


def per_axis(name: str, given: Any, rank: int) -> list[int]:
    """Returns one number for each dimension, given as one number for all or as a sequence.

    Raises
    ------
    RuntimeError
        If there are too few or too many numbers.
    """
    if isinstance(given, (tuple, list)):
        values = [operator.index(n) for n in given]
        if len(values) == 1:
            return values * rank
        if len(values) != rank:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {rank} values to match the convolution "
                f"dimensions, but got {name}={values}"
            )
        return values
    return [operator.index(given)] * rank


def batched(function: str, input: Tensor, rank: int) -> tuple[Tensor, bool]:
    """Returns the input with a batch dimension, and whether it had one.

    Raises
    ------
    RuntimeError
        For another number of dimensions.
    """
    if input.ndim == rank + 2:
        return input, True
    if input.ndim == rank + 1:
        return input.unsqueeze(0), False
    raise RuntimeError(
        f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {function}, but got input of size: "
        f"{list(input.dims)}"
    )


class Windows:
    """The geometry of windows over the last `rank` dimensions: extents of input, window and output, strides, dilation,
    and the padding before the input."""

    def __init__(self, input: Sequence[int], kernel: list[int], output: list[int], stride: list[int],
                 dilation: list[int], before: list[int]) -> None:  # fmt: skip
        self.input, self.kernel, self.output = list(input), kernel, output
        self.stride, self.dilation, self.before = stride, dilation, before
        self.rank = len(kernel)
        #: The extent that all windows together cover.
        self.reach = [
            (n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(output, stride, kernel, dilation, strict=True)
        ]
        #: True if each element is at most once in at most one window.
        self.disjoint = all(
            (k - 1) * d < s or n == 1 for k, d, s, n in zip(kernel, dilation, stride, output, strict=True)
        )
        self.size = math.prod(kernel)

    def positions(self) -> Iterator[tuple[int, ...]]:
        """Iterates over the positions in a window."""
        return itertools.product(*map(range, self.kernel))

    def _overlap(self, x: Tensor, padded: Tensor) -> tuple[Tensor, Tensor]:
        """Returns views of the part of an input that windows cover: in the input and in the padded input."""
        for k, (n, r, b) in enumerate(zip(self.input, self.reach, self.before, strict=True), x.ndim - self.rank):
            length = max(min(n, r - b), 0)
            x, padded = x.narrow(k, 0, length), padded.narrow(k, min(b, r), length)
        return x, padded

    def padded(self, x: Tensor, value: Any = 0) -> Tensor:
        """Returns the input padded with a value wherever windows extend beyond it."""
        if all(b == 0 and r <= n for n, r, b in zip(self.input, self.reach, self.before, strict=True)):
            return x
        out = _core.t_full([*x.dims[: x.ndim - self.rank], *self.reach], value, x.dtype_name, x.device_name)
        part, target = self._overlap(x, out)
        _core.t_update(target, part)
        return out

    def unpadded(self, out: Tensor) -> Tensor:
        """Returns the part of a padded tensor that corresponds to the input."""
        if all(b == 0 and r == n for n, r, b in zip(self.input, self.reach, self.before, strict=True)):
            return out
        whole = _core.t_full([*out.dims[: out.ndim - self.rank], *self.input], 0, out.dtype_name, out.device_name)
        _core.t_update(*self._overlap(whole, out))
        return whole

    def view(self, padded: Tensor) -> Tensor:
        """Returns a view of all windows: the leading dimensions, those of a window, those of the output."""
        lead = padded.ndim - self.rank
        strides = padded.stride_tuple()
        inner = [s * d for s, d in zip(strides[lead:], self.dilation, strict=True)]
        outer = [s * d for s, d in zip(strides[lead:], self.stride, strict=True)]
        return _core.t_strided(
            padded, [*padded.dims[:lead], *self.kernel, *self.output], [*strides[:lead], *inner, *outer]
        )

    def _taps(self, padded: Tensor) -> tuple[list[int], list[int], list[int]]:
        """Returns the shape and strides of views of the elements at one position of all windows, and their offsets."""
        lead = padded.ndim - self.rank
        strides = padded.stride_tuple()
        outer = [s * d for s, d in zip(strides[lead:], self.stride, strict=True)]
        offsets = [
            sum(p * d * s for p, d, s in zip(position, self.dilation, strides[lead:], strict=True))
            for position in self.positions()
        ]
        return [*padded.dims[:lead], *self.output], [*strides[:lead], *outer], offsets

    def taps(self, padded: Tensor) -> list[Tensor]:
        """Returns, for each position in a window, a view of the elements at that position of all windows."""
        shape, strides, offsets = self._taps(padded)
        return [_core.t_strided(padded, shape, strides, at) for at in offsets]

    def lines(self, padded: Tensor) -> tuple[list[Tensor], Callable[[Tensor], Tensor]]:
        """Returns the taps as `lines` does."""
        return lines(padded, *self._taps(padded))


def lines(
    x: Tensor, shape: list[int], strides: list[int], offsets: list[int]
) -> tuple[list[Tensor], Callable[[Tensor], Tensor]]:
    """Returns views at several offsets, and a function that gives their shape to what was computed of their elements.

    On a CPU elements that lie one after another are read faster than short rows. So views are flat there if most of
    the elements between their first and their last one belong to them, and the function leaves out the others.
    """
    length = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
    few = 0 < length <= _MOST_BETWEEN * math.prod(shape) and min(strides) > 0
    if few and strides[-1] == 1 and x.device_name == "cpu":
        views = [_core.t_strided(x, [length], [1], at) for at in offsets]
        return views, lambda y: _core.t_strided(y, shape, strides).contiguous()
    return [_core.t_strided(x, shape, strides, at) for at in offsets], lambda y: y


def chosen(taps: Sequence[Tensor], index: Tensor | None) -> Tensor:
    """Returns the sum of the windows over their positions, or the element at position `index` of each window."""
    result = taps[0]
    for k, tap in enumerate(taps[1:], 1):
        result = _map("add", result, tap) if index is None else _map("where", _map("equal", index, k), tap, result)
    return result if len(taps) > 1 else result.clone()


def _sums(y: Tensor, windows: Windows, index: Tensor | None) -> Tensor:
    """Returns for each element of the input the sum of the values of the windows that have it, at position `index`.

    Element i of a dimension is at i + before = stride * q + r of the padded input. Window q - a has it at position p if
    p * dilation = stride * a + r. So all elements with the same r are one expression of shifted views.
    """
    lead, rank = list(y.dims[: y.ndim - windows.rank]), windows.rank
    axes = range(rank)
    # Where a window position lies: the number of windows before, and the remainder.
    places = [[divmod(p * d, s) for p in range(k)]
              for k, d, s in zip(windows.kernel, windows.dilation, windows.stride, strict=True)]  # fmt: skip
    most = [axis[-1][0] for axis in places]
    last = [(i + b - 1) // s for i, b, s in zip(windows.input, windows.before, windows.stride, strict=True)]
    counts = [max(n, q + 1) for n, q in zip(windows.output, last, strict=True)]

    def framed(x: Tensor) -> Tensor:
        """Returns `x` with zeros for the windows that would begin before the first and after the last."""
        out = _core.t_full([*lead, *map(operator.add, most, counts)], 0, x.dtype_name, x.device_name)
        part = out
        for k in axes:
            part = part.narrow(len(lead) + k, most[k], windows.output[k])
        _core.t_update(part, x)
        return out

    values, indices = framed(y), None if index is None else framed(index)
    strides = list(values.stride_tuple())
    if _alternates(windows, values.device_name):
        return _alternating_sums(values, indices, windows, most)
    result = None
    for remainder in itertools.product(*map(range, windows.stride)):
        first = [(r - b) % s for r, b, s in zip(remainder, windows.before, windows.stride, strict=True)]
        shape = [(n - f - 1) // s + 1 for n, f, s in zip(windows.input, first, windows.stride, strict=True)]
        inside = [
            (at, [places[k][p][0] for k, p in enumerate(position)])
            for at, position in enumerate(windows.positions())
            if all(places[k][p][1] == remainder[k] for k, p in enumerate(position))
        ]
        total = None
        if inside and min(shape) > 0:
            begin = [(f + b) // s + m for f, b, s, m in zip(first, windows.before, windows.stride, most, strict=True)]
            offsets = [sum((b - n) * s for b, n, s in zip(begin, behind, strides[len(lead) :], strict=True))
                       for _, behind in inside]  # fmt: skip
            terms, shaped = lines(values, [*lead, *shape], strides, offsets)
            if indices is not None:
                found, _ = lines(indices, [*lead, *shape], strides, offsets)
                terms = [_map("where", _map("equal", position, at), term, 0)
                         for (at, _), position, term in zip(inside, found, terms, strict=True)]  # fmt: skip
            total = shaped(functools.reduce(lambda x, y: _map("add", x, y), terms))
        if total is not None and windows.stride == [1] * rank:
            return total
        if result is None:
            result = _core.t_full([*lead, *windows.input], 0, y.dtype_name, y.device_name)
        if total is not None:
            target = result.stride_tuple()
            steps = list(map(operator.mul, target[len(lead) :], windows.stride))
            offset = sum(map(operator.mul, first, target[len(lead) :]))
            _core.t_update(_core.t_strided(result, [*lead, *shape], [*target[: len(lead)], *steps], offset), total)
    assert result is not None
    return result


def _alternates(windows: Windows, device: str) -> bool:
    """Returns whether `_alternating_sums` takes these windows: each second element, or each, begins one."""
    axes = zip(windows.stride, windows.dilation, windows.input, strict=True)
    return device != "cpu" and 2 in windows.stride and all(s <= 2 and d == 1 and n % s == 0 for s, d, n in axes)


def _alternating_sums(values: Tensor, indices: Tensor | None, windows: Windows, most: list[int]) -> Tensor:
    """Returns the sums of `_sums` of framed values as one expression, because a GPU writes every second element slowly.

    Element i = stride * h + r of a dimension is split into h and r. The last window that begins before the element,
    and the element's position in it, are linear functions of r, which has two values.
    """
    lead = values.ndim - windows.rank
    shape, flat = list(values.dims[:lead]), list(values.stride_tuple()[:lead])
    places = []  # for each dimension: distance of windows, first window and position, and their steps along r
    for n, s, b, step in zip(windows.input, windows.stride, windows.before, values.stride_tuple()[lead:], strict=True):
        (window, position), (next_window, next_position) = divmod(b, s), divmod(b + 1, s)
        by = (next_window - window, next_position - position) if s == 2 else (0, 0)
        shape += [n // s, s]
        flat += [step, step * by[0]]
        places.append((step, window, position, by[1]))

    def along(k: int, start: int, slope: int) -> Tensor:
        """Returns numbers that begin with `start` and differ by `slope` along r of dimension k."""
        steps = [0] * (2 * windows.rank)
        steps[2 * k + 1] = slope
        return _core.t_iota(shape[lead:], steps, start, values.device_name)

    total = None
    for before in itertools.product(*(range(m + 1) for m in most)):
        at = [position + s * a for (_, _, position, _), s, a in zip(places, windows.stride, before, strict=True)]
        offset = sum((window + m - a) * step for (step, window, _, _), m, a in zip(places, most, before, strict=True))
        term = _core.t_strided(values, shape, flat, offset)
        inside = [
            _map("less", along(k, first, slope), extent)
            for k, (first, (*_, slope), extent) in enumerate(zip(at, places, windows.kernel, strict=True))
            if max(first, first + slope) >= extent
        ]
        if indices is not None:
            positions = []
            for k, (first, (*_, slope)) in enumerate(zip(at, places, strict=True)):
                weight = math.prod(windows.kernel[k + 1 :])
                positions.append(along(k, first * weight, slope * weight))
            found = _core.t_strided(indices, shape, flat, offset)
            inside.append(_map("equal", found, functools.reduce(lambda x, y: _map("add", x, y), positions)))
        if inside:
            term = _map("where", functools.reduce(lambda x, y: _map("logical_and", x, y), inside), term, 0)
        total = term if total is None else _map("add", total, term)
    assert total is not None
    result: Tensor = total.reshape([*shape[:lead], *windows.input])
    return result


class Gather(Function):
    """Sums windows, or selects one element of each. Its backward pass is `Spread`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, windows: Windows, index: Tensor | None) -> Tensor:
        ctx.rest = windows, index
        padded = windows.padded(x)
        if index is not None:
            return chosen(windows.taps(padded), index)
        views, shaped = windows.lines(padded)
        return shaped(chosen(views, None))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        windows, index = ctx.rest
        return Spread.apply(g, windows, index), None, None


class Spread(Function):
    """Writes each value to all elements of its window, or to one of them. Its backward pass is `Gather`."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, windows: Windows, index: Tensor | None) -> Tensor:
        ctx.rest = windows, index
        if not windows.disjoint:
            return _sums(y, windows, index)
        # One write is enough, because each element is in at most one window.
        lead, rank = list(y.dims[: y.ndim - windows.rank]), windows.rank
        padded = _core.t_full([*lead, *windows.reach], 0, y.dtype_name, y.device_name)
        ones = [1] * rank
        wide = y.reshape([*lead, *ones, *windows.output])
        if index is not None:
            strides = [math.prod(windows.kernel[k + 1 :]) for k in range(rank)]
            position = _core.t_iota([*windows.kernel, *ones], [*strides, *([0] * rank)], 0, y.device_name)
            selected = _map("equal", index.reshape([*lead, *ones, *windows.output]), position)
            wide = _map("where", selected, wide, 0)
        _core.t_update(windows.view(padded), wide)
        return windows.unpadded(padded)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        windows, index = ctx.rest
        return Gather.apply(g, windows, index), None, None
