"""Modules that contain modules."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


class _Numbered(Module):
    """Base class of modules that are indexed by number."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if isinstance(self, Sequential):  # the modules keep their names
                return type(self)(OrderedDict(list(self._modules.items())[index]))
            return type(self)(list(self._modules.values())[index])
        return list(self._modules.values())[self._position(index)]

    def _position(self, index: int) -> int:
        index = operator.index(index)
        if not -len(self._modules) <= index < len(self._modules):
            raise IndexError(f"index {index} is out of range")
        return index

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[self._position(index)], module)

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
        """Appends a module."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Appends modules."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, key: int) -> Any:
        """Removes and returns a module."""
        found = self[key]
        del self[key]
        return found

    def insert(self, index: int, module: Module) -> Any:
        """Inserts a module before an index."""
        kept = list(self._modules.values())
        kept.insert(index, module)
        self._modules.clear()
        self._modules.update({str(k): each for k, each in enumerate(kept)})
        return self


class Sequential(_Numbered):
    """Modules that are called one after another, given as arguments or as an ordered dict.

    Parameters
    ----------
    *args : any
        The modules, or one ordered dict of modules by name.

    Shapes
    ------
    input
        What the first module takes.
    result
        What the last module returns.

    See Also
    --------
    torch.nn.ModuleDict, torch.nn.ModuleList, torch.nn.ParameterDict, torch.nn.ParameterList

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> model(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for k, module in enumerate(args):
                self.add_module(str(k), module)

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Appends modules.

        Parameters
        ----------
        sequential : iterable of Modules
            The modules.

        Returns
        -------
        Sequential
            The container itself.

        Examples
        --------
        >>> len(nn.Sequential(nn.ReLU()).extend([nn.Tanh(), nn.GELU()]))
        3
        """
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Iterable[Module]) -> Sequential:
        return Sequential(*self, *other)

    def forward(self, input: Any) -> Any:
        """Returns the result of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules. It has no `forward`.

    Parameters
    ----------
    modules : iterable of Modules, optional
        The modules.

    See Also
    --------
    torch.nn.ParameterDict, torch.nn.ParameterList, torch.nn.Sequential, torch.nn.ModuleDict

    Examples
    --------
    >>> layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    >>> len(layers), len(list(layers.parameters()))
    (2, 4)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Not implemented for a list.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __repr__(self) -> str:
        """Text representation in which equal neighbors share a line."""
        lines = []
        at = 0
        for text, group in groupby(repr(module) for module in self):
            count = len(list(group))
            position = f"({at})" if count == 1 else f"({at}-{at + count - 1})"
            times = "" if count == 1 else f"{count} x "
            lines.append(f"{position}: {times}{text}".replace("\n", "\n  "))
            at += count
        inside = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inside}\n)" if lines else f"{self._get_name()}()"


class ModuleDict(Module):
    """A dict of modules.

    Parameters
    ----------
    modules : mapping of str to Module or iterable of pairs, optional
        The modules by name, a mapping or pairs.

    See Also
    --------
    torch.nn.ModuleList, torch.nn.ParameterDict, torch.nn.ParameterList, torch.nn.Sequential

    Examples
    --------
    >>> layers = nn.ModuleDict({"first": nn.Linear(2, 3)})
    >>> layers["first"]
    Linear(in_features=2, out_features=3, bias=True)
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:  # a subclass may override `update`
            self.update(modules)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds modules by name.

        Parameters
        ----------
        modules : mapping of str to Module or iterable of pairs
            The modules by name, a mapping or pairs.

        Examples
        --------
        >>> layers = nn.ModuleDict()
        >>> layers.update({"first": nn.ReLU()})
        >>> list(layers)
        ['first']
        """
        for name, module in modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules:
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
        """Returns the names.

        Returns
        -------
        iterable of str
            An iterable of strings.

        Examples
        --------
        >>> list(nn.ModuleDict({"first": nn.ReLU()}).keys())
        ['first']
        """
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        """Returns the modules.

        Returns
        -------
        iterable of Modules
            An iterable of modules.

        Examples
        --------
        >>> list(nn.ModuleDict({"first": nn.ReLU()}).values())
        [ReLU()]
        """
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Returns pairs of names and modules.

        Returns
        -------
        iterable of tuple (str, Module)
            An iterable of pairs.

        Examples
        --------
        >>> list(nn.ModuleDict({"first": nn.ReLU()}).items())
        [('first', ReLU())]
        """
        return self._modules.items()

    def pop(self, key: str) -> Module:
        """Removes and returns a module.

        Parameters
        ----------
        key : str
            The name.

        Returns
        -------
        Module
            The module.

        Raises
        ------
        KeyError
            For an unknown name.

        Examples
        --------
        >>> nn.ModuleDict({"first": nn.ReLU()}).pop("first")
        ReLU()
        """
        return self._modules.pop(key)

    def clear(self) -> None:
        """Removes all modules.

        Examples
        --------
        >>> layers = nn.ModuleDict({"first": nn.ReLU()})
        >>> layers.clear()
        >>> len(layers)
        0
        """
        self._modules.clear()


def _shown(value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    position = "" if value.device_name == "cpu" else f" ({value.device})"
    return f"{kind} containing: [{value.dtype} of size {'x'.join(map(str, value.dims))}{position}]"


class ParameterList(Module):
    """A list of parameters. Tensors become parameters, and other values are stored unchanged.

    Parameters
    ----------
    values : iterable, optional
        The values.

    See Also
    --------
    torch.nn.Sequential, torch.nn.ModuleDict, torch.nn.ModuleList, torch.nn.ParameterDict

    Examples
    --------
    >>> weights = nn.ParameterList([torch.ones(2), torch.zeros(3)])
    >>> [w.shape for w in weights]
    [torch.Size([2]), torch.Size([3])]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def append(self, value: Any) -> ParameterList:
        """Appends a value.

        Parameters
        ----------
        value : any
            A tensor, or another value.

        Returns
        -------
        ParameterList
            The list itself.

        Examples
        --------
        >>> len(nn.ParameterList().append(torch.ones(2)))
        1
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Appends values.

        Parameters
        ----------
        values : iterable
            Tensors, or other values.

        Returns
        -------
        ParameterList
            The list itself.

        Examples
        --------
        >>> len(nn.ParameterList().extend([torch.ones(2), torch.ones(3)]))
        2
        """
        for value in values:
            self.append(value)
        return self

    def _key(self, index: int) -> str:
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[k] for k in range(*index.indices(self._size))])
        return getattr(self, self._key(index))

    def __setitem__(self, index: int, value: Any) -> None:
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, self._key(index), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self._size))

    __iadd__ = extend

    def extra_repr(self) -> str:
        """Returns the type and size of each value.

        Returns
        -------
        str

        Examples
        --------
        >>> print(nn.ParameterList([torch.ones(2)]).extra_repr())
          (0): Parameter containing: [torch.float32 of size 2]
        """
        return "\n".join(f"  ({k}): {_shown(value)}" for k, value in enumerate(self))


