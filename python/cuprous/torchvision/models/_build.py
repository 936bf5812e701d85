"""What the functions that create networks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from cuprous._common.naming import named, related_names
from cuprous.torch import nn
from cuprous.torchvision.models._weights import chosen


def divisible(v: float, divisor: int = 8, least: int | None = None) -> int:
    """Returns the multiple of a divisor next to a number of channels, and at most a tenth below it."""
    found = max(divisor if least is None else least, int(v + divisor / 2) // divisor * divisor)
    return found + divisor if found < 0.9 * v else found


def with_weights(model: Any, weights: Any, progress: bool) -> Any:
    """Returns a network after it has got its weights, if some are requested."""
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress))
    return model


_F = TypeVar("_F", bound=Callable[..., Any])


def named_network(make: _F, name: str, summary: str) -> _F:
    """Gives a function that creates a network its name and docstring."""
    return named(
        make,
        name,
        f"""{summary}

    Parameters
    ----------
    weights : Weights or str, optional
        Weights to load: a member of the network's enumeration of weights, or the name of one.
    progress : bool, default True
        Whether a download of weights shows how far it is.
    pretrained : bool, default False
        The older name of `weights`; True loads the first ones.
    **options : any
        Arguments of the network's class, such as `num_classes`.

    Returns
    -------
    Module
        The network.

    See Also
    --------
    {related_names(name, "get_model list_models get_model_weights", "torchvision.models")}

    Examples
    --------
    >>> model = models.{name}(num_classes=10)
    >>> list(model.parameters())[-1].shape
    torch.Size([10])
    """,
    )


def builder(name: str, create: Callable[..., nn.Module], doc: str) -> Callable[..., Any]:
    """Returns the public function that creates a network of a name."""

    def make(*, weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> Any:
        wanted = chosen(name, weights, pretrained)
        return with_weights(create(**options), wanted, progress)

    return named_network(make, name, doc)


def probabilities(total: int, last: float) -> Iterator[float]:
    """Yields the probabilities with which stochastic depth drops each of several blocks, from 0 on."""
    for k in range(total):
        yield last * k / max(total - 1, 1)


def initialize(model: nn.Module, linear: Callable[[Any], Any] | None = None) -> None:
    """Initializes convolutions by He's rule (fan out), normalizations with 1 and 0, and linear layers by `linear`."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear) and linear is not None:
            linear(module.weight)
            nn.init.zeros_(module.bias)
