"""Recurrences over whole sequences, with a backward pass of their own.

What a step keeps is written into one array for all steps. So the backward pass computes its factors for all steps at
once, a step of it multiplies by them, and the gradient of the weights is one product over all steps. Second derivatives
take the plain way of `_recurrent`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd import Function, grad

_map, _matmul, _update = _core.t_map, _core.t_matmul, _core.t_update

Parts = tuple[Tensor, ...]


def _add(a: Tensor, b: Tensor) -> Tensor:
    return _map("add", a, b)


def _times(*factors: Tensor) -> Tensor:
    product = factors[0]
    for factor in factors[1:]:
        product = _map("multiply", product, factor)
    return product


def _rest(y: Tensor) -> Tensor:
    """y (1 - y): the derivative of the logistic function, by its value."""
    return _map("multiply", y, _map("subtract", 1, y))


def _flat(y: Tensor) -> Tensor:
    """1 - y²: the derivative of tanh, by its value."""
    return _map("subtract", 1, _map("square", y))


def _filled(rows: int, like: Tensor, width: int) -> Tensor:
    return _core.t_empty([rows, width], like.dtype_name, like.device_name)


def _rows(t: Tensor, at: int, n: int) -> Tensor:
    """The rows of step `at`, n for each."""
    return _core.t_strided(t, [n, t.dims[1]], list(t.stride_tuple()), at * n * t.stride_tuple()[0])


def _columns(t: Tensor, n: int) -> list[Tensor]:
    """The columns of each of n gates."""
    width = t.dims[1] // n
    return [_core.t_strided(t, [t.dims[0], width], list(t.stride_tuple()), k * width) for k in range(n)]


def _gates(t: Tensor, first: int, count: int, width: int) -> Tensor:
    """(rows, gates · width) as (rows, count, width), from a gate on."""
    return _core.t_strided(t, [t.dims[0], count, width], [t.stride_tuple()[0], width, 1], first * width)


def _for_each(t: Tensor, count: int) -> Tensor:
    """(rows, width) as (rows, count, width)."""
    return _core.t_strided(t, [t.dims[0], count, t.dims[1]], [t.stride_tuple()[0], 0, t.stride_tuple()[1]])


def _before(all_steps: Tensor, first: Tensor, reverse: bool) -> Tensor:
    """The states that each step began with, of those that it ended with."""
    n, count = first.dims[0], all_steps.dims[0]
    if n == count:
        return first
    kept = _core.t_strided(
        all_steps, [count - n, all_steps.dims[1]], list(all_steps.stride_tuple()), n * all_steps.dims[1] * reverse
    )
    return _core.t_cat([kept, first] if reverse else [first, kept], 0)


# --- steps: of the inputs' part, the states' product, and the states: new states, and what is kept. Sums are taken of
# columns, not columns of sums: so a step is one kernel.


def _lstm(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    i, f, g, o = (_add(a, b) for a, b in zip(_columns(x, 4), _columns(q, 4), strict=True))
    i, f, g, o = _map("expit", i), _map("expit", f), _map("tanh", g), _map("expit", o)
    c = _add(_times(f, state[1]), _times(i, g))
    return (_times(o, _map("tanh", c)), c), (i, f, g, o, c)


def _gru(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    (h,) = state
    (xr, xz, xn), (hr, hz, hn) = _columns(x, 3), _columns(q, 3)
    r, z = _map("expit", _add(xr, hr)), _map("expit", _add(xz, hz))
    n = _map("tanh", _add(xn, _times(r, hn)))
    return (_add(n, _times(z, _map("subtract", h, n))),), (r, z, n, hn)


def _tanh(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    return (_map("tanh", _add(x, q)),), ()


def _relu(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    total = _add(x, q)
    return (_map("where", _map("less_equal", total, 0), 0, total),), ()


class _Way:
    """The operands of a direction's backward pass: steps in the order in which they were made, arrays for all steps
    (outputs, what was kept, gradients of the outputs), the first states, and the weights."""

    def __init__(self, order: Sequence[int], outputs: Tensor, kept: list[Tensor], first: Parts, g: Tensor,
                 weight: Tensor) -> None:  # fmt: skip
        self.order, self.outputs, self.kept, self.first, self.g, self.weight = order, outputs, kept, first, g, weight
        self.n, self.width = first[0].dims[0], first[0].dims[1]
        self.reverse = order[0] > 0

    def buffer(self, gates: int) -> Tensor:
        """Of all steps."""
        return _filled(self.outputs.dims[0], self.outputs, gates * self.width)

    def before(self) -> Tensor:
        """The outputs of the steps before."""
        return _before(self.outputs, self.first[0], self.reverse)

    def row(self, t: Tensor, at: int) -> Tensor:
        """A step's part."""
        return _rows(t, at, self.n)


