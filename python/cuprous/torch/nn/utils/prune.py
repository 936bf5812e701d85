"""Pruning: masks that set parameters to zero before each forward pass."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch._creation import ones_like
from cuprous.torch._joining import cat
from cuprous.torch._ordering import topk
from cuprous.torch._random_numbers import rand_like, randperm
from cuprous.torch.linalg import norm


class BasePruningMethod(ABC):
    """A rule that computes a mask. `PRUNING_TYPE` says what it selects: "global", "unstructured" or "structured".

    See Also
    --------
    torch.nn.utils.prune.PruningContainer, torch.nn.utils.prune.CustomFromMask, torch.nn.utils.prune.is_pruned

    Examples
    --------
    >>> issubclass(nn.utils.prune.L1Unstructured, nn.utils.prune.BasePruningMethod)
    True
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        """Sets the pruned parameter, before a forward pass."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Returns a mask of what remains of a tensor, within a mask of what remained before.

        Parameters
        ----------
        t : Tensor
            The tensor.
        default_mask : Tensor
            The mask of what remained before.

        Returns
        -------
        Tensor
            A tensor of zeros and ones.

        Examples
        --------
        >>> nn.utils.prune.L1Unstructured(1).compute_mask(torch.tensor([1.0, -3.0]), torch.ones(2))
        tensor([0., 1.])
        """

    def apply_mask(self, module: Any) -> Any:
        """Returns the parameter times its mask.

        Parameters
        ----------
        module : Module
            The module.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(2, 1), "weight", amount=1)
        >>> rule = next(iter(layer._forward_pre_hooks.values()))
        >>> rule = rule[0] if isinstance(rule, tuple) else rule
        >>> rule.apply_mask(layer).shape
        torch.Size([1, 2])
        """
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a parameter of a module. A parameter that is pruned already is pruned further.

        Parameters
        ----------
        module : Module
            The module.
        name : str
            The name of the parameter.
        *args : any
            The arguments of the rule.
        importance_scores : Tensor, optional
            Scores in place of the parameter's values, of its shape.
        **kwargs : any
            Its keyword arguments.

        Returns
        -------
        BasePruningMethod
            The rule.

        Examples
        --------
        >>> layer = nn.Linear(2, 1)
        >>> _ = nn.utils.prune.L1Unstructured.apply(layer, "weight", 1)
        >>> int((layer.weight == 0).sum())
        1
        """
        earlier = _rules_of(module, name)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        parameter = getattr(module, name)
        if earlier:
            parameter = getattr(module, f"{name}_orig")
            default = getattr(module, f"{name}_mask").detach().clone()
            number, rule = earlier.popitem()
            del module._forward_pre_hooks[number]
            container = rule if isinstance(rule, PruningContainer) else PruningContainer(rule)
            container.add_pruning_method(method)
            method = container
        else:
            default = ones_like(parameter)
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", parameter)
        scores = parameter if importance_scores is None else importance_scores
        if scores.shape != parameter.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        mask = method.compute_mask(scores.detach(), default)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Returns a pruned tensor.

        Parameters
        ----------
        t : Tensor
            The tensor.
        default_mask : Tensor, optional
            The mask of what remained before.
        importance_scores : Tensor, optional
            Scores in place of the parameter's values, of its shape.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> nn.utils.prune.L1Unstructured(1).prune(torch.tensor([1.0, -3.0]))
        tensor([ 0., -3.])
        """
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Makes the pruning permanent.

        Parameters
        ----------
        module : Module
            The module.

        Examples
        --------
        >>> layer = nn.Linear(2, 1)
        >>> rule = nn.utils.prune.L1Unstructured.apply(layer, "weight", 1)
        >>> rule.remove(layer)
        >>> nn.utils.prune.is_pruned(layer)
        True
        """
        name = self._tensor_name
        weight = self.apply_mask(module).detach()
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight
        del module._buffers[f"{name}_mask"]
        module.__dict__.pop(name, None)
        setattr(module, name, original)


def _rules(module: Any) -> dict[int, Any]:
    """Returns the rules among a module's hooks, by the hooks' numbers."""
    found = {number: entry[0] for number, entry in module._forward_pre_hooks.items()}
    return {number: hook for number, hook in found.items() if isinstance(hook, BasePruningMethod)}


def _rules_of(module: Any, name: str) -> dict[int, Any]:
    return {number: rule for number, rule in _rules(module).items() if rule._tensor_name == name}


def _count(amount: Any, size: int) -> int:
    """Returns how many of `size` units an amount is: a number of them, or a fraction.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        For an amount out of range.
    """
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole, value = isinstance(amount, numbers.Integral), float(amount)
    if value < 0 or not (whole or value <= 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    if whole and value > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(value) if whole else round(value * size)


class PruningContainer(BasePruningMethod):
    """Several rules for one parameter, one after another.

    Parameters
    ----------
    *args : BasePruningMethod
        The rules.

    See Also
    --------
    torch.nn.utils.prune.BasePruningMethod, torch.nn.utils.prune.is_pruned

    Examples
    --------
    >>> len(nn.utils.prune.PruningContainer())
    0
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for method in methods:
            self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds a rule for the same parameter.

        Parameters
        ----------
        method : callable
            The rule.

        Raises
        ------
        TypeError
            For anything but a rule.
        ValueError
            For a rule of another parameter.

        Examples
        --------
        >>> container = nn.utils.prune.PruningContainer()
        >>> container._tensor_name = "weight"
        >>> rule = nn.utils.prune.L1Unstructured(1)
        >>> rule._tensor_name = "weight"
        >>> container.add_pruning_method(rule)
        >>> len(container)
        1
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._pruning_methods and method._tensor_name != self._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask)
        if method.PRUNING_TYPE == "unstructured":
            kept = (mask == 1).nonzero(as_tuple=True)
            partial = method.compute_mask(t[kept], default_mask[kept])
            result = mask.clone()
            result[kept] = partial.to(mask.dtype)
            return result
        dim = method.dim + t.ndim if method.dim < 0 else method.dim
        others = [d for d in range(t.ndim) if d != dim]
        rows = mask.sum(others).nonzero()[:, 0]
        result = mask.clone()
        index = [slice(None)] * t.ndim
        index[dim] = rows
        result[tuple(index)] = method.compute_mask(t[tuple(index)], mask[tuple(index)]).to(mask.dtype)
        return result


