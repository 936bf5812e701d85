"""Signatures and docstrings of layers that are generated from tables. They are composed when they are read."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

from cuprous._common.naming import REQUIRED, join_sections, split_entries, split_sections, with_default


class LayerSignature:
    """The attribute `__signature__` of a layer class: its settings and their defaults."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def __get__(self, layer: Any, owner: type) -> Any:
        if owner.__dict__.get("__signature__") is not self:  # a subclass, which has a signature of its own
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        kind = Parameter.POSITIONAL_OR_KEYWORD
        return Signature([
            Parameter(name, kind, default=Parameter.empty if default is REQUIRED else default)
            for name, default in self._settings.items()
        ])  # fmt: skip


class LayerDocumentation:
    """The attribute `__doc__` of a layer class: its function's docstring, with settings and inputs apart.

    Parameters
    ----------
    function : callable
        The function that the layer calls.
    settings : dict
        The names of the arguments that the layer has as settings; its inputs are the others.
    example : str, optional
        A call of the layer and its result; by default the function's example.
    """

    def __init__(self, function: Callable[..., Any], settings: dict[str, Any], example: str | None = None) -> None:
        self._function = function
        self._settings = settings
        self._example = example

    def __get__(self, layer: Any, owner: type) -> str:
        head, found = split_sections(self._function.__doc__ or "")
        settings, inputs = [], []
        for name, text in split_entries(found["Parameters"]).items():
            if name in self._settings:
                settings.append(with_default(text, self._settings[name]))
            else:
                inputs.append("\n".join([name, *text.split("\n")[1:]]))
        name = self._function.__name__
        example = self._example or found["Examples"].replace(f"F.{name}(", f"nn.{owner.__name__}()(")
        kind, _, result = found["Returns"].partition("\n    ")
        inputs.append(f"result\n    {result or f'A {kind.lower()}.'}")
        return join_sections(f"A layer that {head[0].lower()}{head[1:]}", {
            "Parameters": "\n".join(settings),
            "Shapes": "\n".join(inputs),
            "See Also": f"torch.nn.functional.{name}",
            "Notes": found.get("Notes", ""),
            "Examples": dedent(example),
        })  # fmt: skip


def documented(base: type, rank: int) -> str:
    """Returns the docstring of a layer for a number of dimensions, from that of its base class.

    Parameters
    ----------
    base : type
        The class, whose example has {n} for the number, {four} and {two} for extents of 4 and 2.
    rank : int
        The number of dimensions.
    """
    return (base.__doc__ or "").format(n=rank, four=", 4" * rank, two=", 2" * rank)