# --- backward passes: the gradients of the inputs' part and of the states' product, for all steps, and of the first
# states


def _lstm_back(way: _Way, last: Parts) -> tuple[Tensor, Tensor, Parts]:
    i, f, g, o, c = way.kept
    y, factors = _map("tanh", c), way.buffer(4)
    old = _before(c, way.first[1], way.reverse)
    for column, factor in zip(_columns(factors, 4), (_times(g, _rest(i)), _times(old, _rest(f)), _times(i, _flat(g)),
                              _times(y, _rest(o))), strict=True):  # fmt: skip
        _update(column, factor)
    to_c, to_q = _times(o, _flat(y)), way.buffer(4)
    dh, dc = last
    for t in reversed(way.order):
        row, factor = way.row(to_q, t), way.row(factors, t)
        dh = _add(dh, way.row(way.g, t))
        dc = _add(dc, _times(dh, way.row(to_c, t)))
        _update(_gates(row, 3, 1, way.width), _times(_for_each(dh, 1), _gates(factor, 3, 1, way.width)))
        _update(_gates(row, 0, 3, way.width), _times(_for_each(dc, 3), _gates(factor, 0, 3, way.width)))
        dh, dc = _matmul(row, way.weight), _times(dc, way.row(f, t))
    return to_q, to_q, (dh, dc)


def _gru_back(way: _Way, last: Parts) -> tuple[Tensor, Tensor, Parts]:
    r, z, n, hn = way.kept
    inner = _times(_map("subtract", 1, z), _flat(n))
    gates = (_times(inner, hn, _rest(r)), _times(_map("subtract", way.before(), n), _rest(z)))
    factors, to_q, to_x, all_dh = way.buffer(3), way.buffer(3), way.buffer(3), way.buffer(1)
    for column, factor in zip(_columns(factors, 3), (*gates, _times(inner, r)), strict=True):
        _update(column, factor)
    (dh,) = last
    for t in reversed(way.order):
        row = way.row(to_q, t)
        dh = _add(dh, way.row(way.g, t))
        _update(way.row(all_dh, t), dh)
        every = _for_each(dh, 3)
        _update(_gates(row, 0, 3, way.width), _times(every, _gates(way.row(factors, t), 0, 3, way.width)))
        dh = _add(_matmul(row, way.weight), _times(dh, way.row(z, t)))
    for column, factor in zip(_columns(to_x, 3), (*gates, inner), strict=True):
        _update(column, _times(all_dh, factor))
    return to_x, to_q, (dh,)


