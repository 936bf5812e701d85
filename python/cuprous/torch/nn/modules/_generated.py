"""Signatures and docstrings of layers that are generated from tables. They are composed when they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Marks a setting that has no default.
REQUIRED = object()


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

    Args:
        function: the function that the layer calls.
        settings: the names of the arguments that the layer has as settings; its inputs are the others.
        example: a call of the layer and its result; by default the function's example.
    """

    def __init__(self, function: Callable[..., Any], settings: dict[str, Any], example: str | None = None) -> None:
        self._function = function
        self._settings = settings
        self._example = example

    def __get__(self, layer: Any, owner: type) -> str:
        from inspect import cleandoc

        summary, *sections = cleandoc(self._function.__doc__ or "").split("\n\n")
        more = [part for part in sections if not part.startswith(("Args:", "Returns:", "Raises:", "Examples:"))]
        titled = dict(part.split(":\n", 1) for part in sections if part not in more)
        entries = ("\n" + titled["Args"]).split("\n    ")[1:]
        arguments: dict[str, str] = {}
        for entry in entries:  # a continuation line is indented further
            name = list(arguments)[-1] if entry.startswith(" ") else entry.partition(":")[0]
            arguments[name] = f"{arguments[name]}\n    {entry}" if name in arguments else entry
        settings = [f"    {text}" for name, text in arguments.items() if name in self._settings]
        inputs = [f"    {text}" for name, text in arguments.items() if name not in self._settings]
        name = self._function.__name__
        example = self._example or titled["Examples"].replace(f"F.{name}(", f"nn.{owner.__name__}()(")
        result = titled["Returns"].strip()
        return "\n".join([
            f"A layer that {summary[0].lower()}{summary[1:]}", "",
            *(f"{text}\n" for text in more),
            *(["Args:", *settings, ""] if settings else []),
            "Shapes:", *inputs, f"    result: {result[0].lower()}{result[1:]}", "",
            "See Also:", f"    torch.nn.functional.{name}", "",
            "Examples:", example,
        ])  # fmt: skip


def documented(base: type, rank: int) -> str:
    """Returns the docstring of a layer for a number of dimensions, from that of its base class.

    Args:
        base: the class, whose example has {n} for the number, {four} and {two} for extents of 4 and 2.
        rank: the number of dimensions.
    """
    return (base.__doc__ or "").format(n=rank, four=", 4" * rank, two=", 2" * rank)