class ParameterDict(Module):
    """A dict of parameters. Tensors become parameters, and other values are stored unchanged.

    Parameters
    ----------
    parameters : mapping or iterable of pairs, optional
        The values by name, a mapping or pairs.

    See Also
    --------
    torch.nn.ParameterList, torch.nn.Sequential, torch.nn.ModuleDict, torch.nn.ModuleList

    Examples
    --------
    >>> weights = nn.ParameterDict({"scale": torch.ones(2)})
    >>> weights["scale"].requires_grad
    True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(parameters or {})

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds values by name.

        Parameters
        ----------
        parameters : mapping or iterable of tuples
            The values by name, a mapping or pairs.

        Examples
        --------
        >>> weights = nn.ParameterDict()
        >>> weights.update({"scale": torch.ones(2)})
        >>> list(weights)
        ['scale']
        """
        for name, value in parameters.items() if isinstance(parameters, (Mapping, ParameterDict)) else parameters:
            self[name] = value

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        self._keys[key] = None
        setattr(self, key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """Returns the names.

        Returns
        -------
        iterable of str
            An iterable of strings.

        Examples
        --------
        >>> list(nn.ParameterDict({"scale": torch.ones(2)}).keys())
        ['scale']
        """
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """Returns the values.

        Returns
        -------
        iterable
            An iterable of values.

        Examples
        --------
        >>> [w.shape for w in nn.ParameterDict({"scale": torch.ones(2)}).values()]
        [torch.Size([2])]
        """
        return [self[key] for key in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        """Returns pairs of names and values.

        Returns
        -------
        iterable of tuples
            An iterable of pairs.

        Examples
        --------
        >>> [(name, w.shape) for name, w in nn.ParameterDict({"scale": torch.ones(2)}).items()]
        [('scale', torch.Size([2]))]
        """
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a name, or a default.

        Parameters
        ----------
        key : str
            The name.
        default : object, optional
            What is returned for an unknown name.

        Returns
        -------
        Tensor
            A parameter or value.

        Examples
        --------
        >>> nn.ParameterDict({"scale": torch.ones(2)}).get("shift") is None
        True
        """
        return self[key] if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Removes and returns a value.

        Parameters
        ----------
        key : str
            The name.

        Returns
        -------
        Tensor
            The value.

        Raises
        ------
        KeyError
            For an unknown name.

        Examples
        --------
        >>> nn.ParameterDict({"scale": torch.ones(2)}).pop("scale").shape
        torch.Size([2])
        """
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Removes all values.

        Examples
        --------
        >>> weights = nn.ParameterDict({"scale": torch.ones(2)})
        >>> weights.clear()
        >>> len(weights)
        0
        """
        for key in list(self._keys):
            del self[key]

    def extra_repr(self) -> str:
        """Returns the type and size of each value.

        Returns
        -------
        str

        Examples
        --------
        >>> print(nn.ParameterDict({"scale": torch.ones(2)}).extra_repr())
          (scale): Parameter containing: [torch.float32 of size 2]
        """
        return "\n".join(f"  ({key}): {_shown(value)}" for key, value in self.items())


__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
