"""Networks that return the results of layers inside another network."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from cuprous.torch import nn


class IntermediateLayerGetter(nn.ModuleDict):
    """A network's layers up to the last one whose result is needed. It returns the results by their new names.

    Parameters
    ----------
    model : Module
        The network, whose layers are called one after the other.
    return_layers : dict of str to str
        The names of layers, and the names of their results.
    """

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        if not set(return_layers) <= set(children):
            raise ValueError("return_layers are not present in model")
        self.return_layers = {str(name): str(new) for name, new in return_layers.items()}
        names = list(children)
        last = max(map(names.index, self.return_layers))
        super().__init__({name: children[name] for name in names[: last + 1]})

    def forward(self, x: Any) -> Any:
        """Returns the results."""
        found: OrderedDict[str, Any] = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                found[self.return_layers[name]] = x
        return found


__all__ = ["IntermediateLayerGetter"]
