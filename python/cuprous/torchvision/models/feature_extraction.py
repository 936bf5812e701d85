"""Networks that return results of modules inside another network."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from cuprous._unsupported import unsupported_function
from cuprous.torch import nn


class _Extractor(nn.Module):
    """A network whose results are those of modules inside it, by name. The `forward` of the network runs as a whole.

    A module that runs several times has the results of its further runs under its name and "_1", "_2" and so on.
    """

    def __init__(self, network: nn.Module, train: dict[str, str], evaluation: dict[str, str]) -> None:
        super().__init__()
        self.network, self._nodes = network, {True: train, False: evaluation}
        self._found: dict[str, Any] = {}
        self._watched: set[str] = set()
        for nodes in self._nodes.values():
            for node in nodes:
                self._hook(node)

    def _hook(self, node: str) -> None:
        modules = dict(self.network.named_modules())
        stem, _, number = node.rpartition("_")
        path = node if node in modules else stem if number.isdecimal() and stem in modules else None
        if path in (None, ""):
            raise ValueError(f"node: '{node}' is not present in model. Modules can be named, functions cannot")
        if path in self._watched:
            return
        self._watched.add(str(path))

        def keep(module: nn.Module, inputs: Any, result: Any) -> None:
            count = sum(name == path or name.startswith(f"{path}_") for name in self._found)
            self._found[f"{path}_{count}" if count else str(path)] = result

        modules[str(path)].register_forward_hook(keep)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the results by their names."""
        self._found = {}
        self.network(*args, **kwargs)
        found, self._found = self._found, {}
        return OrderedDict((name, found[node]) for node, name in self._nodes[self.training].items())


def _named(nodes: Any) -> dict[str, str]:
    pairs = nodes.items() if isinstance(nodes, dict) else ((node, node) for node in nodes)
    return {str(node): str(name) for node, name in pairs}


def create_feature_extractor(model: nn.Module, return_nodes: Any = None, train_return_nodes: Any = None,
                             eval_return_nodes: Any = None, tracer_kwargs: Any = None,
                             suppress_diff_warning: bool = False,
                             concrete_args: Any = None) -> nn.Module:  # fmt: skip
    """Returns a network whose results are those of modules of a copy of another one. Nothing is traced, so that the
    results of functions cannot be named.

    Parameters
    ----------
    model : Module
        The network.
    return_nodes : sequence of str or dict, optional
        The names of modules, or a dict of them and of the names of their results.
    train_return_nodes : sequence of str or dict, optional
        Those in training, with `eval_return_nodes`.
    eval_return_nodes : sequence of str or dict, optional
        Those in evaluation.
    tracer_kwargs : dict, optional
        Has no effect.
    suppress_diff_warning : bool, default False
        Has no effect.
    concrete_args : dict, optional
        Has no effect.

    Returns
    -------
    Module
        A module that returns a dict.

    Raises
    ------
    ValueError
        For names of no module, and unless the nodes are given for both modes.

    Examples
    --------
    >>> model = models.feature_extraction.create_feature_extractor(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), ["0"])
    >>> list(model(torch.ones(1, 2)))
    ['0']
    """
    if return_nodes is None and (train_return_nodes is None or eval_return_nodes is None):
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, should be specified"
        )
    if return_nodes is not None and (train_return_nodes is not None or eval_return_nodes is not None):
        raise ValueError("If `train_return_nodes` and `eval_return_nodes` are specified, `return_nodes` should not be")
    train, evaluation = (return_nodes if own is None else own for own in (train_return_nodes, eval_return_nodes))
    return _Extractor(copy.deepcopy(model), _named(train), _named(evaluation)).train(model.training)


get_graph_node_names = unsupported_function(
    "get_graph_node_names", "nothing is traced; the names of modules are those of named_modules",
    "torchvision.models.feature_extraction.",
)  # fmt: skip

__all__ = ["create_feature_extractor", "get_graph_node_names"]
