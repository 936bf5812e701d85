"""The module that contains `Optimizer` in PyTorch, with the names that optimizers of other libraries use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, Union

from cuprous._core import Tensor
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.optim._optimizer import Optimizer

ParamsT: TypeAlias = Union[Iterable[Tensor], Iterable[dict[str, Any]]]  # noqa: UP007
_params_t: TypeAlias = ParamsT


class _RequiredParameter:
    """The default of an option that must be given."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a step that runs without gradients."""

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        with no_grad():
            return func(*args, **kwargs)

    return step


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Returns (False, False): updates of single tensors are recorded and fused."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Returns an empty list: steps are recognized by themselves."""
    return []


def _get_value(x: Any) -> Any:
    """Returns the number of a tensor of one element."""
    return x.item() if isinstance(x, Tensor) else x


def _dispatch_sqrt(x: Any) -> Any:
    """Returns the square root of a number or a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _stack_if_compiling(x: Any) -> Any:
    """Returns its argument."""
    return x


__all__ = ["Optimizer", "ParamsT", "required"]
