"""Dask clusters on one machine, each of whose workers has a GPU of its own.

`dask.array` takes Cuprous arrays as chunks wherever its workers run; this module only starts workers. It needs
`dask[distributed]`. With dask-cuda installed, its `LocalCUDACluster` does the same and more (UCX, spilling).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

import distributed

from cuprous import _core


def visible_gpus() -> list[str]:
    """Returns the GPUs of this process as `CUDA_VISIBLE_DEVICES` names them.

    See Also
    --------
    dask.LocalCluster
    """
    named = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    count = _core.device_count()
    return named[:count] if len(named) >= count else [str(k) for k in range(count)]


class LocalCluster(distributed.LocalCluster):
    """A cluster of processes on this machine: one worker for each GPU, which sees no other; without GPUs, workers that
    share the CPU's cores.

    Parameters
    ----------
    n_workers : int, optional
        The number of workers; that of the GPUs, without GPUs that of the cores.
    gpus : sequence of str or ints, optional
        The GPUs to use, as `CUDA_VISIBLE_DEVICES` names them; by default all that this process sees. More workers than
        GPUs share them in turn.
    threads_per_worker : int, default 1
        Threads of a worker; 1, because an array operation already uses the whole GPU.
    **options : any
        Those of `distributed.LocalCluster`, such as `memory_limit`, which is for the host's memory.

    Raises
    ------
    ValueError
        If `n_workers` is not positive.

    See Also
    --------
    dask.visible_gpus

    Examples
    --------
    >>> with LocalCluster() as cluster, distributed.Client(cluster):  # doctest: +SKIP
    ...     dask.array.ones((100_000, 100_000), meta=cuprous.empty(())).sum().compute()
    """

    def __init__(self, n_workers: int | None = None, gpus: Sequence[str | int] | None = None,
                 threads_per_worker: int = 1, **options: Any) -> None:  # fmt: skip
        self._gpus = visible_gpus() if gpus is None else [str(gpu) for gpu in gpus]
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = n_workers if n_workers is not None else len(self._gpus) or cores
        if count < 1:
            raise ValueError(f"[LocalCluster] n_workers must be 1 or more, got {count}")
        self._environments = [
            {"CUDA_VISIBLE_DEVICES": self._gpus[k % len(self._gpus)]} if self._gpus else {} for k in range(count)
        ]
        # Without a limit each worker would compute with all cores.
        self._threads = {"RAYON_NUM_THREADS": os.environ.get("RAYON_NUM_THREADS", str(max(1, cores // count)))}
        options = {"dashboard_address": ":0", "memory_limit": 1 / count} | options
        super().__init__(n_workers=0, threads_per_worker=threads_per_worker, processes=True, **options)
        self.scale(count)
        if not self.asynchronous:
            self.sync(self._correct_state)

    def new_worker_spec(self) -> dict[Any, Any]:
        """Returns the name and the options of the next worker."""
        ((name, spec),) = super().new_worker_spec().items()
        spec = copy.deepcopy(spec)
        pinned = self._environments[len(self.worker_spec) % len(self._environments)]
        spec["options"]["env"] = self._threads | pinned | spec["options"].get("env", {})
        return {name: spec}


__all__ = ["LocalCluster", "visible_gpus"]
