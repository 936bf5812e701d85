"""Parametrizations: parameters and buffers that are computed from others on each access."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.nn.modules.container import ModuleDict, ModuleList
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


class ParametrizationList(ModuleList):
    """The functions that compute one tensor, in order, and the parameters of the first: `original`, or `original0`,
    `original1` and so on.

    Parameters
    ----------
    modules : list of Modules
        The functions.
    original : Tensor
        The tensor.
    unsafe : bool, default False
        Whether to skip the check that the functions keep the tensor's shape and dtype.

    Raises
    ------
    ValueError
        If the functions change the shape or dtype.

    Shapes
    ------
    args
        Has no effect.
    kwargs
        Has no effect.
    result
        The tensor.

    See Also
    --------
    torch.nn.utils.parametrize.register_parametrization, torch.nn.utils.parametrize.is_parametrized

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> len(layer.parametrizations.weight)
    1
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        with no_grad():
            new: Any = original
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    new = module.right_inverse(new)
        self.count = 0 if isinstance(new, Tensor) else len(new)
        for name, part in zip(self._names(), new if self.count else [new], strict=True):
            if isinstance(original, Parameter):
                part = part.detach()
                copy = part if part is new and not self.count else part.clone()
                self.register_parameter(name, Parameter(copy, requires_grad=original.requires_grad))
            else:
                self.register_buffer(name, part)
        if not unsafe:
            made = self()
            if not isinstance(made, Tensor) or made.dims != original.dims or made.dtype_name != original.dtype_name:
                raise ValueError(
                    "Registering a parametrization may not change the shape or dtype of the tensor, which has shape "
                    f"{list(original.dims)} and dtype {original.dtype}"
                )

    def _names(self) -> list[str]:
        return [f"original{k}" for k in range(self.count)] or ["original"]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the tensor."""
        first, *rest = self
        x = first(*(getattr(self, name) for name in self._names()))
        for module in rest:
            x = module(x)
        return x

    def right_inverse(self, value: Tensor) -> None:
        """Sets the original parameters so that the tensor equals a value.

        Parameters
        ----------
        value : Tensor
            The value.

        Examples
        --------
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 1))
        >>> layer.parametrizations.weight.right_inverse(torch.tensor([[3.0, 0.0, 4.0]]))
        >>> layer.parametrizations.weight.original0.detach()
        tensor([[5.]])
        """
        with no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            for name, part in zip(self._names(), new if self.count else [new], strict=True):
                getattr(self, name).copy_(part)


class cached:
    """A context manager within which each parametrized tensor is computed once. An assignment to a tensor computes it
    anew.

    See Also
    --------
    torch.nn.utils.parametrize.register_parametrization

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> with nn.utils.parametrize.cached():
    ...     print(layer.weight is layer.weight)
    True
    """

    def __enter__(self) -> None:
        _cache.depth += 1

    def __exit__(self, *_: object) -> None:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.found.clear()


class _Cache:
    """Values of parametrized tensors within `cached`, by module and name."""

    def __init__(self) -> None:
        self.depth = 0
        self.found: dict[tuple[int, str], Any] = {}


_cache = _Cache()


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Returns true if a module, or one of its tensors, is parametrized.

    Parameters
    ----------
    module : Module
        The module.
    tensor_name : str, optional
        The tensor; None for any.

    Returns
    -------
    bool

    See Also
    --------
    torch.nn.utils.parametrize.register_parametrization, torch.nn.utils.parametrize.remove_parametrizations,
    torch.nn.utils.parametrize.type_before_parametrizations

    Examples
    --------
    >>> nn.utils.parametrize.is_parametrized(nn.Linear(3, 2))
    False
    """
    found = module._modules.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def _computed(name: str) -> property:
    def get(self: Any) -> Any:
        make = self._modules["parametrizations"][name]
        if not _cache.depth:
            return make()
        key = id(self), name
        if key not in _cache.found:
            _cache.found[key] = make()
        return _cache.found[key]

    def put(self: Any, value: Tensor) -> None:
        self._modules["parametrizations"][name].right_inverse(value)
        _cache.found.pop((id(self), name), None)

    return property(get, put)


def type_before_parametrizations(module: Module) -> type:
    """Returns the class that the module had.

    Parameters
    ----------
    module : Module
        The module.

    Returns
    -------
    type
        A class.

    See Also
    --------
    torch.nn.utils.parametrize.is_parametrized, torch.nn.utils.parametrize.register_parametrization

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Registers a module that computes a parameter or buffer. Several are applied one after another.

    The `right_inverse` of the parametrization computes the original parameters from the present value.

    Parameters
    ----------
    module : Module
        The module.
    tensor_name : str
        The name of the parameter or buffer.
    parametrization : Module
        The module.
    unsafe : bool, default False
        Whether to skip the checks that shape and dtype stay the same.

    Returns
    -------
    Module
        The module.

    Raises
    ------
    ValueError
        If the tensor does not exist, or the parametrization changes its shape or dtype.

    See Also
    --------
    torch.nn.utils.parametrize.remove_parametrizations, torch.nn.utils.parametrize.is_parametrized,
    torch.nn.utils.parametrize.cached

    Examples
    --------
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    if is_parametrized(module, tensor_name):
        functions = module.parametrizations[tensor_name]
        before = getattr(module, tensor_name)
        if hasattr(parametrization, "right_inverse") or not unsafe:
            _check(parametrization, before, unsafe)
        functions.append(parametrization)
        if hasattr(parametrization, "right_inverse"):
            functions.right_inverse(before.detach().clone())
        return module
    original = module._parameters.get(tensor_name)
    original = module._buffers.get(tensor_name) if original is None else original
    if original is None:
        raise ValueError(f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized "
                         f"element with name '{tensor_name}'")  # fmt: skip
    functions = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        kind = type(module)
        changed = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
        object.__setattr__(module, "__class__", changed)
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = functions
    setattr(type(module), tensor_name, _computed(tensor_name))
    return module


def _check(parametrization: Module, value: Tensor, unsafe: bool) -> None:
    if not unsafe and parametrization(value).dims != value.dims:
        raise ValueError("Registering a parametrization may not change the shape of the tensor")


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor an ordinary one again.

    Parameters
    ----------
    module : Module
        The module.
    tensor_name : str
        The name of the parameter or buffer.
    leave_parametrized : bool, default True
        Whether it keeps its last value; it gets that of the original otherwise.

    Returns
    -------
    Module
        The module.

    Raises
    ------
    ValueError
        If the tensor is not parametrized, or if there are several originals to choose from.

    See Also
    --------
    torch.nn.utils.parametrize.register_parametrization, torch.nn.utils.parametrize.is_parametrized

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> layer = nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> nn.utils.parametrize.is_parametrized(layer)
    False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    functions = module.parametrizations[tensor_name]
    if not leave_parametrized and functions.count:
        raise ValueError("leave_parametrized=False is only allowed when there is one original")
    value = (functions() if leave_parametrized else functions.original).detach().clone()
    some = [p for p in functions._parameters.values() if p is not None]
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if some:
        module.register_parameter(tensor_name, Parameter(value, requires_grad=some[0].requires_grad))
    else:
        module.register_buffer(tensor_name, value)
    if not len(module.parametrizations):
        object.__setattr__(module, "__class__", type(module).__bases__[0])
        delattr(module, "parametrizations")
    return module


__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "type_before_parametrizations",
]  # fmt: skip
