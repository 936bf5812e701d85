"""Recurrent layers over whole sequences, with a backward pass of their own.

The intermediate values of all steps are stored in one array. The backward pass therefore computes its factors for all
steps at once, each of its steps multiplies by them, and the gradient of the weights is one product over all steps.
Second derivatives use the differentiable steps of `_recurrent`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd import Function

_map, _matmul, _update = _core.t_map, _core.t_matmul, _core.t_update

Parts = tuple[Tensor, ...]


def _add(a: Tensor, b: Tensor) -> Tensor:
    return _map("add", a, b)


def _product(*factors: Tensor) -> Tensor:
    product = factors[0]
    for factor in factors[1:]:
        product = _map("multiply", product, factor)
    return product


def _logistic_derivative(y: Tensor) -> Tensor:
    """Returns y (1 - y), the derivative of the logistic function in terms of its value."""
    return _map("multiply", y, _map("subtract", 1, y))


def _tanh_derivative(y: Tensor) -> Tensor:
    """Returns 1 - y², the derivative of tanh in terms of its value."""
    return _map("subtract", 1, _map("square", y))


def _empty(rows: int, like: Tensor, width: int) -> Tensor:
    return _core.t_empty([rows, width], like.dtype_name, like.device_name)


def _rows(t: Tensor, at: int, n: int) -> Tensor:
    """Returns the n rows of step `at`."""
    return _core.t_strided(t, [n, t.dims[1]], list(t.stride_tuple()), at * n * t.stride_tuple()[0])


def _columns(t: Tensor, n: int) -> list[Tensor]:
    """Returns the columns of each of n gates."""
    width = t.dims[1] // n
    return [_core.t_strided(t, [t.dims[0], width], list(t.stride_tuple()), k * width) for k in range(n)]


def _gates(t: Tensor, first: int, count: int, width: int) -> Tensor:
    """Returns a view of (rows, gates · width) as (rows, count, width), starting at a gate."""
    return _core.t_strided(t, [t.dims[0], count, width], [t.stride_tuple()[0], width, 1], first * width)


def _for_each(t: Tensor, count: int) -> Tensor:
    """Returns a view of (rows, width) as (rows, count, width)."""
    return _core.t_strided(t, [t.dims[0], count, t.dims[1]], [t.stride_tuple()[0], 0, t.stride_tuple()[1]])


def _previous_states(all_steps: Tensor, first: Tensor, reverse: bool) -> Tensor:
    """Returns the state before each step, from the states after each step and the first state."""
    n, count = first.dims[0], all_steps.dims[0]
    if n == count:
        return first
    kept = _core.t_strided(
        all_steps, [count - n, all_steps.dims[1]], list(all_steps.stride_tuple()), n * all_steps.dims[1] * reverse
    )
    return _core.t_cat([kept, first] if reverse else [first, kept], 0)


# --- Steps: each takes the input's contribution, the product of state and weights, and the states. It returns the new
# states and the values to save for the backward pass. Gates are sliced before they are added, so that a step is one
# kernel.


def _lstm(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    i, f, g, o = (_add(a, b) for a, b in zip(_columns(x, 4), _columns(q, 4), strict=True))
    i, f, g, o = _map("expit", i), _map("expit", f), _map("tanh", g), _map("expit", o)
    c = _add(_product(f, state[1]), _product(i, g))
    return (_product(o, _map("tanh", c)), c), (i, f, g, o, c)


def _gru(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    (h,) = state
    (xr, xz, xn), (hr, hz, hn) = _columns(x, 3), _columns(q, 3)
    r, z = _map("expit", _add(xr, hr)), _map("expit", _add(xz, hz))
    n = _map("tanh", _add(xn, _product(r, hn)))
    return (_add(n, _product(z, _map("subtract", h, n))),), (r, z, n, hn)


def _tanh(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    return (_map("tanh", _add(x, q)),), ()


def _relu(x: Tensor, q: Tensor, state: Parts) -> tuple[Parts, Parts]:
    total = _add(x, q)
    return (_map("where", _map("less_equal", total, 0), 0, total),), ()


class _BackwardOperands:
    """The operands of the backward pass of one direction: the order of the steps, arrays over all steps (outputs, saved
    values, gradients of the outputs), the first states, and the weights."""

    def __init__(self, order: Sequence[int], outputs: Tensor, kept: list[Tensor], first: Parts, g: Tensor,
                 weight: Tensor) -> None:  # fmt: skip
        self.order, self.outputs, self.kept, self.first, self.g, self.weight = order, outputs, kept, first, g, weight
        self.n, self.width = first[0].dims[0], first[0].dims[1]
        self.reverse = order[0] > 0

    def buffer(self, gates: int) -> Tensor:
        """Returns an uninitialized array for all steps."""
        return _empty(self.outputs.dims[0], self.outputs, gates * self.width)

    def previous_states(self) -> Tensor:
        """Returns the output before each step."""
        return _previous_states(self.outputs, self.first[0], self.reverse)

    def row(self, t: Tensor, at: int) -> Tensor:
        """Returns the rows of one step."""
        return _rows(t, at, self.n)


# --- Backward passes: each returns the gradients of the input's contribution and of the product of state and weights,
# for all steps, and of the first states.


def _lstm_backward(operands: _BackwardOperands, last: Parts) -> tuple[Tensor, Tensor, Parts]:
    i, f, g, o, c = operands.kept
    y, factors = _map("tanh", c), operands.buffer(4)
    old = _previous_states(c, operands.first[1], operands.reverse)
    derivatives = (_product(g, _logistic_derivative(i)), _product(old, _logistic_derivative(f)),
                   _product(i, _tanh_derivative(g)), _product(y, _logistic_derivative(o)))  # fmt: skip
    for column, factor in zip(_columns(factors, 4), derivatives, strict=True):
        _update(column, factor)
    to_c, to_q = _product(o, _tanh_derivative(y)), operands.buffer(4)
    dh, dc = last
    for t in reversed(operands.order):
        row, factor = operands.row(to_q, t), operands.row(factors, t)
        dh = _add(dh, operands.row(operands.g, t))
        dc = _add(dc, _product(dh, operands.row(to_c, t)))
        _update(_gates(row, 3, 1, operands.width), _product(_for_each(dh, 1), _gates(factor, 3, 1, operands.width)))
        _update(_gates(row, 0, 3, operands.width), _product(_for_each(dc, 3), _gates(factor, 0, 3, operands.width)))
        dh, dc = _matmul(row, operands.weight), _product(dc, operands.row(f, t))
    return to_q, to_q, (dh, dc)


def _gru_backward(operands: _BackwardOperands, last: Parts) -> tuple[Tensor, Tensor, Parts]:
    r, z, n, hn = operands.kept
    inner = _product(_map("subtract", 1, z), _tanh_derivative(n))
    gates = (
        _product(inner, hn, _logistic_derivative(r)),
        _product(_map("subtract", operands.previous_states(), n), _logistic_derivative(z)),
    )
    factors, to_q, to_x, all_dh = operands.buffer(3), operands.buffer(3), operands.buffer(3), operands.buffer(1)
    for column, factor in zip(_columns(factors, 3), (*gates, _product(inner, r)), strict=True):
        _update(column, factor)
    (dh,) = last
    for t in reversed(operands.order):
        row = operands.row(to_q, t)
        dh = _add(dh, operands.row(operands.g, t))
        _update(operands.row(all_dh, t), dh)
        every = _for_each(dh, 3)
        _update(
            _gates(row, 0, 3, operands.width), _product(every, _gates(operands.row(factors, t), 0, 3, operands.width))
        )
        dh = _add(_matmul(row, operands.weight), _product(dh, operands.row(z, t)))
    for column, factor in zip(_columns(to_x, 3), (*gates, inner), strict=True):
        _update(column, _product(all_dh, factor))
    return to_x, to_q, (dh,)


def _elementwise_backward(factors: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    def backward(operands: _BackwardOperands, last: Parts) -> tuple[Tensor, Tensor, Parts]:
        to_q, (dh,) = operands.buffer(1), last
        for t in reversed(operands.order):
            row = operands.row(to_q, t)
            _update(row, factors(_add(dh, operands.row(operands.g, t)), operands.row(operands.outputs, t)))
            dh = _matmul(row, operands.weight)
        return to_q, to_q, (dh,)

    return backward


#: The step of each mode, and its backward pass.
STEPS: dict[str, tuple[Callable[..., tuple[Parts, Parts]], Callable[..., Any]]] = {
    "LSTM": (_lstm, _lstm_backward),
    "GRU": (_gru, _gru_backward),
    "RNN_TANH": (_tanh, _elementwise_backward(lambda dh, h: _product(dh, _tanh_derivative(h)))),
    "RNN_RELU": (_relu, _elementwise_backward(lambda dh, h: _map("where", _map("less_equal", h, 0), 0, dh))),
}


class Recurrence(Function):
    """All steps of one direction of a layer, for sequences of equal length.

    Arguments: the mode, the number of steps, whether they run backward, a differentiable implementation, the input's
    contribution for all steps (T·B, gates·H), the weights of the states (gates·H, H) and their bias or None, the first
    states. Returns the outputs (T·B, H) and the last states.
    """

    @staticmethod
    def forward(ctx: Any, mode: str, steps: int, reverse: bool, reference: Any, x: Tensor, weight: Tensor,
                bias: Tensor | None, *first: Tensor) -> Parts:  # fmt: skip
        order = range(steps - 1, -1, -1) if reverse else range(steps)
        if mode == "LSTM" and bias is None:
            done = _core.t_lstm_steps(reverse, any(ctx.needs_input_grad), x, weight, *first)
            if done is not None:
                ctx.rest = mode, order, reference, done[3]
                ctx.save_for_backward(done[0], x, weight, bias, *first)
                return tuple(done[:3])
        n, step = x.dims[0] // steps, STEPS[mode][0]
        transposed = _core.t_permute(weight, [1, 0])
        # On the CPU a product reads its right operand by rows, so it is transposed once rather than in each step.
        transposed = _core.t_contiguous(transposed) if weight.device_name == "cpu" else transposed
        outputs, state = _empty(x.dims[0], x, first[0].dims[1]), first
        kept: list[Tensor] = []
        for t in order:
            q = _matmul(state[0], transposed)
            state, keep = step(_rows(x, t, n), q if bias is None else _add(q, bias), state)
            _update(_rows(outputs, t, n), state[0])
            if any(ctx.needs_input_grad):
                kept = kept or [_empty(x.dims[0], x, part.dims[1]) for part in keep]
                for whole, part in zip(kept, keep, strict=True):
                    _update(_rows(whole, t, n), part)
        ctx.rest = mode, order, reference, kept
        ctx.save_for_backward(outputs, x, weight, bias, *first)
        return outputs, *state

    @staticmethod
    def backward(ctx: Any, g: Tensor, *last: Tensor) -> Any:
        mode, order, reference, kept = ctx.rest
        outputs, x, weight, bias, *first = ctx.saved_tensors
        if _core.is_grad_enabled():
            return _differentiable_gradients(reference, (x, weight, bias, *first), (g, *last))
        previous_states = _previous_states(outputs.detach(), first[0], order[0] > 0)
        if isinstance(kept, Tensor):  # computed by the device's routine
            to_h, to_c = last
            to_q, *to_first = _core.t_lstm_steps_backward(order[0] > 0, weight, kept, g, to_h, to_c, first[1])
            to_x = to_q
        else:
            operands = _BackwardOperands(order, outputs.detach(), kept, tuple(first), _core.t_contiguous(g), weight)
            to_x, to_q, to_first = STEPS[mode][1](operands, last)
        to_weight = _matmul(_core.t_permute(to_q, [1, 0]), previous_states)
        to_bias = None if bias is None else _core.t_reduce("sum", to_q, [0])
        return None, None, None, None, to_x, to_weight, to_bias, *to_first


def _differentiable_gradients(reference: Any, given: tuple[Any, ...], grads: Parts) -> Any:
    """Returns gradients that can be differentiated again, computed with the differentiable implementation."""
    from cuprous.torch.autograd import grad

    inputs = [t for t in given if t is not None and t.requires_grad]
    outputs = reference(*given)
    pairs = [(out, g) for out, g in zip(outputs, grads, strict=True) if out.requires_grad]
    computed = iter(
        grad([out for out, _ in pairs], inputs, [g for _, g in pairs], create_graph=True, allow_unused=True)
    )
    input_grads = [next(computed) if t is not None and t.requires_grad else None for t in given]
    return None, None, None, None, *input_grads
