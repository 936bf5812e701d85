"""Which backends can be used here."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import DistBackendError
from cuprous.torch import _types
from cuprous.torch.distributed import _mpi
from cuprous.torch.distributed._options import backends_by_device


def is_available() -> bool:
    """Returns True: groups of CPU tensors work on this system.

    See Also
    --------
    torch.distributed.new_group, torch.distributed.init_process_group, torch.distributed.destroy_process_group,
    torch.distributed.is_initialized

    Examples
    --------
    >>> dist.is_available()
    True
    """
    return True


def is_backend_available(backend: str) -> bool:
    """Returns True for the names of backends that can be used here.

    See Also
    --------
    torch.distributed.is_gloo_available, torch.distributed.is_mpi_available, torch.distributed.is_nccl_available,
    torch.distributed.is_ucc_available, torch.distributed.is_xccl_available

    Examples
    --------
    >>> dist.is_backend_available("gloo")
    True
    """
    try:
        names = backends_by_device("is_backend_available", backend).values()
    except (NotImplementedError, ValueError):
        return False
    return ("mpi" not in names or is_mpi_available()) and ("nccl" not in names or is_nccl_available())


def is_gloo_available() -> bool:
    """Returns True: "gloo" is accepted as a name of the CPU backend.

    See Also
    --------
    torch.distributed.is_mpi_available, torch.distributed.is_nccl_available, torch.distributed.is_ucc_available,
    torch.distributed.is_xccl_available, torch.distributed.is_backend_available

    Examples
    --------
    >>> dist.is_gloo_available()
    True
    """
    return True


def is_nccl_available() -> bool:
    """Returns True if NCCL, which moves tensors of GPUs, is installed.

    See Also
    --------
    torch.distributed.is_ucc_available, torch.distributed.is_xccl_available, torch.distributed.is_backend_available,
    torch.distributed.is_gloo_available, torch.distributed.is_mpi_available

    Examples
    --------
    >>> isinstance(dist.is_nccl_available(), bool)
    True
    """
    try:
        return bool(_core.dist_nccl_version())
    except DistBackendError:
        return False


def is_mpi_available() -> bool:
    """Returns True if mpi4py is installed and finds an MPI library.

    See Also
    --------
    torch.distributed.is_nccl_available, torch.distributed.is_ucc_available, torch.distributed.is_xccl_available,
    torch.distributed.is_backend_available, torch.distributed.is_gloo_available

    Examples
    --------
    >>> isinstance(dist.is_mpi_available(), bool)
    True
    """
    return _mpi.is_available()


def is_ucc_available() -> bool:
    """Returns False: "ucc" does not exist here.

    See Also
    --------
    torch.distributed.is_xccl_available, torch.distributed.is_backend_available, torch.distributed.is_gloo_available,
    torch.distributed.is_mpi_available, torch.distributed.is_nccl_available

    Examples
    --------
    >>> dist.is_ucc_available()
    False
    """
    return False


def is_xccl_available() -> bool:
    """Returns False: "xccl" does not exist here.

    See Also
    --------
    torch.distributed.is_backend_available, torch.distributed.is_gloo_available, torch.distributed.is_mpi_available,
    torch.distributed.is_nccl_available, torch.distributed.is_ucc_available

    Examples
    --------
    >>> dist.is_xccl_available()
    False
    """
    return False


def get_default_backend_for_device(device: Any) -> str:
    """Returns the backend that moves tensors of a device.

    Raises
    ------
    ValueError
        For a device that has none.

    See Also
    --------
    torch.distributed.get_process_group_ranks, torch.distributed.get_backend

    Examples
    --------
    >>> dist.get_default_backend_for_device("cpu")
    'ring'
    """
    kind, backends = _types.device(device).type, backends_by_device("get_default_backend_for_device", None)
    if kind not in backends:
        raise ValueError(f"Default backend not registered for device : {kind}")
    return backends[kind]
