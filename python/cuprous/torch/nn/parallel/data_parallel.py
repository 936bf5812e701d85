"""`DataParallel` on a single device."""

from __future__ import annotations

from typing import Any

from cuprous.torch import _types
from cuprous.torch.nn.modules.module import Module


def _one_device(function: str, device_ids: Any, output_device: Any) -> None:
    """Checks that at most one device is given; batches are not distributed yet."""
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError(f"[{function}] device_ids={list(device_ids)!r} is not supported: give one device")
    if output_device is not None and device_ids and _types.device(output_device) != _types.device(device_ids[0]):
        raise NotImplementedError(f"[{function}] output_device={output_device!r} is not supported")


class DataParallel(Module):
    """A wrapper of a module, which computes on the device of its parameters.

    Args:
        module: the module.
        device_ids: at most one GPU.
        output_device: for PyTorch's signature; at most that GPU.
        dim: for PyTorch's signature; it has no effect.

    Shapes:
        inputs: the arguments of the module.
        kwargs: its keyword arguments.
        result: that of the module.

    Raises:
        NotImplementedError: for more than one device.

    Examples:
        >>> nn.DataParallel(nn.Linear(3, 2))(torch.ones(4, 3)).shape
        torch.Size([4, 2])
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        _one_device("DataParallel", device_ids, output_device)
        self.module, self.dim = module, dim
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the module's result."""
        return self.module(*args, **kwargs)


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                  module_kwargs: Any = None) -> Any:  # fmt: skip
    """Returns the result of a module, on one device.

    Args:
        module: the module.
        inputs: its argument, or a tuple of arguments.
        device_ids: at most one GPU.
        output_device: for PyTorch's signature; at most that GPU.
        dim: for PyTorch's signature; it has no effect.
        module_kwargs: its keyword arguments.

    Returns:
        The result.

    Examples:
        >>> nn.parallel.data_parallel(nn.Linear(3, 2), torch.ones(4, 3)).shape
        torch.Size([4, 2])
    """
    _one_device("data_parallel", device_ids, output_device)
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
