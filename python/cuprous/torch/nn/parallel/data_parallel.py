"""`DataParallel`: a module on several GPUs of one process."""

from __future__ import annotations

from itertools import chain
from typing import Any

from cuprous.torch import _types, cuda
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parallel import _devices


def _names(device_ids: Any) -> list[str]:
    """Returns the names of GPUs; by default, of all. There is none on a machine without GPUs, as in PyTorch."""
    if not cuda.is_available():
        return []
    if device_ids is None:
        device_ids = range(cuda.device_count())
    return [_types.device(f"cuda:{k}" if isinstance(k, int) else k).device_name for k in device_ids]


class DataParallel(Module):
    """A wrapper of a module, which splits its inputs among several GPUs of this process, computes with a copy of the
    module on each, and concatenates the results on one. Gradients are added to those of the module.

    `DistributedDataParallel`, with a process for each GPU, copies no parameters and is faster. Attributes that
    `forward` sets on the module are lost. Buffers that it writes in place, such as those of `BatchNorm2d`, are written
    by the copy on the first GPU. Without a GPU the module is called as it is.

    Parameters
    ----------
    module : Module
        The module, on the first of the GPUs.
    device_ids : sequence of ints, optional
        The GPUs, by default all.
    output_device : int or device, optional
        The GPU of the result, by default the first.
    dim : int, default 0
        The dimension along which tensors are split and concatenated.

    Shapes
    ------
    inputs
        The arguments of the module. Tensors, also those in tuples, lists and dicts, are split.
    kwargs
        Its keyword arguments.
    result
        That of the module.

    Raises
    ------
    RuntimeError
        In a call, if parameters or buffers are not on the first GPU.

    See Also
    --------
    torch.nn.parallel.DistributedDataParallel

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     model = nn.DataParallel(nn.Linear(3, 2).cuda(0), device_ids=[0])
    ...     out = model(torch.ones(4, 3))
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self._devices = _names(device_ids)
        self.module, self.dim = module, dim
        self.device_ids = [_types.device(name).index for name in self._devices]
        self._output = _names([output_device])[0] if output_device is not None and self._devices else None
        if self._output is None and self._devices:
            self._output = self._devices[0]
        self.output_device = None if self._output is None else _types.device(self._output).index

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Returns the module's result, on the output device."""
        if not self._devices or self._output is None:
            return self.module(*inputs, **kwargs)
        first = self._devices[0]
        for tensor in chain(self.module.parameters(), self.module.buffers()):
            if tensor.device_name != first:
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {first} (device_ids[0]) but found one of "
                    f"them on device: {tensor.device_name}"
                )
        arguments = _devices.scatter_arguments(inputs, kwargs, self._devices, self.dim)
        if len(self._devices) == 1:
            args, named = arguments[0]
            return self.module(*args, **named)
        used = self._devices[: len(arguments)]
        results = _devices.call(_devices.replicate(self.module, used), arguments, used)
        return _devices.gather(results, self._output, self.dim)


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                  module_kwargs: Any = None) -> Any:  # fmt: skip
    """Returns the result of a module, computed on several GPUs as `DataParallel` does.

    Parameters
    ----------
    module : Module
        The module, on the first of the GPUs.
    inputs : Tensor or sequence of Tensors
        Its argument, or a tuple of arguments.
    device_ids : sequence of ints, optional
        The GPUs, by default all.
    output_device : int or device, optional
        The GPU of the result, by default the first.
    dim : int, default 0
        The dimension along which tensors are split and concatenated.
    module_kwargs : dict, optional
        Its keyword arguments.

    Returns
    -------
    Tensor
        The result.

    Raises
    ------
    RuntimeError
        If parameters or buffers are not on the first GPU.

    See Also
    --------
    torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     out = nn.parallel.data_parallel(nn.Linear(3, 2).cuda(0), torch.ones(4, 3), device_ids=[0])
    """
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