def _plain_back(factors: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    def back(way: _Way, last: Parts) -> tuple[Tensor, Tensor, Parts]:
        to_q, (dh,) = way.buffer(1), last
        for t in reversed(way.order):
            row = way.row(to_q, t)
            _update(row, factors(_add(dh, way.row(way.g, t)), way.row(way.outputs, t)))
            dh = _matmul(row, way.weight)
        return to_q, to_q, (dh,)

    return back


#: A mode's step, and its backward pass.
STEPS: dict[str, tuple[Callable[..., tuple[Parts, Parts]], Callable[..., Any]]] = {
    "LSTM": (_lstm, _lstm_back),
    "GRU": (_gru, _gru_back),
    "RNN_TANH": (_tanh, _plain_back(lambda dh, h: _times(dh, _flat(h)))),
    "RNN_RELU": (_relu, _plain_back(lambda dh, h: _map("where", _map("less_equal", h, 0), 0, dh))),
}


class Recurrence(Function):
    """All steps of one direction of a layer, of sequences of one length.

    Arguments: the mode, the number of steps, whether they go backwards, the plain way, the inputs' part of all steps
    (T·B, gates·H), the states' weights (gates·H, H) and bias or None, the first states. Gives (T·B, H), last states.
    """

    @staticmethod
    def forward(ctx: Any, mode: str, steps: int, reverse: bool, plain: Any, x: Tensor, weight: Tensor,
                bias: Tensor | None, *first: Tensor) -> Parts:  # fmt: skip
        order = range(steps - 1, -1, -1) if reverse else range(steps)
        if mode == "LSTM" and bias is None:
            done = _core.t_lstm_steps(reverse, any(ctx.needs_input_grad), x, weight, *first)
            if done is not None:
                ctx.rest = mode, order, plain, done[3]
                ctx.save_for_backward(done[0], x, weight, bias, *first)
                return tuple(done[:3])
        n, step = x.dims[0] // steps, STEPS[mode][0]
        transposed = _core.t_permute(weight, [1, 0])
        # On the CPU a product reads its right side in rows: transposed once, not in each step.
        transposed = _core.t_contiguous(transposed) if weight.device_name == "cpu" else transposed
        outputs, state = _filled(x.dims[0], x, first[0].dims[1]), first
        kept: list[Tensor] = []
        for t in order:
            q = _matmul(state[0], transposed)
            state, keep = step(_rows(x, t, n), q if bias is None else _add(q, bias), state)
            _update(_rows(outputs, t, n), state[0])
            if any(ctx.needs_input_grad):
                kept = kept or [_filled(x.dims[0], x, part.dims[1]) for part in keep]
                for whole, part in zip(kept, keep, strict=True):
                    _update(_rows(whole, t, n), part)
        ctx.rest = mode, order, plain, kept
        ctx.save_for_backward(outputs, x, weight, bias, *first)
        return outputs, *state

    @staticmethod
    def backward(ctx: Any, g: Tensor, *last: Tensor) -> Any:
        mode, order, plain, kept = ctx.rest
        outputs, x, weight, bias, *first = ctx.saved_tensors
        if _core.is_grad_enabled():
            return _again(plain, (x, weight, bias, *first), (g, *last))
        before = _before(outputs.detach(), first[0], order[0] > 0)
        if isinstance(kept, Tensor):  # by the device's routine
            to_h, to_c = last
            to_q, *to_first = _core.t_lstm_steps_backward(order[0] > 0, weight, kept, g, to_h, to_c, first[1])
            to_x = to_q
        else:
            way = _Way(order, outputs.detach(), kept, tuple(first), _core.t_contiguous(g), weight)
            to_x, to_q, to_first = STEPS[mode][1](way, last)
        to_weight = _matmul(_core.t_permute(to_q, [1, 0]), before)
        to_bias = None if bias is None else _core.t_reduce("sum", to_q, [0])
        return None, None, None, None, to_x, to_weight, to_bias, *to_first


def _again(plain: Any, given: tuple[Any, ...], grads: Parts) -> Any:
    """The gradients by the plain way, noted themselves."""
    wanted = [t for t in given if t is not None and t.requires_grad]
    outputs = plain(*given)
    pairs = [(out, g) for out, g in zip(outputs, grads, strict=True) if out.requires_grad]
    found = iter(grad([out for out, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True))
    asked = [next(found) if t is not None and t.requires_grad else None for t in given]
    return None, None, None, None, *asked
