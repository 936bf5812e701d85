"""`torch.backends`: flags that programs set. Two of them have an effect: `cudnn.allow_tf32` applies to convolutions and
recurrent layers on GPUs with cuDNN, and without `cudnn.enabled` recurrent layers are computed step by step. The others
are only stored; float32 matrix products are always computed in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from cuprous import _core


class _Settings(ModuleType):
    """A set of flags, which can be imported as a module; other attributes cannot be set."""

    def __init__(self, name: str, **switches: Any) -> None:
        super().__init__(f"{__name__}.{name}", type(self).__doc__)
        self.__dict__.update(switches)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            flags = ", ".join(flag for flag in self.__dict__ if not flag.startswith("_"))
            raise AttributeError(f"no flag {name!r} is supported here; those that are: {flags}")
        self.__dict__[name] = value


class _Library(_Settings):
    """A library that is installed or not."""

    _there: bool

    def __init__(self, name: str, there: bool, **switches: Any) -> None:
        super().__init__(name, _there=there, **switches)

    def is_available(self) -> bool:
        """Returns True if the library is used."""
        return bool(self._there)

    is_built = is_available

    def version(self) -> int | None:
        """Returns the library's version, or None if it is not used."""
        return None


class _Flags:
    """Context manager that sets flags."""

    def __init__(self, switches: _Settings, values: dict[str, Any]) -> None:
        self._settings, self._values = switches, values

    def __enter__(self) -> None:
        self._previous = {name: getattr(self._settings, name) for name in self._values}
        for name, value in self._values.items():
            setattr(self._settings, name, value)

    def __exit__(self, *_: Any) -> None:
        for name, value in self._previous.items():
            setattr(self._settings, name, value)


class _Cudnn(_Library):
    enabled: bool

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "allow_tf32":
            _core.set_convolution_tf32(bool(value))

    def is_available(self) -> bool:
        """Returns True if a GPU and cuDNN are available; convolutions then use cuDNN."""
        return cuda.is_available() and _core.has_cudnn()

    def flags(self, enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10,
              deterministic: bool = False, allow_tf32: bool = True) -> _Flags:  # fmt: skip
        """Returns a context manager that sets the flags."""
        return _Flags(self, {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
                             "deterministic": deterministic, "allow_tf32": allow_tf32})  # fmt: skip


class _Cuda(_Settings):
    matmul: Any
    _sdp: dict[str, bool]

    def is_built(self) -> bool:
        """Returns True: GPU support is always built in, even on a machine without a GPU."""
        return True

    def is_available(self) -> bool:
        """Returns True if a GPU is available."""
        return _core.device_count() > 0 and _core.unusable_gpu_reason() is None

    def can_use_flash_attention(self, params: Any, debug: bool = False) -> bool:
        """Returns False: attention is cuDNN's or the formula here."""
        return False

    can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention

    def is_flash_attention_available(self) -> bool:
        """Returns False: attention is cuDNN's or the formula here."""
        return False

    class SDPAParams:
        """The arguments of an attention, which are asked about."""

        def __init__(self, *arguments: Any) -> None:
            self.arguments = arguments

    @contextmanager
    def sdp_kernel(self, enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
                   enable_cudnn: bool = True) -> Iterator[None]:  # fmt: skip
        """Context manager that allows or forbids implementations of attention."""
        before = dict(self._sdp)
        self._sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
        try:
            yield
        finally:
            self._sdp.update(before)

    def flash_sdp_enabled(self) -> bool:
        """Returns True if FlashAttention is allowed."""
        return bool(self._sdp["flash"])

    def cudnn_sdp_enabled(self) -> bool:
        """Returns True if cuDNN's attention is allowed."""
        return bool(self._sdp["cudnn"])

    def mem_efficient_sdp_enabled(self) -> bool:
        """Returns True if memory-efficient attention is allowed."""
        return bool(self._sdp["mem_efficient"])

    def math_sdp_enabled(self) -> bool:
        """Returns True if attention may be computed by its formula."""
        return bool(self._sdp["math"])

    def fused_sdp_enabled(self) -> bool:
        """Returns True if any fused implementation of attention is allowed."""
        return any(allowed for name, allowed in self._sdp.items() if name != "math")

    def enable_flash_sdp(self, enabled: bool) -> None:
        """Allows or forbids fused attention. All three fused backends stand for the same routine here."""
        self._sdp["flash"] = enabled

    def enable_cudnn_sdp(self, enabled: bool) -> None:
        """Same as `enable_flash_sdp`."""
        self._sdp["cudnn"] = enabled

    def enable_mem_efficient_sdp(self, enabled: bool) -> None:
        """Same as `enable_flash_sdp`."""
        self._sdp["mem_efficient"] = enabled

    def enable_math_sdp(self, enabled: bool) -> None:
        """Allows or forbids attention by its formula."""
        self._sdp["math"] = enabled


cudnn = _Cudnn("cudnn", False, enabled=True, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True)
cuda = _Cuda(
    "cuda",
    matmul=_Settings("cuda.matmul", allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                     allow_bf16_reduced_precision_reduction=True, allow_fp16_accumulation=False,
                     fp32_precision="none"),
    _sdp={"flash": True, "mem_efficient": True, "cudnn": True, "math": True},
)  # fmt: skip
mps, mkl, mkldnn, openmp, xnnpack, opt_einsum = (
    _Library(name, False) for name in ("mps", "mkl", "mkldnn", "openmp", "xnnpack", "opt_einsum")
)
opt_einsum.__dict__.update(enabled=False, strategy=None)
mkldnn.__dict__["enabled"] = False

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "xnnpack"]
