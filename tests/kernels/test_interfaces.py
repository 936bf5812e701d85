"""Tests what Numba's arrays, devices and streams export to other libraries, and what kernels accept from them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import _core, cuda
from cuprous.cuda import _mapped

from .test_raw_kernels import ON_GPU


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


class Foreign:
    """An array of another library, such as CuPy: it has no `__array_interface__`, and `item()` is an error."""

    def __init__(self, array: Any, dtype: Any = None) -> None:
        self.array, self.dtype, self.shape = array, np.dtype(dtype or array.dtype), array.shape

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "typestr": self.dtype.str}

    def item(self) -> Any:
        raise AssertionError("an array was asked for its item")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError


def test_foreign_arrays_are_not_scalars() -> None:
    a = cp.arange(3.0)
    if ON_GPU:
        add[1, 3](Foreign(a), Foreign(a), Foreign(a))
        assert a.tolist() == [0, 2, 4]
        for order in ("C", "F"):
            two = cp.asarray(np.arange(6.0).reshape(2, 3), order=order)
            out = cp.zeros((2, 3))
            copy[1, 1](Foreign(two), out)
            assert np.array_equal(out.get(), two.get())
    else:
        with pytest.raises(TypeError, match="an object of class Foreign"):
            add[1, 3](Foreign(a), a, a)
    with pytest.raises(TypeError):
        a + Foreign(a)


@cuda.jit
def copy(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]


@pytest.fixture
def an_h200(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"name": "NVIDIA H200", "major": 9, "minor": 0, "multiProcessorCount": 132, "warpSize": 32, "uuid": "GPU-1"}
    monkeypatch.setattr(_core, "device_count", lambda: 1)
    monkeypatch.setattr(_core, "device_properties", lambda index=0: known)


def test_device_attributes_match_numba(an_h200: None, capsys: pytest.CaptureFixture[str]) -> None:
    device = cuda.get_current_device()
    assert device.compute_capability >= (9, 0)
    assert (device == cuda.Device(0), cuda.Device(0).compute_capability) == (True, "90")
    assert (cuda.gpus[0].MULTIPROCESSOR_COUNT, cuda.current_context().device.WARP_SIZE) == (132, 32)
    assert (device.uuid, device.supports_float16, device.supports_bfloat16) == ("GPU-1", True, True)
    with pytest.raises(AttributeError, match=r"no attribute 'WARPS'; there are .*WARP_SIZE"):
        device.WARPS  # noqa: B018
    assert cuda.detect()
    assert "compute capability 9.0" in capsys.readouterr().out


def test_arrays_are_bound_to_streams() -> None:
    stream = cuda.stream()
    a = cuda.to_device(np.arange(4), stream=stream)
    like = cuda.device_array_like(a, stream=stream)
    assert all(x.stream == stream for x in (a, a[1:], like, cuda.device_array(3, stream=stream)))
    assert (cuda.device_array(3).stream, cp.ones(3).stream) == (0, 0)
    bound = like.bind(0)
    assert (bound.stream, like.stream) == (0, stream)
    bound[:] = 5
    assert like.copy_to_host().tolist() == [5] * 4
    assert (stream.external, cuda.external_stream(2).external, int(stream.handle)) == (False, True, stream.ptr)
    assert (a.gpu_data == a[:2].gpu_data, a.gpu_data == like.gpu_data) == (True, False)


@cuda.vectorize(["float64(float64)"])
def half(x):
    return x / 2


@pytest.mark.skipif(not ON_GPU, reason="only arrays on a GPU have the interface")
def test_array_interface_has_the_stream() -> None:
    plain, stream = cuda.to_device(np.arange(3.0)), cuda.stream()
    assert plain.__cuda_array_interface__["stream"] is None
    bound = cuda.device_array(3, stream=stream)
    assert bound.__cuda_array_interface__["stream"] == stream.handle
    assert cp.ones(3).__cuda_array_interface__["stream"] is not None
    assert cuda.as_cuda_array(Foreign(plain)).stream == 0
    taken = cuda.as_cuda_array(Foreign(bound))
    assert taken.stream.external
    assert int(taken.stream.handle) == int(stream.handle)
    out = cuda.device_array(3)
    half(plain, out=Foreign(out))
    assert out.copy_to_host().tolist() == [0, 0.5, 1]


def test_array_interface_mask_is_rejected() -> None:
    face = {"shape": (3,), "typestr": "<f8", "data": (0, False), "version": 3, "mask": object()}
    with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
        cuda.from_cuda_array_interface(face)


def test_mapped_memory_has_array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    if not ON_GPU:
        monkeypatch.setattr(_mapped, "driver_memory", lambda kind, size, flags: (ctypes.c_char * size)())
        monkeypatch.setattr(_core, "get_device", lambda: "cuda:0")
    stream = cuda.stream()
    for make in (cuda.mapped_array, cuda.managed_array):
        a = make((3, 4), np.float32, order="F", stream=stream)
        a[...] = 2
        face = a[1:].__cuda_array_interface__
        assert (face["shape"], face["strides"], face["typestr"]) == ((2, 4), (4, 12), "<f4")
        assert face["data"][0] == a.ctypes.data + 4
        assert (face["stream"], make(3).__cuda_array_interface__["stream"]) == (stream.handle or 1, None)
        assert not hasattr(a + 1, "__cuda_array_interface__")  # NumPy's memory
        assert make(0).size == 0


def test_dates_on_a_device() -> None:
    dates = np.arange("2005-02", "2005-03", dtype="datetime64[D]")
    a = cuda.to_device(dates)
    later = cuda.to_device(dates + 3)
    out = cuda.device_array_like(cuda.to_device(dates - dates))
    assert (a.shape, a.dtype, len(a), out.dtype) == (dates.shape, dates.dtype, 28, np.dtype("m8[D]"))
    assert a.view(np.int64).copy_to_host().tolist() == dates.view(np.int64).tolist()
    assert a.view(np.int64).gpu_data == a.gpu_data

    @cuda.jit
    def between(start, end, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = end[i] - start[i]

    between[1, 32](a, later, out)
    assert out.copy_to_host().tolist() == (dates + 3 - dates).tolist()
    between[1, 32](dates, later, out)  # with host arrays
    a[1:3] = dates[:2]
    assert (a[1], np.asarray(a[1:3]).tolist()) == (dates[0], dates[:2].tolist())
    with pytest.raises(TypeError, match="one unit"):
        between[1, 32](a, dates.astype("M8[s]"), out)
    a[5] = np.datetime64("NaT")
    with pytest.raises(ValueError, match="NaT"):
        between[1, 32](a, later, out)
    a.copy_to_device(dates)
    between[1, 32](a, later, out)
    with pytest.raises(AttributeError, match=r"view\('int64'\)"):
        a.sum()
    assert cuda.types.as_type(dates.dtype)[:] == cuda.types.int64[:]


def test_error_messages_match_numba() -> None:
    for bad, error, message in (
        (((1, 2, 3, 4), 5), ValueError, r"griddim must be a sequence of 1, 2 or 3 integers, got \[1, 2, 3, 4\]"),
        ((1, ()), ValueError, r"blockdim must be a sequence of 1, 2 or 3 integers, got \[\]"),
        ((2.0, 3), TypeError, r"griddim must be a sequence of integers, got \[2.0\]"),
        ((1, (2, 3.5)), TypeError, r"blockdim must be a sequence of integers, got \[2, 3.5\]"),
    ):
        with pytest.raises(error, match=message):
            add[bad]

    def aligned(to: Any) -> Any:
        @cuda.jit
        def kernel(out):
            a = cuda.local.array(4, np.uint8, alignment=to)
            a[0] = 3
            out[0] = a[0]

        return kernel

    out = np.zeros(1)
    aligned(16)[1, 1](out)
    assert out[0] == 3
    for to in (-1, 0, 3):
        with pytest.raises(ValueError, match="Alignment must be a power of two"):
            aligned(to)[1, 1](out)
    for to in ("16", 1.5):
        with pytest.raises(cuda.errors.TypingError, match=r"RequireLiteralValue: .*must be a constant integer"):
            aligned(to)[1, 1](out)

    @cuda.jit
    def unknown(out):
        out[0] = floor(1.5)  # noqa: F821

    with pytest.raises(cuda.errors.TypingError, match="NameError: name 'floor' is not defined"):
        unknown[1, 1](out)


def test_fastmath_division_by_zero_does_not_raise() -> None:
    def divide(r, x, y):
        r[0] = x / y

    r = np.zeros(1, np.float32)
    with pytest.raises(ZeroDivisionError):
        cuda.jit(debug=True)(divide)[1, 1](r, 1.0, 0.0)
    cuda.jit(debug=True, fastmath=True)(divide)[1, 1](r, 1.0, 0.0)
    assert np.isinf(r[0])
