"""Functions of layers in `torch` itself. They take arguments in the order of PyTorch's native functions, which differs
from that of `torch.nn.functional`, and numbers for reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from cuprous import _core
from cuprous._common.naming import defaults, entry, join_sections, named, split_entries, split_sections, with_default
from cuprous._core import Tensor
from cuprous.torch._args import write_out
from cuprous.torch.nn import functional as F

_Maybe: TypeAlias = "Tensor | None"
_REDUCTIONS = ("none", "mean", "sum")
#: Types and descriptions of the parameters that `nn.functional` lacks, or has under another meaning.
_DESCRIPTIONS = {
    **dict.fromkeys(("cudnn_enabled", "cudnn_enable"),
                    ("bool", "For PyTorch's signature; results are the same either way.")),
    "train": ("bool", "Whether elements are dropped; otherwise the input is returned."),
    "use_input_stats": ("bool", "Whether the statistics are those of the input."),
    "indices": ("Tensor", "The rows, an integer tensor of any shape."),
    "reduction": ("int", "0 for all losses, 1 for their mean, 2 for their sum."),
    "weight": ("Tensor", "The factor of each channel, or the table."),
    "generator": ("Generator", "The generator of random numbers, by default the one that `torch.manual_seed` seeds."),
    "out": ("Tensor", "A tensor of the result's shape to write to."),
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Tensor]] = {}
_T = TypeVar("_T", bound=Callable[..., Tensor])


def _description(name: str, described: dict[str, str], default: Any) -> str:
    own = _DESCRIPTIONS.get(name)
    return entry(name, *own, default) if own else with_default(described[name], default)


def _native(example: str) -> Callable[[_T], _T]:
    """Returns a decorator that documents a function as that of `nn.functional` with its name, with an example."""

    def document(function: _T) -> _T:
        name = function.__name__
        source = getattr(F, name)
        described = split_entries(split_sections(source.__doc__ or "")[1]["Parameters"])
        listed = [_description(x, described, default) for x, default in defaults(function).items()]
        maybe = [f"{x} : Tensor\n" for x, kind in function.__annotations__.items() if kind == "_Maybe"]
        for first in maybe:  # tensors that may be None without being optional
            listed = [
                text.replace(first, f"{first[:-1]} or None\n") if text.startswith(first) else text for text in listed
            ]
        arguments, result = example.split(" -> ")
        function.forwards_to = source  # type: ignore[attr-defined]
        head = f"Returns `torch.nn.functional.{name}`, with the arguments in the order of PyTorch's native function."
        shown = f">>> torch.{name}({arguments})\n{result}\n"
        doc = join_sections(head, {"Parameters": "\n".join(listed), "Returns": "Tensor",
                                   "See Also": f"torch.nn.functional.{name}", "Examples": shown})  # fmt: skip
        FUNCTIONS[name] = named(function, name, doc)
        return function

    return document


@_native("torch.ones(2), 0.5, False -> tensor([1., 1.])")
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return F.alpha_dropout(input, p, train)


@_native("torch.ones(2), 0.5, False -> tensor([1., 1.])")
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return F.dropout(input, p, train)


@_native("torch.ones(1, 2, 1), 0.5, False -> tensor([[[1.],\n                 [1.]]])")
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return F.feature_alpha_dropout(input, p, train)


@_native("torch.tensor([[0.0], [2.0]]), None, None, None, None, True, 0.1, 1e-5, False -> "
         "tensor([[-1.0000],\n                [ 1.0000]])")  # fmt: skip
def batch_norm(input: Tensor, weight: _Maybe, bias: _Maybe, running_mean: _Maybe, running_var: _Maybe, training: bool,
               momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:  # fmt: skip
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_native("torch.tensor([[[0.0, 2.0]]]), None, None, None, None, True, 0.1, 1e-5, False -> "
         "tensor([[[-1.0000,  1.0000]]])")  # fmt: skip
def instance_norm(input: Tensor, weight: _Maybe, bias: _Maybe, running_mean: _Maybe, running_var: _Maybe,
                  use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:  # fmt: skip
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@_native("torch.tensor([[0.0, 2.0]]), 1 -> tensor([[-1.0000,  1.0000]])")
def group_norm(input: Tensor, num_groups: int, weight: _Maybe = None, bias: _Maybe = None, eps: float = 1e-05,
               cudnn_enabled: bool = True) -> Tensor:  # fmt: skip
    return F.group_norm(input, num_groups, weight, bias, eps)


@_native("torch.tensor([0.0, 2.0]), [2] -> tensor([-1.0000,  1.0000])")
def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: _Maybe = None, bias: _Maybe = None,
               eps: float = 1e-05, cudnn_enable: bool = True) -> Tensor:  # fmt: skip
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@_native("torch.tensor([[1.0], [2.0]]), torch.tensor([1]) -> tensor([[2.]])")
def embedding(weight: Tensor, indices: Tensor, padding_idx: int | None = None, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Tensor:  # fmt: skip
    row = None if padding_idx == -1 else padding_idx  # as PyTorch's native function has it
    return F.embedding(indices, weight, row, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@_native("torch.tensor([0.2, 2.0]) -> tensor([0., 2.])")
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: _Maybe = None) -> Tensor:
    return write_out(out, F.hardshrink(input, lambd))


@_native("torch.tensor([0.2, 2.0]), 1.0, 5.0 -> tensor([5., 2.])")
def threshold(input: Tensor, threshold: float, value: float, *, out: _Maybe = None) -> Tensor:
    return write_out(out, F.threshold(input, threshold, value))


@_native("torch.tensor([-1.0, 2.0]), 0.2, 0.4 -> tensor([-0.3000,  2.0000])")
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False,
          generator: Any = None) -> Tensor:  # fmt: skip
    return F.rrelu(input, lower, upper, training, generator=generator)


@_native("torch.zeros(2), torch.ones(2) -> tensor(0.6931)")
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: _Maybe = None, pos_weight: _Maybe = None,
                                     reduction: int = 1) -> Tensor:  # fmt: skip
    return F.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight=pos_weight, reduction=_REDUCTIONS[reduction]
    )


@_native("torch.ones(1, 2), torch.ones(1, 2), torch.tensor([-1]), 2.0 -> tensor(0.)")
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          reduction: int = 1) -> Tensor:  # fmt: skip
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


@_native("torch.zeros(2, 1, 2), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]) -> tensor(-1.0986)")
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: int = 1, zero_infinity: bool = False) -> Tensor:  # fmt: skip
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity)


@_native("torch.tensor([0.5]), torch.tensor([-1]) -> tensor(0.5000)")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    return F.hinge_embedding_loss(input, target, margin, reduction=_REDUCTIONS[reduction])


@_native("torch.zeros(2), torch.ones(2) -> tensor(0.)")
def kl_div(input: Tensor, target: Tensor, reduction: int = 1, log_target: bool = False) -> Tensor:
    return F.kl_div(input, target, reduction=_REDUCTIONS[reduction], log_target=log_target)


@_native("torch.ones(1), torch.zeros(1), torch.tensor([-1]) -> tensor(1.)")
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        reduction: int = 1) -> Tensor:  # fmt: skip
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


@_native("torch.zeros(2), torch.ones(2), True, False, 1e-8, 1 -> tensor(1.)")
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-08,
                     reduction: int = 1) -> Tensor:  # fmt: skip
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_REDUCTIONS[reduction])


@_native("torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(1, 2) -> tensor(1.)")
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-06, swap: bool = False, reduction: int = 1) -> Tensor:  # fmt: skip
    return F.triplet_margin_loss(
        anchor, positive, negative, margin, p=p, eps=eps, swap=swap, reduction=_REDUCTIONS[reduction]
    )


def _writer(name: str) -> Callable[..., Tensor]:
    """Returns the form of a function that writes its result to the first argument."""
    function = FUNCTIONS[name]

    def write(input: Tensor, p: float, train: bool) -> Tensor:
        _core.t_assign(input, function(input, p, train))
        return input

    return named(
        write,
        f"{name}_",
        f"""Writes the result of `torch.{name}` to the input.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    p : float
        The probability of dropping an element.
    train : bool
        Whether elements are dropped; otherwise the input is left as it is.

    Returns
    -------
    Tensor
        The input.

    See Also
    --------
    torch.{name}, torch.nn.functional.{name}

    Examples
    --------
    >>> torch.{name}_(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """,
    )


FUNCTIONS |= {f"{name}_": _writer(name) for name in ("alpha_dropout", "dropout", "feature_alpha_dropout")}
FUNCTIONS |= {name: getattr(F, name) for name in ("celu_", "rrelu_", "selu_", "threshold_")}

__all__ = ["FUNCTIONS"]
