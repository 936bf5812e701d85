"""Recurrent layers as functions of their parameters, which PyTorch's own layers and Keras call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn import _recurrent


def _weights(mode: str, params: Sequence[Tensor], has_biases: bool, directions: int, layers: int,
             projected: bool) -> list[_recurrent.Weights]:  # fmt: skip
    count = 2 + 2 * has_biases + projected
    if len(params) != count * directions * layers:
        raise RuntimeError(f"{mode.lower()} expected {count * directions * layers} parameters for {layers} layers and "
                           f"{directions} directions, got {len(params)}")  # fmt: skip
    found = []
    for k in range(0, len(params), count):
        own = list(params[k : k + count])
        biases = own[2:4] if has_biases else [None, None]
        found.append((own[0], own[1], *biases, own[-1] if projected else None))
    return found


def _function(mode: str) -> Callable[..., tuple[Tensor, ...]]:
    several = _recurrent.MODES[mode][1] > 1

    def run(input: Tensor, *args: Any) -> tuple[Tensor, ...]:
        packed = not isinstance(args[2], bool)  # batch_sizes, hx, params, has_biases, ...; otherwise hx, params, ...
        sizes = args[0].tolist() if packed else []
        hx, params, has_biases, num_layers, dropout, train, bidirectional, *rest = args[packed:]
        batch_first = bool(rest and rest[0])
        states = list(hx) if several else [hx]
        projected = several and states[0].dims[-1] != states[1].dims[-1]
        weights = _weights(mode, params, has_biases, 1 + bidirectional, num_layers, projected)
        drop = dropout if train else 0.0
        if packed:
            return tuple(_recurrent.layers(mode, input, sizes, states, weights, bidirectional, drop))
        x = input.transpose(0, 1) if batch_first else input
        data, *final = _recurrent.steps(mode, x, states, weights, bidirectional, drop)
        return data.transpose(0, 1) if batch_first else data, *final

    run.__name__ = run.__qualname__ = mode.lower()
    run.__doc__ = f"""Computes the layers of `torch.nn.{mode.split("_")[0]}`, with its parameters in a list.

    Parameters
    ----------
    input : Tensor
        The inputs: (T, B, features), (B, T, features) with `batch_first`, or the data of packed steps.
    *args : any
        For packed steps their `batch_sizes`; the first states, the parameters, `has_biases`, `num_layers`,
        `dropout`, `train`, `bidirectional` and, unless the steps are packed, `batch_first`.

    Returns
    -------
    tuple of Tensors
        The outputs of the last layer, and the last states of all layers.

    Raises
    ------
    RuntimeError
        For a wrong number of parameters.
    """
    return run


lstm, gru = _function("LSTM"), _function("GRU")
rnn_tanh, rnn_relu = _function("RNN_TANH"), _function("RNN_RELU")

__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]
