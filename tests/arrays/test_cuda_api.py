"""Tests `cuprous.cuda`: functions that work without a GPU, and errors of those that do not."""

from __future__ import annotations

import pytest

import cuprous as cp

no_gpu = pytest.mark.skipif("cp.cuda.is_available()", reason="there is a GPU")
gpu = pytest.mark.skipif("cp.get_device() == 'cpu'", reason="runs on a GPU")


def test_streams_and_events() -> None:
    null = cp.cuda.Stream.null
    assert cp.cuda.get_current_stream() is null
    if cp.get_device() == "cpu":
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        cp.ones(1000).sum()
        end.record()
        end.synchronize()
        assert cp.cuda.get_elapsed_time(start, end) >= 0
        assert cp.cuda.get_elapsed_time(end, end) == 0
    cp.cuda.runtime.deviceSynchronize()
    cp.synchronize()
    for bad in ({"ptds": True}, {"priority": 1}):
        with pytest.raises(NotImplementedError):
            cp.cuda.Stream(**bad)


@no_gpu
def test_without_a_gpu() -> None:
    assert cp.cuda.runtime.getDeviceCount() == 0
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="no usable GPU 0"):
        cp.cuda.Device(0).use()
    with pytest.raises(RuntimeError), cp.cuda.Device(0):
        pass
    for ask in (cp.cuda.runtime.getDeviceProperties, cp.cuda.get_device_properties):
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="no usable GPU 0"):
            ask(0)
    with pytest.raises(RuntimeError):
        cp.set_device("cuda")
    assert cp.get_device() == "cpu"
    assert cp.cuda.runtime.driverGetVersion() == 0


@gpu
def test_with_a_gpu() -> None:
    with cp.cuda.Device(0) as device:
        a = cp.arange(10)
        assert a.device == device
        free, total = device.mem_info
        assert 0 < free <= total
        assert device.compute_capability.isdigit()
    assert cp.cuda.runtime.getDeviceProperties(0)["name"]
    assert cp.cuda.get_device_properties() == cp.cuda.runtime.get_device_properties(0)
    with cp.cuda.Stream(non_blocking=True) as stream:
        b = a * 2
        assert cp.cuda.get_current_stream() is stream
        event = stream.record()
    event.synchronize()
    stream.synchronize()
    assert stream.done
    assert b.tolist() == [2 * i for i in range(10)]
    interface = a.__cuda_array_interface__
    assert interface["version"] == 3
    assert cp.asarray(type("Other", (), {"__cuda_array_interface__": interface, "owner": a})()).tolist() == list(
        range(10)
    )


def test_devices_compare() -> None:
    assert cp.cuda.Device(0) == cp.cuda.Device(0)
    assert int(cp.cuda.Device(3)) == 3
    assert repr(cp.cuda.Device(1)) == "<CUDA Device 1>"


def test_memory_names() -> None:
    assert cp.cuda.memory.OutOfMemoryError is cp.OutOfMemoryError
    assert issubclass(cp.OutOfMemoryError, MemoryError)
    assert isinstance(cp.get_default_memory_pool(), cp.cuda.MemoryPool)
