"""Modules that hold modules."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


class _Numbered(Module):
    """Modules by number."""

    def _at(self, index: int) -> str:
        n, index = len(self._modules), operator.index(index)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        return str(index % n)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            chosen = list(self._modules.values())[index]
            return type(self)(*chosen) if isinstance(self, Sequential) else type(self)(chosen)
        return list(self._modules.values())[operator.index(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self._modules[list(self._modules)[operator.index(index)]] = module

    def __delitem__(self, index: Any) -> None:
        kept = list(self._modules.values())
        del kept[index]
        self._modules.clear()
        self._modules.update({str(k): module for k, module in enumerate(kept)})

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Any:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module before another."""
        kept = list(self._modules.values())
        kept.insert(index, module)
        self._modules.clear()
        self._modules.update({str(k): each for k, each in enumerate(kept)})
        return self


class Sequential(_Numbered):
    """Modules one after the other, given one by one or as an ordered dict of names."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for k, module in enumerate(args):
                self.add_module(str(k), module)

    def forward(self, input: Any) -> Any:
        """What the last module makes of it."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules; what is done with them is up to its owner."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """There is none.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __repr__(self) -> str:
        """As other modules, with equal neighbours in one line."""
        lines = []
        at = 0
        for text, group in groupby(repr(module) for module in self):
            count = len(list(group))
            place = f"({at})" if count == 1 else f"({at}-{at + count - 1})"
            times = "" if count == 1 else f"{count} x "
            lines.append(f"{place}: {times}{text}".replace("\n", "\n  "))
            at += count
        inside = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inside}\n)" if lines else f"{self._get_name()}()"


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds modules by name."""
        for name, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[name] = module

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """Names."""
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        """Modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Names and modules."""
        return self._modules.items()

    def pop(self, key: str) -> Module:
        """Takes a module out."""
        return self._modules.pop(key)

    def clear(self) -> None:
        """Takes all modules out."""
        self._modules.clear()


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        for value in values or ():
            self.append(value)

    def append(self, value: Any) -> ParameterList:
        """Adds a parameter (or a tensor, as a parameter)."""
        parameter = value if isinstance(value, Parameter) else Parameter(value)
        self.register_parameter(str(len(self)), parameter)
        return self

    def __getitem__(self, index: int) -> Parameter:
        return list(self._parameters.values())[index]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())


__all__ = ["ModuleDict", "ModuleList", "ParameterList", "Sequential"]
