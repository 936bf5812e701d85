"""Training on Ray: the configuration that `ray.train`'s trainers take to join their workers by Cuprous.

Collectives among actors need nothing of this module: `ray.util.collective` knows the backend "cuprous" wherever this
package is imported.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import ray
import ray.train
from ray.train.backend import Backend, BackendConfig

from cuprous._clients import for_ray
from cuprous.torch import distributed as dist


@dataclass
class CuprousConfig(BackendConfig):
    """Makes the workers of a trainer the ranks of `cuprous.torch.distributed`, before the training function begins.

    Each worker sees the GPUs that Ray gives it. The variables of launchers, such as RANK, are set too.

    Parameters
    ----------
    timeout_s : float, default 1800
        How long an operation takes at most, in seconds.

    Examples
    --------
    >>> from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer  # doctest: +SKIP
    >>> scaling = ray.train.ScalingConfig(num_workers=2)  # doctest: +SKIP
    >>> DataParallelTrainer(train, backend_config=CuprousConfig(), scaling_config=scaling).fit()  # doctest: +SKIP
    """

    timeout_s: float = 1800

    @property
    def backend_cls(self) -> type[Backend]:
        """The class that starts and ends the group."""
        return _CuprousBackend

    def to_dict(self) -> dict[str, Any]:
        """Returns the options."""
        return {"timeout_s": self.timeout_s}


def _join(key: str, rank: int, size: int, timeout: float) -> None:
    meeting = for_ray.meet(key, rank, size)
    os.environ["CUPROUS_JOB_TOKEN"] = meeting.token or ""
    dist.init_process_group(
        store=meeting.store, rank=rank, world_size=size, timeout=timedelta(seconds=timeout), group_name="ray"
    )


#: Variables of launchers, and what they are in Ray's context.
_VARIABLES = {
    "RANK": "world_rank", "WORLD_SIZE": "world_size", "LOCAL_RANK": "local_rank",
    "LOCAL_WORLD_SIZE": "local_world_size", "GROUP_RANK": "node_rank",
}  # fmt: skip


def _name_rank() -> None:
    context = ray.train.get_context()
    os.environ.update({name: str(getattr(context, f"get_{of}")()) for name, of in _VARIABLES.items()})


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


class _CuprousBackend(Backend):
    def on_start(self, worker_group: Any, backend_config: CuprousConfig) -> None:
        key, size = f"cuprous_train/{uuid.uuid4().hex}", len(worker_group)
        ray.get([
            worker_group.execute_single_async(rank, _join, key, rank, size, backend_config.timeout_s)
            for rank in range(size)
        ])  # fmt: skip

    def on_training_start(self, worker_group: Any, backend_config: CuprousConfig) -> None:
        worker_group.execute(_name_rank)

    def on_shutdown(self, worker_group: Any, backend_config: CuprousConfig) -> None:
        worker_group.execute(_leave)


__all__ = ["CuprousConfig"]
