"""Names and docstrings of functions that are created by others or have much in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def named(function: _F, name: str, doc: str) -> _F:
    """Gives a function its name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def documented(parameters: Mapping[str, str], **sections: str) -> Callable[[_F], _F]:
    """Returns a decorator that completes docstrings by what functions or classes of a module have in common.

    Args:
        parameters: descriptions of parameters, for those that a docstring does not describe.
        sections: sections by title, for docstrings that do not have them.
    """

    def complete(function: _F) -> _F:
        first, _, rest = (function.__doc__ or "").partition("\n")
        summary, *own = re.split(r"\n\n(?=[A-Z]\w+:\n)", f"{first}\n{dedent(rest)}".strip())
        found = {title: f"    {text}" for title, text in sections.items()} | dict(part.split(":\n", 1) for part in own)
        entries = re.split(r"\n(?=    \S)", found["Args"]) if "Args" in found else []
        described = {name.strip(" *"): entry for entry in entries for name in entry.partition(":")[0].split(",")}
        code = function.__init__.__code__ if isinstance(function, type) else function.__code__  # type: ignore[misc]
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        shared = {name: f"    {name}: {parameters[name]}" for name in names if name in parameters}
        inserted = {name: described.get(name, shared.get(name)) for name in names} | described
        found["Args"] = "\n".join(entry for entry in dict.fromkeys(inserted.values()) if entry)
        titles = sorted(found, key=lambda title: ("Args", "Returns", "Raises", title).index(title))
        function.__doc__ = "\n\n".join([summary, *(f"{title}:\n{found[title]}" for title in titles)])
        return function

    return complete
