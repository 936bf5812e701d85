"""Names and docstrings of functions that are created by others or have much in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
#: The sections of docstrings, in NumPy's format.
SECTIONS = ("Parameters", "Shapes", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples")
#: The default of a parameter that has none.
REQUIRED = object()


def named(function: _F, name: str, doc: str) -> _F:
    """Gives a function its name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def split_sections(doc: str) -> tuple[str, dict[str, str]]:
    """Returns what a docstring says before its sections, and the text of each section by its title."""
    from textwrap import dedent  # not needed to import the package

    first, _, rest = doc.partition("\n")
    head, *parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+\n", f"{first}\n{dedent(rest)}\n", flags=re.MULTILINE)
    return head.strip(), {title: text.strip("\n") for title, text in zip(parts[::2], parts[1::2], strict=True)}


def join_sections(head: str, sections: Mapping[str, str]) -> str:
    """Returns a docstring of its first lines and of those sections that have a text."""
    parts = (f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items() if text)
    return "\n\n".join([head, *parts])


def split_entries(text: str) -> dict[str, str]:
    """Returns the entries of a section, such as those of parameters, by their names."""
    entries = re.split(r"\n(?=\S)", text) if text else []
    return {name.strip(" *"): entry for entry in entries for name in re.split(" :|\n", entry)[0].split(",")}


def related_names(name: str, group: str, module: str = "torch") -> str:
    """Returns the section See Also of a function of a group: the paths of the group's other names in a module."""
    return ", ".join(f"{module}.{other}" for other in group.split() if other != name)


def typed(kind: str, default: Any) -> str:
    """Returns the type of a parameter with its default: "int, default 0", or "int, optional" for other objects."""
    parts = default if type(default) is tuple and default else (default,)
    plain = all(type(part) in (bool, int, float, str) and repr(part) not in ("nan", "inf", "-inf") for part in parts)
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return kind if default is REQUIRED else f"{kind}, default {shown}" if plain else f"{kind}, optional"


def entry(name: str, kind: str, text: str, default: Any = REQUIRED) -> str:
    """Returns the description of a parameter, whose first line has its type and default."""
    return f"{name} : {typed(kind, default)}\n    {text}"


def with_default(described: str, default: Any) -> str:
    """Returns the description of a parameter, as `entry` writes it, with another default."""
    first, _, text = described.partition("\n    ")
    name, _, kind = first.partition(" : ")
    return entry(name, re.split(", (?:optional|default)", kind)[0], text, default)


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the defaults of parameters by name, without `*args` and `**kwargs`; REQUIRED for those without one."""
    code, own = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found = dict(zip(names[code.co_argcount - len(own) : code.co_argcount], own, strict=True))
    return dict.fromkeys(names, REQUIRED) | found | (function.__kwdefaults__ or {})


def documented(parameters: Mapping[str, str], **sections: str) -> Callable[[_F], _F]:
    """Returns a decorator that completes docstrings by what functions or classes of a module have in common.

    Parameters
    ----------
    parameters : mapping of str to str
        Descriptions by "name : type", for parameters that a docstring does not describe.
    **sections : str
        Sections by title, for docstrings that do not have them.
    """
    shared = {name: (kind, text) for key, text in parameters.items() for name, _, kind in [key.partition(" : ")]}

    def complete(function: _F) -> _F:
        head, own = split_sections(function.__doc__ or "")
        found = sections | own
        described = split_entries(found.get("Parameters", ""))
        called = function.__init__ if isinstance(function, type) else function  # type: ignore[misc]
        given = defaults(called)
        common = {name: entry(name, *shared[name], default) for name, default in given.items() if name in shared}
        inserted = {name: described.get(name, common.get(name)) for name in given} | described
        found["Parameters"] = "\n".join(text for text in dict.fromkeys(inserted.values()) if text)
        function.__doc__ = join_sections(head, {title: found[title] for title in SECTIONS if title in found})
        return function

    return complete
