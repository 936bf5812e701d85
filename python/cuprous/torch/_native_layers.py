"""Functions of layers in `torch` itself. They take arguments in the order of PyTorch's native functions, which differs
from that of `torch.nn.functional`, and numbers for reductions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import named, write_out
from cuprous.torch.nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")
_NORM = "input weight bias running_mean running_var {} momentum eps cudnn_enabled"
_NONE: dict[str, str] = {}
#: Function -> its parameters in PyTorch's order with their defaults; their names in `nn.functional`, where they differ;
#: an example and its result.
_TABLE: dict[str, tuple[str, dict[str, str], str]] = {
    "alpha_dropout": ("input p train", {"train": "training"}, "torch.ones(2), 0.5, False -> tensor([1., 1.])"),
    "batch_norm": (_NORM.format("training"), _NONE,
                   "torch.tensor([[0.0], [2.0]]), None, None, None, None, True, 0.1, 1e-5, False -> "
                   "tensor([[-1.0000],\n                [ 1.0000]])"),
    "binary_cross_entropy_with_logits": (
        "input target weight=None pos_weight=None reduction=1", _NONE,
        "torch.zeros(2), torch.ones(2) -> tensor(0.6931)"),
    "cosine_embedding_loss": ("input1 input2 target margin=0.0 reduction=1", _NONE,
                              "torch.ones(1, 2), torch.ones(1, 2), torch.tensor([-1]), 2.0 -> tensor(0.)"),
    "ctc_loss": ("log_probs targets input_lengths target_lengths blank=0 reduction=1 zero_infinity=False", _NONE,
                 "torch.zeros(2, 1, 2), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]) -> tensor(-1.0986)"),
    "dropout": ("input p train", {"train": "training"}, "torch.ones(2), 0.5, False -> tensor([1., 1.])"),
    "embedding": ("weight indices padding_idx=None scale_grad_by_freq=False sparse=False", {"indices": "input"},
                  "torch.tensor([[1.0], [2.0]]), torch.tensor([1]) -> tensor([[2.]])"),
    "feature_alpha_dropout": ("input p train", {"train": "training"},
                              "torch.ones(1, 2, 1), 0.5, False -> tensor([[[1.],\n                 [1.]]])"),
    "group_norm": ("input num_groups weight=None bias=None eps=1e-05 cudnn_enabled=True", _NONE,
                   "torch.tensor([[0.0, 2.0]]), 1 -> tensor([[-1.0000,  1.0000]])"),
    "hardshrink": ("input lambd=0.5", _NONE, "torch.tensor([0.2, 2.0]) -> tensor([0., 2.])"),
    "hinge_embedding_loss": ("input target margin=1.0 reduction=1", _NONE,
                             "torch.tensor([0.5]), torch.tensor([-1]) -> tensor(0.5000)"),
    "instance_norm": (_NORM.format("use_input_stats"), _NONE,
                      "torch.tensor([[[0.0, 2.0]]]), None, None, None, None, True, 0.1, 1e-5, False -> "
                      "tensor([[[-1.0000,  1.0000]]])"),
    "kl_div": ("input target reduction=1 log_target=False", _NONE,
               "torch.zeros(2), torch.ones(2) -> tensor(0.)"),
    "layer_norm": ("input normalized_shape weight=None bias=None eps=1e-05 cudnn_enable=True", _NONE,
                   "torch.tensor([0.0, 2.0]), [2] -> tensor([-1.0000,  1.0000])"),
    "margin_ranking_loss": ("input1 input2 target margin=0.0 reduction=1", _NONE,
                            "torch.ones(1), torch.zeros(1), torch.tensor([-1]) -> tensor(1.)"),
    "poisson_nll_loss": ("input target log_input=True full=False eps=1e-08 reduction=1", _NONE,
                         "torch.zeros(2), torch.ones(2), True, False, 1e-8, 1 -> tensor(1.)"),
    "rrelu": ("input lower=0.125 upper=0.3333333333333333 training=False generator=None", _NONE,
              "torch.tensor([-1.0, 2.0]), 0.2, 0.4 -> tensor([-0.3000,  2.0000])"),
    "threshold": ("input threshold value", _NONE, "torch.tensor([0.2, 2.0]), 1.0, 5.0 -> tensor([5., 2.])"),
    "triplet_margin_loss": ("anchor positive negative margin=1.0 p=2 eps=1e-06 swap=False reduction=1", _NONE,
                            "torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(1, 2) -> tensor(1.)"),
}  # fmt: skip
#: Which library computes a layer is decided by what is installed, so that these have no effect.
_LIBRARY = ("cudnn_enabled", "cudnn_enable")
_DESCRIPTIONS = {
    **dict.fromkeys(_LIBRARY, "for PyTorch's signature; results do not depend on the library."),
    "train": "whether elements are dropped; otherwise the input is returned.",
    "indices": "the rows, an integer tensor of any shape.",
    "reduction": "0 for all losses, 1 for their mean, 2 for their sum.",
    "weight": "the factor of each channel, or the table.",
    "generator": "the generator of random numbers, by default the one that `torch.manual_seed` seeds.",
}


def _description(name: str, source: Callable[..., Any], theirs: str) -> str:
    found = re.search(rf"^        {theirs}: (.*(?:\n {{12}}.*)*)", source.__doc__ or "", re.MULTILINE)
    return _DESCRIPTIONS[name] if name in _DESCRIPTIONS or not found else found[1]


def _called(name: str, given: dict[str, Any], renamed: dict[str, str]) -> Tensor:
    """Calls a function of `nn.functional` with arguments under the names of PyTorch's native function."""
    out = given.pop("out", None)
    for key in _LIBRARY:
        given.pop(key, None)
    if "reduction" in given:
        given["reduction"] = _REDUCTIONS[given["reduction"]]
    if given.get("padding_idx") == -1:  # as PyTorch's native function has it
        del given["padding_idx"]
    return write_out(out, getattr(F, name)(**{renamed.get(key, key): x for key, x in given.items()}))


