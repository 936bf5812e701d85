"""Recurrent layers: the inputs of all steps are projected in one product, then the states are computed step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _joining, _shape, backends
from cuprous.torch.nn import _recurrent_autograd
from cuprous.torch.nn._cudnn_hint import prefer_cudnn
from cuprous.torch.nn._dropout import dropout

_map, _linear = _core.t_map, _core.t_linear

State = tuple[Tensor, ...]
#: The parameters of one direction of a layer: W_ih, W_hh, b_ih, b_hh (or None), W_hr (or None).
Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]


def _plain(activation: str) -> Callable[[Tensor, State, Weights], State]:
    def step(x: Tensor, state: State, weights: Weights) -> State:
        total = _map("add", x, _linear(state[0], weights[1]))
        if activation == "tanh":
            return (_map("tanh", total),)
        return (_map("where", _map("less_equal", total, 0), 0, total),)

    return step


def _lstm(x: Tensor, state: State, weights: Weights) -> State:
    h, c = state
    i, f, g, o = _joining.chunk(_map("add", x, _linear(h, weights[1])), 4, 1)
    kept, new = _map("multiply", _map("expit", f), c), _map("multiply", _map("expit", i), _map("tanh", g))
    c = _map("add", kept, new)
    h = _map("multiply", _map("expit", o), _map("tanh", c))
    return (h if weights[4] is None else _linear(h, weights[4])), c


def _gru(x: Tensor, state: State, weights: Weights) -> State:
    (h,) = state
    xr, xz, xn = _joining.chunk(x, 3, 1)
    hr, hz, hn = _joining.chunk(_linear(h, weights[1], weights[3]), 3, 1)
    r, z = _map("expit", _map("add", xr, hr)), _map("expit", _map("add", xz, hz))
    n = _map("tanh", _map("add", xn, _map("multiply", r, hn)))
    return (_map("add", n, _map("multiply", z, _map("subtract", h, n))),)


#: For each mode: the number of gates, the number of states, the step, and whether b_hh is added with b_ih before the
#: recurrence.
MODES: dict[str, tuple[int, int, Callable[[Tensor, State, Weights], State], bool]] = {
    "RNN_TANH": (1, 1, _plain("tanh"), True),
    "RNN_RELU": (1, 1, _plain("relu"), True),
    "LSTM": (4, 2, _lstm, True),
    "GRU": (3, 1, _gru, False),
}


def project(mode: str, x: Tensor, weights: Weights) -> Tensor:
    """Returns the contribution of the inputs to the gates, with the biases that do not depend on the state."""
    bias = weights[2]
    if bias is not None and weights[3] is not None and MODES[mode][3]:
        bias = _map("add", bias, weights[3])
    return _linear(x, weights[0], bias)


@_autocast.policy
def direction(mode: str, x: Tensor, sizes: Sequence[int], first: State, weights: Weights,
              reverse: bool) -> tuple[Tensor, State]:  # fmt: skip
    """Computes one direction of a layer over packed steps: (all elements, features), of which `sizes[t]` rows belong to
    step t; sizes never increase. Returns the outputs, packed likewise, and the last states of all sequences."""
    gates = project(mode, x, weights)
    if sizes[0] == sizes[-1] and weights[4] is None and not _autocast.is_enabled():
        outputs, *last = _recurrent_autograd.Recurrence.apply(
            mode, len(sizes), reverse, _differentiable_steps(mode, sizes, reverse), gates, weights[1],
            None if MODES[mode][3] else weights[3], *first,
        )  # fmt: skip
        return outputs, tuple(last)
    return _step_by_step(mode, gates, sizes, first, weights, reverse)


def _differentiable_steps(mode: str, sizes: Sequence[int], reverse: bool) -> Callable[..., tuple[Tensor, ...]]:
    def recompute(gates: Tensor, weight: Tensor, bias: Tensor | None, *first: Tensor) -> tuple[Tensor, ...]:
        outputs, last = _step_by_step(mode, gates, sizes, first, (weight, weight, None, bias, None), reverse)
        return outputs, *last

    return recompute


def _step_by_step(mode: str, gates: Tensor, sizes: Sequence[int], first: State, weights: Weights,
                  reverse: bool) -> tuple[Tensor, State]:  # fmt: skip
    step, starts = MODES[mode][2], [0]
    for n in sizes:
        starts.append(starts[-1] + n)
    outputs: list[Tensor] = [None] * len(sizes)  # type: ignore[list-item]
    ended: list[State] = []
    state = first if not reverse else tuple(_first_rows(s, sizes[-1]) for s in first)
    for t in range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes)):
        n, now = sizes[t], state[0].dims[0]
        if n < now:
            ended.append(tuple(_shape.narrow(s, 0, n, now - n) for s in state))
            state = tuple(_first_rows(s, n) for s in state)
        elif n > now:
            more = [_shape.narrow(s, 0, now, n - now) for s in first]
            state = tuple(_joining.cat([s, m]) for s, m in zip(state, more, strict=True))
        state = step(_shape.narrow(gates, 0, starts[t], n), state, weights)
        outputs[t] = state[0]
    if ended:
        state = tuple(_joining.cat([part[k] for part in [state, *reversed(ended)]]) for k in range(len(state)))
    return (_joining.cat(outputs) if len(outputs) > 1 else outputs[0]), state


@_autocast.policy
def together(mode: str, x: Tensor, states: list[Tensor], parameters: list[Tensor], layers: int,
             both: bool) -> list[Tensor] | None:  # fmt: skip
    """Computes all layers by cuDNN's routine for (steps, batch, features). Returns the outputs and the last states
    (layers·directions, batch, width), or None if cuDNN does not support the case."""
    prefer_cudnn(x)
    return _core.t_recurrent(mode, x, states, parameters, layers, both)


def layers(mode: str, data: Tensor, sizes: Sequence[int], states: Sequence[Tensor], weights: Sequence[Weights],
           both: bool, drop: float) -> list[Tensor]:  # fmt: skip
    """Computes all layers over packed steps, as `direction` takes them.

    Parameters
    ----------
    mode : str
        A key of `MODES`.
    data : Tensor
        All elements, packed.
    sizes : sequence of ints
        The number of rows of each step.
    states : sequence of Tensors
        The first states, (layers·directions, batch, width).
    weights : sequence of Weights
        The parameters of each layer and direction.
    both : bool
        Whether there are two directions.
    drop : float
        The probability with which outputs of all layers but the last are dropped.

    Returns
    -------
    list of Tensors
        The outputs of the last layer, packed, and the last states of all layers.
    """
    last: list[State] = []
    for first in range(0, len(weights), 1 + both):
        outputs = []
        for k in range(first, first + 1 + both):
            out, end = direction(mode, data, sizes, tuple(s[k] for s in states), weights[k], k > first)
            outputs.append(out)
            last.append(end)
        data = _joining.cat(outputs, 1) if both else outputs[0]
        if drop and first + 1 + both < len(weights):
            data = dropout(data, drop)
    return [data, *(_joining.stack([state[k] for state in last]) for k in range(len(states)))]


def steps(mode: str, x: Tensor, states: Sequence[Tensor], weights: Sequence[Weights], both: bool,
          drop: float) -> list[Tensor]:  # fmt: skip
    """Computes all layers for (steps, batch, features), by cuDNN's routine if it supports the case.

    Parameters
    ----------
    mode : str
        A key of `MODES`.
    x : Tensor
        The inputs.
    states : sequence of Tensors
        The first states, (layers·directions, batch, width).
    weights : sequence of Weights
        The parameters of each layer and direction.
    both : bool
        Whether there are two directions.
    drop : float
        The probability with which outputs of all layers but the last are dropped.

    Returns
    -------
    list of Tensors
        The outputs of the last layer, (steps, batch, directions·width), and the last states of all layers.
    """
    if weights[0][4] is None and x.device_name != "cpu" and backends.cudnn.enabled:
        done = _by_routine(mode, x, states, weights, both, drop)
        if done is not None:
            return done
    count, batch, features = x.dims
    data, *last = layers(mode, x.reshape(-1, features), [batch] * count, states, weights, both, drop)
    return [data.reshape(count, batch, -1), *last]


def _by_routine(mode: str, x: Tensor, states: Sequence[Tensor], weights: Sequence[Weights], both: bool,
                drop: float) -> list[Tensor] | None:  # fmt: skip
    """Computes the layers by cuDNN's routine: all at once, or one by one if there is dropout between them. Returns None
    if cuDNN does not support the case."""
    directions = 1 + both
    count = len(weights) // directions
    drops = drop > 0 and count > 1
    at_once = 1 if drops else count
    final: list[list[Tensor]] = []
    for first in range(0, count, at_once):
        own = slice(first * directions, (first + at_once) * directions)
        parameters = [w for group in weights[own] for w in group if w is not None]
        done = together(mode, x, [s[own] for s in states] if drops else list(states), parameters, at_once, both)
        if done is None:
            return None
        x = dropout(done[0], drop) if drops and first < count - 1 else done[0]
        final.append(done[1:])
    return [x, *(_joining.cat(list(parts)) if drops else parts[0] for parts in zip(*final, strict=True))]


def _first_rows(s: Tensor, n: int) -> Tensor:
    return s if s.dims[0] == n else _shape.narrow(s, 0, 0, n)
