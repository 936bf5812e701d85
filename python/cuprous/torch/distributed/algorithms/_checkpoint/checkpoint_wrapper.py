"""Modules whose intermediate results are computed again in the backward pass."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from cuprous.torch.autograd._checkpoint import checkpoint
from cuprous.torch.nn import Module


class CheckpointImpl(enum.Enum):
    """PyTorch's implementations; both mean the same here."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class CheckpointWrapper(Module):
    """A module that is checkpointed. Its parameters keep their names."""

    def __init__(
        self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, **options: Any
    ) -> None:
        if options:
            raise NotImplementedError(f"[CheckpointWrapper] {', '.join(options)} is not supported")
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
        self.register_state_dict_post_hook(self._without_prefix)
        self.register_load_state_dict_pre_hook(self._with_prefix)

    _PREFIX = "_checkpoint_wrapped_module."

    @classmethod
    def _without_prefix(cls, module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
        for key in [key for key in state if key.startswith(prefix + cls._PREFIX)]:
            state[prefix + key[len(prefix) + len(cls._PREFIX) :]] = state.pop(key)

    @classmethod
    def _with_prefix(cls, module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
        for key in [key for key in state if key.startswith(prefix) and not key.startswith(prefix + cls._PREFIX)]:
            state[prefix + cls._PREFIX + key[len(prefix) :]] = state.pop(key)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module, and keeps only its inputs for the backward pass."""
        return checkpoint(self._checkpoint_wrapped_module, *args, use_reentrant=False, **kwargs)


def checkpoint_wrapper(module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                       checkpoint_fn: Any = None, **options: Any) -> CheckpointWrapper:  # fmt: skip
    """Returns a module that is checkpointed.

    Raises
    ------
    NotImplementedError
        For a checkpoint function of the program's own.
    """
    if checkpoint_fn is not None:
        raise NotImplementedError("[checkpoint_wrapper] checkpoint_fn is not supported")
    return CheckpointWrapper(module, checkpoint_impl, **options)


def apply_activation_checkpointing(model: Module, checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
                                   check_fn: Callable[[Module], bool] = lambda _: True,
                                   auto_wrap_policy: Any = None) -> None:  # fmt: skip
    """Replaces those submodules by checkpointed ones for which `check_fn` returns True.

    Raises
    ------
    NotImplementedError
        For a policy, which belongs to the first version of FSDP.
    """
    if auto_wrap_policy is not None:
        raise NotImplementedError("[apply_activation_checkpointing] auto_wrap_policy is not supported; use check_fn")
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))


__all__ = ["CheckpointImpl", "CheckpointWrapper", "apply_activation_checkpointing", "checkpoint_wrapper"]
