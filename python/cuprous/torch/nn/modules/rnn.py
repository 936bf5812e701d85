"""Recurrent layers, with PyTorch's parameters: gates in the order i, f, g, o (LSTM) and r, z, n (GRU)."""

from __future__ import annotations

import math
import warnings
from typing import Any

from cuprous import _core
from cuprous._common.naming import documented
from cuprous._core import Tensor
from cuprous.torch import _creation, _indexing
from cuprous.torch.nn import _recurrent, init
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter
from cuprous.torch.nn.utils.rnn import PackedSequence

_documented = documented({
    "input_size : int": "The number of features of an input.",
    "hidden_size : int": "The number of features of a state.",
    "num_layers : int": "The number of layers, each of which takes the outputs of the one before.",
    "bias : bool": "Whether there are biases.",
    "batch_first : bool": "Whether the batch is the first dimension; the steps are otherwise.",
    "dropout : float": "The probability with which outputs of all layers but the last are dropped in training.",
    "bidirectional : bool": "Whether there are two directions.",
    "device : device or str": "The device of the parameters, by default the default device.",
    "dtype : dtype": "The dtype of the parameters, by default the default dtype.",
})  # fmt: skip


class _Recurrent(Module):
    hidden_size: int

    def reset_parameters(self) -> None:
        """Initializes the parameters at random."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)


@_documented
class RNNBase(_Recurrent):
    """Base class of recurrent layers, in one or both directions.

    Parameters of layer k: `weight_ih_lk` (gates·hidden, input), `weight_hh_lk` (gates·hidden, hidden), `bias_ih_lk`,
    `bias_hh_lk` (gates·hidden) and, with `proj_size`, `weight_hr_lk` (proj, hidden); those of the backward direction
    end in `_reverse`. All are initialized uniformly on ±1/√hidden_size.

    Parameters
    ----------
    mode : {"RNN_TANH", "RNN_RELU", "LSTM", "GRU"}
        "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
    proj_size : int, default 0
        The number of features to which states are projected; 0 for no projection.

    See Also
    --------
    torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU

    Examples
    --------
    >>> isinstance(nn.LSTM(3, 4), nn.RNNBase)
    True
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                             "being zeroed")  # fmt: skip
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                          stacklevel=3)  # fmt: skip
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0 or (proj_size and (proj_size >= hidden_size or mode != "LSTM")):
            raise ValueError("proj_size has to be a positive integer, smaller than hidden_size, and is only supported "
                             f"for LSTM, not {type(self).__name__}; got proj_size={proj_size}")  # fmt: skip
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        rows, out = _recurrent.MODES[mode][0] * hidden_size, proj_size or hidden_size
        self._weight_names: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if not layer else out * (1 + bidirectional)
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
                shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(_creation.empty(shape, device=device, dtype=dtype)))
                self._weight_names.append(names)
        self.reset_parameters()

    def flatten_parameters(self) -> None:
        """Has no effect: parameters need not be contiguous in memory.

        Examples
        --------
        >>> nn.LSTM(3, 4).flatten_parameters()
        """

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._weight_names]

    def _weights(self, k: int) -> _recurrent.Weights:
        given = {name.partition("_l")[0]: getattr(self, name) for name in self._weight_names[k]}
        return tuple(  # type: ignore[return-value]
            given.get(name) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        )

    def _sizes(self) -> list[int]:
        """Returns the width of each state."""
        return [self.proj_size or self.hidden_size, self.hidden_size][: _recurrent.MODES[self.mode][1]]

    def _checked(self, hx: Any, batch: int, single: bool, data: Tensor) -> list[Tensor]:
        """Returns the states with shape (layers·directions, batch, width), after checking them."""
        count = self.num_layers * (1 + self.bidirectional)
        widths = self._sizes()
        if hx is None:
            return [_core.t_full([count, batch, w], 0, data.dtype_name, data.device_name) for w in widths]
        given = list(hx) if len(widths) > 1 else [hx]
        states = []
        for k, (state, width) in enumerate(zip(given, widths, strict=True)):
            wanted = (count, width) if single else (count, batch, width)
            if state.ndim != len(wanted):
                raise RuntimeError(f"[{self!r}] For {'unbatched 2-D' if single else 'batched 3-D'} input, hx should "
                                   f"also be {len(wanted)}-D but got {state.ndim}-D tensor")  # fmt: skip
            if state.dims != wanted:
                position = f"[{k}]" if len(widths) > 1 else ""
                raise RuntimeError(f"[{self!r}] Expected hidden{position} size {wanted}, got {list(state.dims)}")
            states.append(state.unsqueeze(1) if single else state)
        return states

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Returns all outputs of the last layer, and the last states of all layers.

        Parameters
        ----------
        input : Tensor or PackedSequence
            (T, B, input_size), (B, T, input_size) if `batch_first`, (T, input_size), or packed.
        hx : Tensor or tuple of Tensors, optional
            The first states, (layers · directions, B, width); zeros by default. An LSTM has (h, c).

        Returns
        -------
        tuple
            A pair of the outputs, with features of all directions, and the states.

        Raises
        ------
        RuntimeError
            For shapes that do not match.

        Examples
        --------
        >>> outputs, states = nn.GRU(3, 4)(torch.ones(5, 2, 3))
        >>> outputs.shape, states.shape
        (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
        """
        packed = isinstance(input, PackedSequence)
        data = input.data if packed else input
        single = not packed and data.ndim == 2
        if not packed and data.ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {data.ndim}D instead")
        if data.dims[-1] != self.input_size:
            raise RuntimeError(f"[{self!r}] input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                               f"got {data.dims[-1]}: the input has shape {list(data.dims)}")  # fmt: skip
        x = None
        if packed:
            sizes = [int(n) for n in input.batch_sizes.tolist()]
            order, back = input.sorted_indices, input.unsorted_indices
        else:
            x = data.unsqueeze(1) if single else data.transpose(0, 1) if self.batch_first else data
            sizes, order, back = [x.dims[1]] * x.dims[0], None, None
        if not sizes:
            raise RuntimeError(f"[{self!r}] Expected sequence length to be larger than 0 in RNN")
        states = self._checked(hx, sizes[0], single, data)
        if order is not None and hx is not None:
            states = [_indexing.index_select(s, 1, order) for s in states]
        drop = self.dropout if self.training else 0.0
        weights = [self._weights(k) for k in range(len(self._weight_names))]
        if x is not None:
            data, *final = _recurrent.steps(self.mode, x, states, weights, self.bidirectional, drop)
        else:
            data, *final = _recurrent.layers(self.mode, data, sizes, states, weights, self.bidirectional, drop)
        if back is not None:
            final = [_indexing.index_select(s, 1, back) for s in final]
        if packed:
            output: Any = PackedSequence(data, input.batch_sizes, order, back)
        else:
            output = data.squeeze(1) if single else data.transpose(0, 1) if self.batch_first else data
        final = [s.squeeze(1) for s in final] if single else final
        return output, final[0] if len(final) == 1 else tuple(final)

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
                 "bidirectional": False}  # fmt: skip
        more = "".join(
            f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value
        )
        return f"{self.input_size}, {self.hidden_size}{more}"


@_documented
class RNN(RNNBase):
    """A recurrent layer: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with ReLU (Elman, 1990).

    Parameters
    ----------
    nonlinearity : {"tanh", "relu"}, default "tanh"
        "tanh" or "relu".

    See Also
    --------
    torch.nn.GRUCell, torch.nn.GRU, torch.nn.LSTM

    Examples
    --------
    >>> outputs, states = nn.RNN(3, 4)(torch.ones(5, 2, 3))
    >>> outputs.shape, states.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)  # fmt: skip
        self.nonlinearity = nonlinearity


@_documented
class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997): `c' = f c + i g`, `h' = o tanh(c')`.

    With `proj_size`, h is projected to fewer features.

    Parameters
    ----------
    proj_size : int, default 0
        The number of features to which states are projected; 0 for no projection.

    See Also
    --------
    torch.nn.RNN, torch.nn.GRUCell, torch.nn.GRU, torch.nn.LSTMCell, torch.nn.RNNCell

    Examples
    --------
    >>> outputs, (h, c) = nn.LSTM(3, 4, num_layers=2)(torch.ones(5, 2, 3))
    >>> outputs.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([2, 2, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         proj_size, device, dtype)  # fmt: skip


@_documented
class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014): `h' = (1 - z) n + z h`, `n = tanh(W x + b + r (V h + c))`.

    See Also
    --------
    torch.nn.LSTM, torch.nn.RNN, torch.nn.GRUCell

    Examples
    --------
    >>> outputs, states = nn.GRU(3, 4, bidirectional=True)(torch.ones(5, 2, 3))
    >>> outputs.shape, states.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 2, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0,
                         device, dtype)  # fmt: skip


# --- single steps


@_documented
class RNNCellBase(_Recurrent):
    """Base class for one step of a recurrent layer. The parameters are `weight_ih`, `weight_hh`, `bias_ih` and
    `bias_hh`.

    See Also
    --------
    torch.nn.RNNCell, torch.nn.LSTMCell, torch.nn.GRUCell

    Examples
    --------
    >>> isinstance(nn.GRUCell(3, 4), nn.RNNCellBase)
    True
    """

    _mode = ""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = _recurrent.MODES[self._mode][0] * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size), "bias_ih": (rows,),
                  "bias_hh": (rows,)}  # fmt: skip
        for name, shape in shapes.items():
            wanted = bias or name.startswith("weight")
            made = Parameter(_creation.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """Returns the next state.

        Parameters
        ----------
        input : Tensor
            (B, input_size) or (input_size).
        hx : Tensor or tuple of Tensors, optional
            The state h, or (h, c) of an LSTM; zeros by default.

        Returns
        -------
        Tensor or pair of Tensors
            The state h, or (h, c) of an LSTM, of shape (B, hidden_size) or (hidden_size).

        Examples
        --------
        >>> nn.GRUCell(3, 4)(torch.ones(2, 3)).shape
        torch.Size([2, 4])
        """
        if input.ndim not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        if input.dims[-1] != self.input_size:
            raise RuntimeError(f"[{self!r}] input has inconsistent input_size: got {input.dims[-1]} expected "
                               f"{self.input_size}: the input has shape {list(input.dims)}")  # fmt: skip
        single = input.ndim == 1
        x = input.unsqueeze(0) if single else input
        count = _recurrent.MODES[self._mode][1]
        if hx is None:
            state = tuple(
                _core.t_full([x.dims[0], self.hidden_size], 0, x.dtype_name, x.device_name) for _ in range(count)
            )
        else:
            state = tuple(hx) if count > 1 else (hx,)
            for k, s in enumerate(state):
                wanted = (self.hidden_size,) if single else (x.dims[0], self.hidden_size)
                if s.dims != wanted:
                    raise RuntimeError(f"[{self!r}] Expected hidden{f'[{k}]' if count > 1 else ''} size {wanted}, got "
                                       f"{list(s.dims)}")  # fmt: skip
            state = tuple(s.unsqueeze(0) for s in state) if single else state
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None)
        state = _recurrent.MODES[self._mode][2](_recurrent.project(self._mode, x, weights), state, weights)
        state = tuple(s.squeeze(0) for s in state) if single else state
        return state if count > 1 else state[0]

    def extra_repr(self) -> str:
        more = "" if self.bias else f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            more += f", nonlinearity={self.nonlinearity}"
        return f"{self.input_size}, {self.hidden_size}{more}"


@_documented
class RNNCell(RNNCellBase):
    """One step of `RNN`.

    Parameters
    ----------
    nonlinearity : {"tanh", "relu"}, default "tanh"
        "tanh" or "relu".

    See Also
    --------
    torch.nn.LSTM, torch.nn.LSTMCell, torch.nn.GRUCell

    Examples
    --------
    >>> nn.RNNCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity: {nonlinearity}")
        object.__setattr__(self, "_mode", f"RNN_{nonlinearity.upper()}")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


@_documented
class LSTMCell(RNNCellBase):
    """One step of `LSTM`.

    See Also
    --------
    torch.nn.GRUCell, torch.nn.RNNCell, torch.nn.LSTM

    Examples
    --------
    >>> h, c = nn.LSTMCell(3, 4)(torch.ones(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    _mode = "LSTM"


@_documented
class GRUCell(RNNCellBase):
    """One step of `GRU`.

    See Also
    --------
    torch.nn.GRU, torch.nn.LSTM, torch.nn.RNN, torch.nn.RNNCell, torch.nn.LSTMCell

    Examples
    --------
    >>> nn.GRUCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    _mode = "GRU"


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
