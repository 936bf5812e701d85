"""Cuprous arrays in `dask.distributed`: serializers, clusters, workers with a GPU each, and the entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous._clients import for_dask_cuda
from tests import simulated
from tests.robust.helpers import output
from tests.support import assert_same

da = pytest.importorskip("dask.array", reason="dask[array] is not installed (requirements-clients.txt)")
distributed = pytest.importorskip("distributed", reason="distributed is not installed (requirements-clients.txt)")
import dask  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
X = np.random.default_rng(0).standard_normal((40, 30))


def _round_trip(x: Any) -> tuple[dict[str, Any], list[memoryview], Any]:
    header, frames = distributed.protocol.serialize(x, serializers=["cuda", "dask"])
    sent = [bytes(frame) for frame in frames]  # as the network has them
    return header, frames, distributed.protocol.deserialize(header, sent)


@pytest.mark.parametrize("dtype", ["float64", "bool", "complex64", "float16", "bfloat16", "int8"])
def test_arrays_on_the_cpu_are_sent_without_a_copy(dtype: str) -> None:
    x = cp.asarray(X, device="cpu").astype(dtype)
    header, frames, again = _round_trip(x)
    assert header["serializer"] == "dask" and len(frames) == 1 and frames[0].nbytes == x.nbytes
    assert np.shares_memory(np.asarray(frames[0]), np.asarray(x.reshape(-1).view("uint8")))
    assert again.dtype == x.dtype and again.device == x.device
    assert_same(again.astype("complex128"), x.astype("complex128").get())


@pytest.mark.parametrize("x", [X[::2, ::-1], X[0, 0], X[:0]], ids=["gaps", "a number", "empty"])
def test_any_layout_is_sent(x: Any) -> None:
    assert_same(_round_trip(cp.asarray(X, device="cpu")[::2, ::-1])[2], X[::2, ::-1])
    again = _round_trip(cp.asarray(x, device="cpu"))[2]
    assert_same(again, x)


def test_memory_of_a_gpu_is_sent_as_it_lies() -> None:
    """For transports that move it, frames are the array's own memory; for others there is one copy. A simulated GPU."""
    if not (simulated.FOLDER / "libcuda.so.1").exists():
        pytest.skip("the simulated GPU was not built (make build/sim/.built)")
    code = """
from tests import simulated
device = simulated.select("sim:32")
import numpy as np, cuprous as cp, distributed
cp.set_device(device)
from cuprous._clients import for_dask_cuda
values = np.arange(12.0).reshape(3, 4)
x = cp.asarray(values, device="cuda")
with cp.set_transfers("refuse"):
    assert for_dask_cuda.is_on_gpu(x) and for_dask_cuda.memory_of(x) == [x]
    header, frames = distributed.protocol.serialize(x, serializers=["cuda", "dask"])
    assert header["serializer"] == "cuda", header
    shown = [frame.__cuda_array_interface__ for frame in frames]
    assert [(f["typestr"], f["shape"]) for f in shown] == [("|u1", (96,))], shown
    assert shown[0]["data"][0] == x.__cuda_array_interface__["data"][0]
    again = distributed.protocol.deserialize(header, frames)
    assert again.device == x.device
    columns, _ = distributed.protocol.serialize(x.T, serializers=["cuda"])
    header, host = distributed.protocol.serialize(x, serializers=["dask"])
    moved = distributed.protocol.deserialize(header, [bytes(frame) for frame in host])
assert np.array_equal(again.get(), values) and np.array_equal(moved.get(), values)
assert moved.device == x.device
print("equal")
"""
    assert output(code).endswith("equal")


def test_local_cluster() -> None:
    """Two processes exchange chunks, each computes with its part of the cores and sees the GPU that it was given."""
    from cuprous.dask import LocalCluster

    with LocalCluster(2, gpus=[3, "GPU-7"]) as cluster, distributed.Client(cluster) as client:
        assert len(cluster.workers) == 2
        seen = client.run(lambda: (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["RAYON_NUM_THREADS"])).values()
        cores = len(os.sched_getaffinity(0))
        assert sorted(seen) == [("3", str(max(1, cores // 2))), ("GPU-7", str(max(1, cores // 2)))]
        a = da.from_array(cp.asarray(X), chunks=(10, 10))
        product = (a @ a.T).sum(axis=0).compute()
        kept = client.persist(a.map_blocks(lambda block: block * 2))
        spread = kept.std(axis=1).compute()
        with dask.config.set({"array.backend": "cuprous"}):
            ones = da.ones((100, 100), chunks=(10, 100)).sum().compute()
    assert all(isinstance(x, cp.ndarray) for x in (product, spread, ones)) and ones == 10_000
    assert_same(product, (X @ X.T).sum(axis=0), rtol=1e-9, atol=1e-12)
    assert_same(spread, (X * 2).std(axis=1), rtol=1e-9)


def test_clusters_have_at_least_one_worker() -> None:
    from cuprous.dask import LocalCluster, visible_gpus

    with pytest.raises(ValueError, match="n_workers must be 1 or more, got 0"):
        LocalCluster(0)
    assert len(visible_gpus()) == cp.cuda.runtime.getDeviceCount() if cp.cuda.is_available() else visible_gpus() == []


def test_dask_finds_the_backend_by_the_entry_point(tmp_path: Path) -> None:
    """Also in a process that has not imported this package."""
    lines = (ROOT / "pyproject.toml").read_text().partition('[project.entry-points."dask.array.backends"]\n')[2]
    name, _, target = lines.partition("\n")[0].partition(" = ")
    info = tmp_path / "entry-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: entry\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[dask.array.backends]\n{name} = {target.strip(chr(34))}\n")
    code = (
        "import sys, dask, dask.array as da\nassert 'cuprous' not in sys.modules\n"
        "dask.config.set({'array.backend': 'cuprous'})\nprint(type(da.ones(3).compute()).__module__)\n"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": paths}, capture_output=True,
                          text=True, timeout=60)  # fmt: skip
    assert done.stdout.strip() == "cuprous", done.stderr


def test_tables_of_dask_cuda_do_not_show_addresses() -> None:
    """An array whose address was shown could not stay lazy."""
    from dask.utils import Dispatch

    for name, expected in (("is_device_object", False), ("dispatch", [])):
        module = ModuleType("dask_cuda.table")
        table = Dispatch(name)
        setattr(module, name, table)
        for_dask_cuda.register(module)
        assert table(cp.ones(3, device="cpu")) == expected
