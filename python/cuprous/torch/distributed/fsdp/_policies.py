"""Settings of `fully_shard`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes that a module computes and reduces in. Each rank's part of a parameter keeps its own dtype.

    Parameters
    ----------
    param_dtype : dtype, optional
        Of the whole parameters, and so of the computation; None keeps the dtype.
    reduce_dtype : dtype, optional
        Of the reduction of gradients; None means that of the gradients.
    output_dtype : dtype, optional
        To which floating-point results of `forward` are cast; None does not cast.
    cast_forward_inputs : bool, default True
        Casts floating-point inputs of `forward` to `param_dtype`.

    See Also
    --------
    torch.distributed.fsdp.CPUOffloadPolicy, torch.distributed.fsdp.OffloadPolicy, torch.distributed.fsdp.fully_shard,
    torch.distributed.fsdp.FSDPModule

    Examples
    --------
    >>> from cuprous.torch.distributed import fsdp
    >>> fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16).param_dtype
    torch.bfloat16
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Keeps the parts of the parameters on the device of the mesh.

    See Also
    --------
    torch.distributed.fsdp.fully_shard, torch.distributed.fsdp.FSDPModule,
    torch.distributed.fsdp.MixedPrecisionPolicy, torch.distributed.fsdp.CPUOffloadPolicy

    Examples
    --------
    >>> from cuprous.torch.distributed import fsdp
    >>> fsdp.OffloadPolicy()
    OffloadPolicy()
    """


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Keeps the parts of the parameters in host memory, where those of a mesh of CPUs are anyway.

    See Also
    --------
    torch.distributed.fsdp.OffloadPolicy, torch.distributed.fsdp.fully_shard, torch.distributed.fsdp.FSDPModule,
    torch.distributed.fsdp.MixedPrecisionPolicy

    Examples
    --------
    >>> from cuprous.torch.distributed import fsdp
    >>> fsdp.CPUOffloadPolicy().pin_memory
    True
    """

    pin_memory: bool = True


__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]
