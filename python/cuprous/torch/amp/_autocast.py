"""`autocast`: matrix products in half precision, functions that need the range of float32 in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _types

_DEFAULT = {"cuda": "float16", "cpu": "bfloat16"}


def is_autocast_available(device_type: str) -> bool:
    """Returns True if `autocast` supports a device type.

    Parameters
    ----------
    device_type : {"cpu", "cuda"}
        "cpu" or "cuda".

    Returns
    -------
    bool

    See Also
    --------
    torch.amp.autocast

    Examples
    --------
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return device_type in _DEFAULT


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Returns True if `autocast` is enabled for a device type in this thread.

    Parameters
    ----------
    device_type : {"cpu", "cuda"}, default "cuda"
        "cpu" or "cuda".

    Returns
    -------
    bool

    See Also
    --------
    torch.autocast, torch.get_autocast_dtype

    Examples
    --------
    >>> torch.is_autocast_enabled("cpu")
    False
    """
    return _core.autocast_dtype(device_type) is not None


def get_autocast_dtype(device_type: str) -> _types.dtype:
    """Returns the dtype that `autocast` uses on a device type.

    Parameters
    ----------
    device_type : {"cpu", "cuda"}
        "cpu" or "cuda".

    Returns
    -------
    dtype

    See Also
    --------
    torch.is_autocast_enabled, torch.autocast

    Examples
    --------
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _types.DTYPES[_core.autocast_dtype(device_type) or _DEFAULT[device_type]]


def get_autocast_cpu_dtype() -> _types.dtype:
    """Returns the dtype that `autocast` uses on the CPU.

    Returns
    -------
    dtype

    See Also
    --------
    torch.get_autocast_gpu_dtype, torch.get_autocast_dtype, torch.autocast

    Examples
    --------
    >>> torch.get_autocast_cpu_dtype()
    torch.bfloat16
    """
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> _types.dtype:
    """Returns the dtype that `autocast` uses on GPUs.

    Returns
    -------
    dtype

    See Also
    --------
    torch.get_autocast_cpu_dtype, torch.get_autocast_dtype, torch.autocast

    Examples
    --------
    >>> torch.get_autocast_gpu_dtype()
    torch.float16
    """
    return get_autocast_dtype("cuda")


def is_autocast_cpu_enabled() -> bool:
    """Returns true within `autocast("cpu")`.

    Returns
    -------
    bool

    See Also
    --------
    torch.is_autocast_enabled, torch.autocast, torch.get_autocast_cpu_dtype

    Examples
    --------
    >>> torch.is_autocast_cpu_enabled()
    False
    """
    return is_autocast_enabled("cpu")


class autocast:
    """A context manager and decorator within which products are computed in half precision, and functions that need the
    range of float32, such as losses and norms, in float32.

    Weights are cast where they are used. The casts are part of the recorded program, so `cache_enabled` has no
    effect.

    Parameters
    ----------
    device_type : {"cpu", "cuda"}
        "cpu" or "cuda".
    dtype : dtype, optional
        float16 or bfloat16, by default that of `get_autocast_dtype`.
    enabled : bool, default True
        Whether it has an effect.
    cache_enabled : bool, optional
        Has no effect.

    Raises
    ------
    RuntimeError
        For an unsupported device type, or a dtype other than float16 and bfloat16.

    See Also
    --------
    torch.get_autocast_dtype, torch.is_autocast_enabled

    Examples
    --------
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     result = torch.ones(2, 3) @ torch.ones(3, 2)
    >>> result.dtype
    torch.bfloat16
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:  # fmt: skip
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in _DEFAULT:
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        name = get_autocast_dtype(device_type).name if dtype is None else _types.dtype_name(dtype)
        if enabled and name not in ("float16", "bfloat16"):
            raise RuntimeError(f"[autocast] dtype={dtype} is not supported; use torch.float16 or torch.bfloat16")
        self.device, self.fast_dtype, self._enabled = device_type, _types.DTYPES[name], enabled
        self._previous: list[str | None] = []

    def __enter__(self) -> autocast:
        dtype = self.fast_dtype.name if self._enabled else None
        self._previous.append(_core.set_autocast_dtype(self.device, dtype))
        return self

    def __exit__(self, *_: Any) -> None:
        _core.set_autocast_dtype(self.device, self._previous.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


def _cast_all(x: Any, device: str, name: str) -> Any:
    if isinstance(x, Tensor):
        fits = x.is_floating_point() and x.device_name.startswith(device) and x.dtype_name != "float64"
        return x.to(_types.DTYPES[name]) if fits else x
    if isinstance(x, dict):
        return {key: _cast_all(value, device, name) for key, value in x.items()}
    return type(x)(_cast_all(item, device, name) for item in x) if type(x) in (tuple, list) else x


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Returns `forward` of a `Function` for use under `autocast`. It is a decorator.

    Parameters
    ----------
    fwd : callable, optional
        The method; None for a decorator.
    device_type : {"cpu", "cuda"}
        "cpu" or "cuda".
    cast_inputs : dtype, optional
        A dtype to which the arguments are cast, with `autocast` disabled within the method.

    Returns
    -------
    callable
        The method, or a decorator.

    See Also
    --------
    torch.amp.custom_bwd, torch.amp.autocast, torch.autograd.Function

    Examples
    --------
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         return 2 * x
    >>> Double.apply(torch.ones(2))
    tensor([2., 2.])
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        on = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(ctx, *args, **kwargs)
        name = _types.dtype_name(cast_inputs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast_all(args, device_type, name), **_cast_all(kwargs, device_type, name))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Returns `backward` of a `Function`, which runs with the `autocast` state of `forward`. It is a decorator.

    Parameters
    ----------
    bwd : callable, optional
        The method; None for a decorator.
    device_type : {"cpu", "cuda"}
        "cpu" or "cuda".

    Returns
    -------
    callable
        The method, or a decorator.

    See Also
    --------
    torch.amp.custom_fwd, torch.amp.autocast, torch.autograd.Function

    Examples
    --------
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args)

    return backward
