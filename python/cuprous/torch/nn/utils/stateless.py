"""Calls of modules with other tensors in place of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn.modules.module import Module


def functional_call(module: Module, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:  # fmt: skip
    """Calls a module with other tensors, by dotted names, in place of its own.

    Parameters
    ----------
    module : Module
        The module.
    parameters_and_buffers : dict of str to Tensor
        The tensors by name, a dict or several.
    args : object, optional
        The argument, or a tuple of arguments.
    kwargs : dict, optional
        The keyword arguments.
    tie_weights : bool, default True
        Whether a tensor that a module has under several names is replaced under all of them.
    strict : bool, default False
        Whether exactly the names of the module's tensors have to be given.

    Returns
    -------
    Tensor
        The result of the module.

    Raises
    ------
    KeyError
        For unknown names.
    RuntimeError
        If `strict` is not satisfied.

    See Also
    --------
    torch.func.functional_call, torch.func.stack_module_state

    Examples
    --------
    >>> layer = nn.Linear(2, 1)
    >>> weights = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, weights, torch.tensor([3.0, 4.0]))
    tensor([7.])
    """
    given: dict[str, Tensor] = {}
    dicts = parameters_and_buffers
    for part in (dicts,) if isinstance(dicts, Mapping) else dicts:
        given.update(part)
    own: dict[str, tuple[dict[str, Any], str]] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        for table in (part._parameters, part._buffers):
            for name, value in table.items():
                if value is not None:
                    own[f"{path}.{name}" if path else name] = (table, name)
    unknown, missing = [n for n in given if n not in own], [n for n in own if n not in given]
    if strict and (unknown or missing):
        raise RuntimeError(f"Error(s) in replacing tensors: unexpected {unknown}, missing {missing}")
    if unknown:
        raise KeyError(f"{unknown[0]!r} is not a parameter or buffer of {type(module).__name__}")
    replaced: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, tensor in given.items():
            table, key = own[name]
            old = table[key]
            positions = [p for p in own.values() if p[0][p[1]] is old] if tie_weights else [(table, key)]
            for where, at in positions:
                replaced.append((where, at, where[at]))
                where[at] = tensor
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for table, key, old in reversed(replaced):
            table[key] = old


__all__ = ["functional_call"]
