"""The few functions of PyTorch's native module that programs call. Everything else of it does not exist."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch._checks import get_default_device
from cuprous.torch._placeholders import unsupported_name
from cuprous.torch._random_numbers import Generator
from cuprous.torch._types import device, dtype
from cuprous.torch._utils import parse_to

TensorBase = Tensor
_TensorBase = Tensor
_TensorMeta = type(Tensor)


def _log_api_usage_once(event: str) -> None:
    """Has no effect: nothing is reported."""


def _get_tracing_state() -> None:
    """Returns None: nothing is traced."""


def _get_accelerator(check: Any = None) -> device:
    """Returns the accelerator's device: "cuda" where there is a GPU, otherwise the CPU."""
    from cuprous.torch import accelerator  # which imports modules that import this one

    found = accelerator.current_accelerator(check_available=True)
    return device("cpu") if found is None else found


def _get_default_device() -> str:
    """Returns the type of the device on which tensors are created: "cpu" or "cuda"."""
    return get_default_device().type


def _disabled_torch_function_impl(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Calls the function itself. As a class's `__torch_function__` it stands for not intercepting operations."""
    return func(*args, **(kwargs or {}))


def _ignored(*args: Any) -> bool:
    """Has no effect: it sets an option of PyTorch's compiler. Returns False, the option's value before."""
    return False


_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _ignored
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_set_nvfuser_enabled = _ignored
_jit_set_bailout_depth = _jit_set_nvfuser_guard_mode = _ignored
_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _are_functorch_transforms_active = _cuda_isInBadFork = _ignored


def _set_math_sdp_allow_fp16_bf16_reduction(flag: bool) -> None:
    """Has no effect: attention sums in float32."""


def _get_privateuse1_backend_name() -> str:
    """Returns PyTorch's name of a device of others, of which there is none."""
    return "privateuseone"


class _nn:
    """Functions of modules."""

    _parse_to = staticmethod(parse_to)


Value, Graph, Node, ScriptModule = (
    unsupported_name(f"_C.{name}", "tensors are not traced") for name in ("Value", "Graph", "Node", "ScriptModule")
)
DisableTorchFunctionSubclass = unsupported_name(
    "_C.DisableTorchFunctionSubclass", "operations on subclasses are not intercepted"
)

__all__ = ["Generator", "TensorBase", "device", "dtype"]