def _made(name: str, text: str, renamed: dict[str, str], example: str) -> Callable[..., Tensor]:
    function, takes_out = getattr(F, name), name in ("hardshrink", "threshold")
    names = [part.partition("=")[0] for part in text.split()]
    parameters = ", ".join(text.split()) + (", *, out=None" if takes_out else "")
    scope: dict[str, Any] = {"_called": _called, "_renamed": renamed}
    # So that it has the parameters of the table, as `inspect` and Python's own errors show them.
    exec(f"def call({parameters}): return _called({name!r}, locals(), _renamed)", scope)
    call = scope["call"]
    call.forwards_to = function
    lines = [f"        {x}: {_description(x, function, renamed.get(x, x))}" for x in names]
    lines += ["        out: a tensor of the result's shape to write to."] if takes_out else []
    arguments, result = example.split(" -> ")
    listed = "\n".join(lines)
    return named(
        call,
        name,
        f"""Returns `torch.nn.functional.{name}`, with the arguments in the order of PyTorch's native function.

    Args:
{listed}

    Returns:
        A tensor.

    Examples:
        >>> torch.{name}({arguments})
        {result}
    """,
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

    Args:
        input: a tensor of any shape, of a floating dtype.
        p: the probability of dropping an element.
        train: whether elements are dropped; otherwise the input is left as it is.

    Returns:
        The input.

    Examples:
        >>> torch.{name}_(torch.ones(1, 2), 0.5, False)
        tensor([[1., 1.]])
    """,
    )


FUNCTIONS = {name: _made(name, *row) for name, row in _TABLE.items()}
FUNCTIONS |= {f"{name}_": _writer(name) for name in ("alpha_dropout", "dropout", "feature_alpha_dropout")}
FUNCTIONS |= {name: getattr(F, name) for name in ("celu_", "rrelu_", "selu_", "threshold_")}

__all__ = ["FUNCTIONS"]
