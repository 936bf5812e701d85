"""A module's state: parameters and persistent buffers by name."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd._hooks import RemovableHandle
from cuprous.torch.nn.parameter import Parameter


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """What was missing and what was not expected."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


#: The key under which what `get_extra_state` gives stands.
_EXTRA = "_extra_state"


class State:
    """The part of `Module` that writes and reads its state."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent: set[str]

    def get_extra_state(self) -> Any:
        """What else belongs to the state; a module that has some defines this and `set_extra_state`."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Takes what `get_extra_state` gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by name: the tensors themselves, detached."""
        if args:  # as old programs give them
            old = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars} | old)
        result: dict[str, Any] = OrderedDict() if destination is None else destination
        for table in (self._parameters, self._buffers):
            for name, value in table.items():
                if value is not None and name not in self._non_persistent:
                    result[prefix + name] = value if keep_vars else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=result, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        if type(self).get_extra_state is not State.get_extra_state:
            result[prefix + _EXTRA] = self.get_extra_state()
        for hook in self.__dict__.get("_state_dict_hooks", {}).values():
            changed = hook(self, result, prefix, {})
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies values by name into parameters and buffers; with `assign` the tensors themselves take their place.

        Raises:
            TypeError: if it is no mapping.
            RuntimeError: listing all names that are missing, unexpected (if strict) or of another shape.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state = OrderedDict(state_dict)
        for module, prefix in self._each_with_prefix():
            for hook in module.__dict__.get("_load_pre_hooks", {}).values():
                hook(module, state, prefix, {}, strict, [], [], [])
            module._before_load(state, prefix)
        own: dict[str, tuple[Any, str, Any]] = {}
        extra = {}
        for module, prefix in self._each_with_prefix():
            for table in (module._parameters, module._buffers):
                for name, value in table.items():
                    if value is not None and name not in module._non_persistent:
                        own[prefix + name] = (table, name, value)
            if type(module).set_extra_state is not State.set_extra_state:
                extra[prefix + _EXTRA] = module
        missing = [name for name in (*own, *extra) if name not in state]
        unexpected = [name for name in state if name not in own and name not in extra]
        problems = []
        if strict and missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing) + ". ")
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in unexpected) + ". ")
        for name, (_, _, target) in own.items():
            if name not in state:
                continue
            if not isinstance(state[name], Tensor):
                problems.append(
                    f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(state[name])}"
                )
            elif state[name].dims != target.dims:
                problems.append(
                    f"size mismatch for {name}: copying a param with shape {state[name].shape} from checkpoint, "
                    f"the shape in current model is {target.shape}."
                )
        if problems:
            text = "\n\t".join(problems)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        before = _core.set_grad_enabled(False)
        try:
            for name, (table, key, target) in own.items():
                if name not in state:
                    continue
                if assign:
                    table[key] = _standing_in(target, state[name])
                else:
                    target.copy_(state[name])
        finally:
            _core.set_grad_enabled(before)
        for name, module in extra.items():
            if name in state:
                module.set_extra_state(state[name])
        found = _IncompatibleKeys(missing, unexpected)
        for module, _ in self._each_with_prefix():
            for hook in module.__dict__.get("_load_post_hooks", {}).values():
                hook(module, found)
        return found

    def _before_load(self, state: Mapping[str, Any], prefix: str) -> None:
        """What a layer does before it is given values: lazy ones take their shapes."""

    def _each_with_prefix(self, prefix: str = "") -> list[tuple[Any, str]]:
        """This module and all within, with what their names begin with; a shared one under each of its names."""
        found: list[tuple[Any, str]] = [(self, prefix)]
        for name, module in self._modules.items():
            if module is not None:
                found += module._each_with_prefix(f"{prefix}{name}.")
        return found

    def _state_hook(self, table: str, hook: Any) -> RemovableHandle:
        hooks = self.__dict__.setdefault(table, {})
        number = max(hooks, default=0) + 1
        hooks[number] = hook
        return RemovableHandle(lambda: hooks.pop(number, None))

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, metadata)` when the state has been written."""
        return self._state_hook("_state_dict_hooks", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, …)` before a state is read; it may change the (copied) dict."""
        return self._state_hook("_load_pre_hooks", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` when a state has been read."""
        return self._state_hook("_load_post_hooks", hook)


def _standing_in(target: Tensor, value: Tensor) -> Tensor:
    """A tensor in the place of a parameter or buffer."""
    if isinstance(target, Parameter) and not isinstance(value, Parameter):
        return Parameter(value.detach(), requires_grad=target.requires_grad)
    return value
