"""Serializers of Cuprous arrays for `dask.distributed`.

The family "cuda", which transports for device memory use (UCX), gets memory of the GPU itself. The family "dask" gets
bytes of the host: without a copy for arrays on the CPU, with one for arrays on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import cuprous
from cuprous._common import dtypes


def _header(x: Any) -> dict[str, Any]:
    return {"dtype": x.dtype_name, "shape": list(x.shape), "on_gpu": x.device_name != "cpu"}


def to_device_frames(x: Any) -> tuple[dict[str, Any], list[Any]]:
    """Returns a header and the array's memory as flat bytes on the GPU. An array with gaps is copied there.

    Raises
    ------
    NotImplementedError
        For an array on the CPU, which another family serializes.
    """
    if x.device_name == "cpu":
        raise NotImplementedError("the array is on the CPU")
    return _header(x), [x.reshape(-1).view("uint8")]


def from_device_frames(header: dict[str, Any], frames: list[Any]) -> Any:
    """Returns the array whose memory arrived on the GPU."""
    if not frames:
        return cuprous.empty(header["shape"], header["dtype"])
    flat: Any = cuprous.asarray(frames[0])
    return flat.view(header["dtype"]).reshape(header["shape"])


def to_host_frames(x: Any) -> tuple[dict[str, Any], list[Any]]:
    """Returns a header and the array's elements as bytes of the host."""
    host: Any = np.ascontiguousarray(x.get() if x.device_name != "cpu" else x)
    return _header(x), [memoryview(host.reshape(-1).view(np.uint8))]


def from_host_frames(header: dict[str, Any], frames: list[Any]) -> Any:
    """Returns an array of the bytes: on the CPU if it was there, otherwise on this process's default device."""
    frame = np.frombuffer(frames[0], np.uint8) if frames else np.empty(0, np.uint8)
    host = frame.view(dtypes.numpy_dtype(header["dtype"])).reshape(header["shape"])
    return cuprous.asarray(host, device=None if header["on_gpu"] else "cpu")


def register(protocol: Any) -> None:
    """Fills the tables of `distributed.protocol`."""
    for table, function in (
        (protocol.cuda_serialize, to_device_frames),
        (protocol.cuda_deserialize, from_device_frames),
        (protocol.dask_serialize, to_host_frames),
        (protocol.dask_deserialize, from_host_frames),
    ):
        table.register(cuprous.ndarray, function)