class Identity(BasePruningMethod):
    """A rule that prunes nothing, but gives the parameter a mask.

    See Also
    --------
    torch.nn.utils.prune.identity, torch.nn.utils.prune.BasePruningMethod

    Examples
    --------
    >>> nn.utils.prune.Identity().compute_mask(torch.ones(2), torch.ones(2))
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class _Unstructured(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _count(amount, 1 << 62) if isinstance(amount, numbers.Integral) else _count(amount, 1)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(self._keys(t).reshape(-1), count, largest=False)[1]] = 0
        return mask

    def _keys(self, t: Any) -> Any:
        raise NotImplementedError


class RandomUnstructured(_Unstructured):
    """A rule that prunes random elements.

    Parameters
    ----------
    amount : int or float
        The number of elements or channels, or the fraction of them.

    See Also
    --------
    torch.nn.utils.prune.random_unstructured, torch.nn.utils.prune.L1Unstructured, torch.nn.utils.prune.RandomStructured

    Examples
    --------
    >>> nn.utils.prune.RandomUnstructured(1).prune(torch.ones(3)).sum()
    tensor(2.)
    """

    def _keys(self, t: Any) -> Any:
        return rand_like(t.float())


class L1Unstructured(_Unstructured):
    """A rule that prunes the elements with the smallest absolute values.

    Parameters
    ----------
    amount : int or float
        The number of elements or channels, or the fraction of them.

    See Also
    --------
    torch.nn.utils.prune.l1_unstructured, torch.nn.utils.prune.RandomUnstructured, torch.nn.utils.prune.LnStructured

    Examples
    --------
    >>> nn.utils.prune.L1Unstructured(1).prune(torch.tensor([1.0, -3.0]))
    tensor([ 0., -3.])
    """

    def _keys(self, t: Any) -> Any:
        return t.abs()


class RandomStructured(BasePruningMethod):
    """A rule that prunes random channels along a dimension.

    Parameters
    ----------
    amount : int or float
        The number of elements or channels, or the fraction of them.
    dim : int, default -1
        The dimension of the channels.

    See Also
    --------
    torch.nn.utils.prune.random_structured, torch.nn.utils.prune.LnStructured, torch.nn.utils.prune.RandomUnstructured

    Examples
    --------
    >>> nn.utils.prune.RandomStructured(1, dim=0).prune(torch.ones(2, 2)).sum()
    tensor(2.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        mask = default_mask.clone()
        if count:
            index: list[Any] = [slice(None)] * t.ndim
            index[self.dim] = self._least(t, count)
            mask[tuple(index)] = 0
        return mask

    def _least(self, t: Any, count: int) -> Any:
        return randperm(t.shape[self.dim], device=t.device)[:count]


class LnStructured(RandomStructured):
    """A rule that prunes the channels along a dimension that have the smallest norms.

    Parameters
    ----------
    amount : int or float
        The number of elements or channels, or the fraction of them.
    n : int
        The order of the norm.
    dim : int, default -1
        The dimension of the channels.

    See Also
    --------
    torch.nn.utils.prune.ln_structured, torch.nn.utils.prune.RandomStructured, torch.nn.utils.prune.L1Unstructured

    Examples
    --------
    >>> nn.utils.prune.LnStructured(1, n=2, dim=0).prune(torch.tensor([[1.0, 0.0], [3.0, 4.0]]))
    tensor([[0., 0.],
            [3., 4.]])
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _least(self, t: Any, count: int) -> Any:
        dim = self.dim + t.ndim if self.dim < 0 else self.dim
        others = [d for d in range(t.ndim) if d != dim]
        rows = t.permute(dim, *others).reshape(t.shape[dim], -1)
        return topk(norm(rows, self.n, dim=1), count, largest=False)[1]


class CustomFromMask(BasePruningMethod):
    """A rule that prunes by a mask.

    Parameters
    ----------
    mask : Tensor
        The mask, of the parameter's shape.

    See Also
    --------
    torch.nn.utils.prune.custom_from_mask, torch.nn.utils.prune.BasePruningMethod

    Examples
    --------
    >>> nn.utils.prune.CustomFromMask(torch.tensor([1, 0])).prune(torch.tensor([5.0, 6.0]))
    tensor([5., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Gives a parameter a mask without pruning it.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The name of the parameter.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.prune.Identity, torch.nn.utils.prune.custom_from_mask, torch.nn.utils.prune.remove

    Examples
    --------
    >>> nn.utils.prune.identity(nn.Linear(2, 1), "weight").weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prunes random elements of a parameter.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The name of the parameter.
    amount : int or float
        The number of elements or channels, or the fraction of them.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.prune.l1_unstructured, torch.nn.utils.prune.random_structured,
    torch.nn.utils.prune.global_unstructured, torch.nn.utils.prune.remove

    Examples
    --------
    >>> nn.utils.prune.random_unstructured(nn.Linear(2, 1), "weight", amount=1).weight_mask.sum()
    tensor(1.)
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prunes the elements of a parameter with the smallest absolute values.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The name of the parameter.
    amount : int or float
        The number of elements or channels, or the fraction of them.
    importance_scores : Tensor, optional
        Scores in place of the parameter's values, of its shape.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.prune.random_unstructured, torch.nn.utils.prune.ln_structured,
    torch.nn.utils.prune.global_unstructured, torch.nn.utils.prune.remove

    Examples
    --------
    >>> nn.utils.prune.l1_unstructured(nn.Linear(2, 1), "weight", amount=0.5).weight_mask.sum()
    tensor(1.)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prunes random channels of a parameter.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The name of the parameter.
    amount : int or float
        The number of elements or channels, or the fraction of them.
    dim : int
        The dimension of the channels.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.prune.ln_structured, torch.nn.utils.prune.random_unstructured, torch.nn.utils.prune.remove

    Examples
    --------
    >>> nn.utils.prune.random_structured(nn.Linear(2, 2), "weight", amount=1, dim=0).weight_mask.sum()
    tensor(2.)
    """
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prunes the channels of a parameter with the smallest norms.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The name of the parameter.
    amount : int or float
        The number of elements or channels, or the fraction of them.
    n : int
        The order of the norm.
    dim : int
        The dimension of the channels.
    importance_scores : Tensor, optional
        Scores in place of the parameter's values, of its shape.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.prune.random_structured, torch.nn.utils.prune.l1_unstructured, torch.nn.utils.prune.remove

    Examples
    --------
    >>> nn.utils.prune.ln_structured(nn.Linear(2, 2), "weight", amount=1, n=2, dim=0).weight_mask.sum()
    tensor(2.)
    """
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prunes a parameter by a mask.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The name of the parameter.
    mask : Tensor
        The mask, of the parameter's shape.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.prune.CustomFromMask, torch.nn.utils.prune.identity, torch.nn.utils.prune.remove

    Examples
    --------
    >>> nn.utils.prune.custom_from_mask(nn.Linear(2, 1), "weight", torch.tensor([[1, 0]])).weight_mask
    tensor([[1., 0.]])
    """
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Any, str]], pruning_method: Any, importance_scores: Any = None,
                        **kwargs: Any) -> None:  # fmt: skip
    """Prunes several parameters together. The selected elements may lie in any of them.

    Parameters
    ----------
    parameters : iterable of tuples
        Pairs of a module and a parameter's name.
    pruning_method : type
        The class of an unstructured rule.
    importance_scores : mapping, optional
        Scores in place of the parameters' values, by pair.
    **kwargs : any
        The arguments of the rule.

    Raises
    ------
    TypeError
        For a structured rule.

    See Also
    --------
    torch.nn.utils.prune.l1_unstructured, torch.nn.utils.prune.random_unstructured, torch.nn.utils.prune.remove

    Examples
    --------
    >>> first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> nn.utils.prune.global_unstructured(
    ...     [(first, "weight"), (second, "weight")], nn.utils.prune.L1Unstructured, amount=2)
    >>> first.weight_mask.sum() + second.weight_mask.sum()
    tensor(6.)
    """
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"Only unstructured PRUNING_TYPE supported for the pruning_method {pruning_method}")
    pairs = list(parameters)
    given = importance_scores or {}
    values = [given.get((module, name), getattr(module, name)) for module, name in pairs]
    masks = [getattr(module, f"{name}_mask", ones_like(getattr(module, name))) for module, name in pairs]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container = PruningContainer(method)
    joined = container.compute_mask(cat([v.detach().reshape(-1) for v in values]), cat([m.reshape(-1) for m in masks]))
    start = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        custom_from_mask(module, name, joined[start : start + parameter.numel()].view(parameter.shape))
        start += parameter.numel()


def remove(module: Any, name: str) -> Any:
    """Makes the pruning of a parameter permanent.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The name of the parameter.

    Returns
    -------
    Module
        The module.

    Raises
    ------
    ValueError
        If the parameter is not pruned.

    See Also
    --------
    torch.nn.utils.prune.is_pruned, torch.nn.utils.prune.l1_unstructured, torch.nn.utils.prune.custom_from_mask

    Examples
    --------
    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(2, 1), "weight", amount=1)
    >>> nn.utils.prune.is_pruned(nn.utils.prune.remove(layer, "weight"))
    False
    """
    for number, rule in _rules_of(module, name).items():
        rule.remove(module)
        del module._forward_pre_hooks[number]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Returns True if a parameter of a module or a submodule is pruned.

    Parameters
    ----------
    module : Module
        The module.

    Returns
    -------
    bool

    See Also
    --------
    torch.nn.utils.prune.remove, torch.nn.utils.prune.BasePruningMethod

    Examples
    --------
    >>> nn.utils.prune.is_pruned(nn.Linear(2, 1))
    False
    """
    return any(_rules(part) for part in module.modules())


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip
