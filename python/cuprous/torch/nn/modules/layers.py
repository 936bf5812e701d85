"""Linear maps, activations, dropout, normalisation, embedding: layers with parameters or a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch.nn import functional as F
from cuprous.torch.nn import init
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


def _empty(*size: int, device: Any = None, dtype: Any = None) -> Parameter:
    return Parameter(_creation.empty(*size, device=device, dtype=dtype))


class Identity(Module):
    """Gives back its input, whatever it was made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Linear(Module):
    """`x @ weight.T + bias`; both start uniform on ±1/√in_features."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _empty(out_features, in_features, device=device, dtype=dtype)
        self.register_parameter("bias", _empty(out_features, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new starting values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """`input @ weight.T + bias`."""
        parameters = self._parameters
        try:
            return _core.t_linear(input, parameters["weight"], parameters["bias"])
        except RuntimeError as error:
            if not error.args[0].startswith("mat1 and mat2"):
                raise
            raise RuntimeError(
                f"[{self!r}] {error}: the input has shape {list(input.dims)}, its last dimension must be "
                f"{self.in_features}"
            ) from None

    def extra_repr(self) -> str:
        """Sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """`x1 @ weight[k] @ x2 + bias[k]` for each k."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = _empty(out_features, in1_features, in2_features, device=device, dtype=dtype)
        self.register_parameter("bias", _empty(out_features, device=device, dtype=dtype) if bias else None)
        bound = 1 / math.sqrt(in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The products."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")  # fmt: skip


class Flatten(Module):
    """Some dimensions as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input with those dimensions as one."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Which dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """The input with that dimension as several."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Which dimension."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


# --- activations: rows of (class, function, arguments with defaults, how they are shown)

#: Every activation without parameters: its function, its settings with their defaults, and those that repr() shows
#: (all that differ from "" in this template).
_ACTIVATIONS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "ReLU": (F.relu, {"inplace": False}, "{inplace}"),
    "ReLU6": (F.relu6, {"inplace": False}, "{inplace}"),
    "Sigmoid": (F.sigmoid, {}, ""),
    "Tanh": (F.tanh, {}, ""),
    "GELU": (F.gelu, {"approximate": "none"}, "approximate={approximate!r}"),
    "SiLU": (F.silu, {"inplace": False}, "{inplace}"),
    "Mish": (F.mish, {"inplace": False}, "{inplace}"),
    "ELU": (F.elu, {"alpha": 1.0, "inplace": False}, "alpha={alpha}{inplace}"),
    "CELU": (F.celu, {"alpha": 1.0, "inplace": False}, "alpha={alpha}{inplace}"),
    "SELU": (F.selu, {"inplace": False}, "{inplace}"),
    "LeakyReLU": (F.leaky_relu, {"negative_slope": 0.01, "inplace": False}, "negative_slope={negative_slope}{inplace}"),
    "Hardtanh": (F.hardtanh, {"min_val": -1.0, "max_val": 1.0, "inplace": False},
                 "min_val={min_val}, max_val={max_val}{inplace}"),
    "Hardsigmoid": (F.hardsigmoid, {"inplace": False}, ""),
    "Hardswish": (F.hardswish, {"inplace": False}, ""),
    "Softplus": (F.softplus, {"beta": 1.0, "threshold": 20.0}, "beta={beta}, threshold={threshold}"),
    "Softsign": (F.softsign, {}, ""),
    "LogSigmoid": (F.logsigmoid, {}, ""),
    "Softmax": (F.softmax, {"dim": None}, "dim={dim}"),
    "LogSoftmax": (F.log_softmax, {"dim": None}, "dim={dim}"),
    "Softmin": (F.softmin, {"dim": None}, "dim={dim}"),
    "GLU": (F.glu, {"dim": -1}, "dim={dim}"),
}  # fmt: skip


def _activation(name: str, function: Any, settings: dict[str, Any], shown: str) -> type[Module]:
    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        values = dict(settings)
        if len(args) > len(values) or not kwargs.keys() <= values.keys():
            raise TypeError(f"{name}() takes the arguments {', '.join(values) or '(none)'}")
        values.update(zip(values, args, strict=False))
        values.update(kwargs)
        for setting, value in values.items():
            setattr(self, setting, value)

    def forward(self: Module, input: Tensor) -> Tensor:
        return function(input, **{setting: getattr(self, setting) for setting in settings})

    def extra_repr(self: Module) -> str:
        inplace = getattr(self, "inplace", False)
        text = shown.format(
            **{**{s: getattr(self, s) for s in settings}, "inplace": ", inplace=True" if inplace else ""}
        )
        return text.removeprefix(", ")

    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": function.__doc__,
            "__module__": __name__}  # fmt: skip
    return type(name, (Module,), body)


for _name, (_function, _settings, _shown) in _ACTIVATIONS.items():
    globals()[_name] = _activation(_name, _function, _settings, _shown)


class PReLU(Module):
    """x above 0, otherwise x times a weight that is learned."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_creation.full((num_parameters,), init, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        """The activation."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many weights."""
        return f"num_parameters={self.num_parameters}"


class _Dropout(Module):
    """Elements (or channels) set to 0 with probability p while training."""

    function = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, thinned out while training."""
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Elements set to 0 with probability p while training, the others divided by 1 - p."""


class Dropout1d(_Dropout):
    """Whole channels set to 0 with probability p while training."""

    function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Whole channels set to 0 with probability p while training."""

    function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Whole channels set to 0 with probability p while training."""

    function = staticmethod(F.dropout3d)


def _shape(given: Any) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


class LayerNorm(Module):
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        size = self.normalized_shape
        affine = elementwise_affine
        weight = Parameter(_creation.ones(size, device=device, dtype=dtype)) if affine else None
        shift = Parameter(_creation.zeros(size, device=device, dtype=dtype)) if affine and bias else None
        self.register_parameter("weight", weight)
        self.register_parameter("bias", shift)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalised."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Shape and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(Module):
    """The last dimensions divided by their root mean square, then scaled."""

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        weight = Parameter(_creation.ones(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight if elementwise_affine else None)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalised."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Shape and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class Embedding(Module):
    """Rows of a table, which starts normal."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError("Padding_idx must be within num_embeddings")
        self.padding_idx = padding_idx if padding_idx is None or padding_idx >= 0 else padding_idx + num_embeddings
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        F.unsupported("Embedding", max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False),
                      sparse=(sparse, False))  # fmt: skip
        if _weight is None:
            self.weight = _empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draws a new table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """On a given table."""
        rows, columns = embeddings.dims
        return cls(rows, columns, padding_idx=padding_idx, _weight=embeddings, _freeze=freeze)

    def forward(self, input: Tensor) -> Tensor:
        """The rows of those numbers."""
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """Sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


__all__ = [
    *_ACTIVATIONS, "Bilinear", "CosineSimilarity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding",
    "Flatten", "Identity", "LayerNorm", "Linear", "PReLU", "RMSNorm", "Unflatten",
]  # fmt: skip
