"""Loss layers, generated from a table of (class, function, settings)."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn import functional as F
from cuprous.torch.nn._loss import legacy
from cuprous.torch.nn.modules._generated import LayerDocumentation, LayerSignature
from cuprous.torch.nn.modules.module import Module, bound

_PLAIN = {"size_average": None, "reduce": None, "reduction": "mean"}

#: For each loss: its function, the tensors that are buffers, and the other settings with their defaults, in the order
#: of PyTorch's arguments.
_LOSSES: dict[str, tuple[Any, tuple[str, ...], dict[str, Any]]] = {
    "L1Loss": (F.l1_loss, (), _PLAIN),
    "MSELoss": (F.mse_loss, (), _PLAIN),
    "SmoothL1Loss": (F.smooth_l1_loss, (), _PLAIN | {"beta": 1.0}),
    "HuberLoss": (F.huber_loss, (), {"reduction": "mean", "delta": 1.0}),
    "BCELoss": (F.binary_cross_entropy, ("weight",), {"weight": None} | _PLAIN),
    "BCEWithLogitsLoss": (F.binary_cross_entropy_with_logits, ("weight", "pos_weight"),
                          {"weight": None} | _PLAIN | {"pos_weight": None}),
    "NLLLoss": (F.nll_loss, ("weight",),
                {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean"}),
    "CrossEntropyLoss": (F.cross_entropy, ("weight",),
                         {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None,
                          "reduction": "mean", "label_smoothing": 0.0}),
    "KLDivLoss": (F.kl_div, (), _PLAIN | {"log_target": False}),
    "PoissonNLLLoss": (F.poisson_nll_loss, (),
                       {"log_input": True, "full": False, "size_average": None, "eps": 1e-8, "reduce": None,
                        "reduction": "mean"}),
    "GaussianNLLLoss": (F.gaussian_nll_loss, (), {"full": False, "eps": 1e-6, "reduction": "mean"}),
    "MarginRankingLoss": (F.margin_ranking_loss, (), {"margin": 0.0} | _PLAIN),
    "HingeEmbeddingLoss": (F.hinge_embedding_loss, (), {"margin": 1.0} | _PLAIN),
    "CosineEmbeddingLoss": (F.cosine_embedding_loss, (), {"margin": 0.0} | _PLAIN),
    "SoftMarginLoss": (F.soft_margin_loss, (), _PLAIN),
    "MultiLabelMarginLoss": (F.multilabel_margin_loss, (), _PLAIN),
    "MultiLabelSoftMarginLoss": (F.multilabel_soft_margin_loss, ("weight",), {"weight": None} | _PLAIN),
    "MultiMarginLoss": (F.multi_margin_loss, ("weight",), {"p": 1, "margin": 1.0, "weight": None} | _PLAIN),
    "TripletMarginLoss": (F.triplet_margin_loss, (), {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False} | _PLAIN),
    "TripletMarginWithDistanceLoss": (F.triplet_margin_with_distance_loss, (),
                                      {"distance_function": None, "margin": 1.0, "swap": False, "reduction": "mean"}),
    "CTCLoss": (F.ctc_loss, (), {"blank": 0, "reduction": "mean", "zero_infinity": False}),
}  # fmt: skip


class _Loss(Module):
    """The base class of losses, from which programs derive their own. `reduction` is "mean", "sum" or "none"."""

    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """The base class of losses with a buffer `weight`."""

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _loss(name: str, function: Any, buffers: tuple[str, ...], settings: dict[str, Any]) -> type[Module]:
    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        values = bound(name, settings, args, kwargs)
        values["reduction"] = legacy(values.pop("size_average", None), values.pop("reduce", None), values["reduction"])
        for setting, value in values.items():
            if setting in buffers:
                self.register_buffer(setting, value)
            else:
                setattr(self, setting, value)

    passed = tuple(setting for setting in settings if setting not in ("size_average", "reduce"))

    def forward(self: Module, *tensors: Any, **named: Any) -> Tensor:
        """Returns the loss."""
        return function(*tensors, **named, **{setting: getattr(self, setting) for setting in passed})

    def plain(self: Module, *tensors: Any, **named: Any) -> Tensor:
        """Returns the loss."""
        return function(*tensors, reduction=self.reduction, **named)

    forward = plain if passed == ("reduction",) else forward
    body = {"__init__": __init__, "forward": forward, "__doc__": LayerDocumentation(function, settings),
            "__signature__": LayerSignature(settings), "__module__": __name__}  # fmt: skip
    return type(name, (_WeightedLoss if "weight" in buffers else _Loss,), body)


for _name, (_function, _buffers, _settings) in _LOSSES.items():
    globals()[_name] = _loss(_name, _function, _buffers, _settings)

__all__ = [*_LOSSES]
