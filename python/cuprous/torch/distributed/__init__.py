"""Several processes: `torch.distributed` for tensors on the CPU.

Start the ranks with `python -m cuprous.run --standalone --nproc-per-node=2 program.py`; `torchrun`, `srun` and `mpirun`
work too.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cuprous._core import DistBackendError, DistError, DistNetworkError, DistStoreError
from cuprous.torch import _placeholders
from cuprous.torch.distributed._available import (
    get_default_backend_for_device,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_ucc_available,
    is_xccl_available,
)
from cuprous.torch.distributed._collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from cuprous.torch.distributed._garbage import gc_every
from cuprous.torch.distributed._groups import (
    GroupMember,
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    is_torchelastic_launched,
    new_group,
)
from cuprous.torch.distributed._messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from cuprous.torch.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from cuprous.torch.distributed._options import DEFAULT_TIMEOUT, Backend, ReduceOp
from cuprous.torch.distributed._stores import FileStore, HashStore, PrefixStore, QueueEmptyError, Store, TCPStore
from cuprous.torch.distributed._subgroups import new_subgroups, new_subgroups_by_enumeration
from cuprous.torch.distributed._work import Work
from cuprous.torch.distributed.device_mesh import DeviceMesh, init_device_mesh

if TYPE_CHECKING:
    from cuprous.torch.distributed import algorithms as algorithms
    from cuprous.torch.distributed import checkpoint as checkpoint
    from cuprous.torch.distributed import constants as constants
    from cuprous.torch.distributed import distributed_c10d as distributed_c10d
    from cuprous.torch.distributed import fsdp as fsdp
    from cuprous.torch.distributed import nn as nn
    from cuprous.torch.distributed import tensor as tensor
    from cuprous.torch.distributed import utils as utils
else:

    def __getattr__(name: str) -> Any:
        """Imports modules on first use."""
        if name in ("fsdp", "nn", "tensor", "checkpoint", "algorithms", "distributed_c10d", "utils", "constants"):
            return importlib.import_module(f"{__name__}.{name}")
        return _placeholders.get("distributed", name)


default_pg_timeout = DEFAULT_TIMEOUT

__all__ = [
    "Backend", "DeviceMesh", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore",
    "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "QueueEmptyError", "ReduceOp", "Store",
    "TCPStore", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list", "default_pg_timeout",
    "destroy_process_group", "gather", "gather_object", "gc_every", "get_backend", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_device_mesh", "init_process_group", "irecv", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group",
    "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list",
]  # fmt: skip
