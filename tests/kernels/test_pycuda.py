"""Tests PyCUDA's modules. CUDA C++ is compiled and then rejected on a CPU (see test_raw_kernels.on_gpu); the rest runs
anywhere."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.pycuda import autoinit, autoprimaryctx, characterize, compiler, cumath, curandom, gpuarray, scan, tools
from cuprous.pycuda import driver as drv
from cuprous.pycuda.compiler import SourceModule, translated
from cuprous.pycuda.elementwise import ElementwiseKernel
from cuprous.pycuda.reduction import ReductionKernel
from cuprous.pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel
from tests.support import assert_errors

from .test_raw_kernels import ON_GPU, on_gpu

RNG = np.random.default_rng(0)


# --- driver


def test_memory_by_addresses() -> None:
    a = RNG.random((10, 3), np.float32)
    d = drv.to_device(a)
    np.testing.assert_array_equal(drv.from_device_like(d, a), a)
    part = np.empty(4, np.float32)
    drv.memcpy_dtoh(part, int(d) + 8)
    np.testing.assert_array_equal(part, a.ravel()[2:6])
    e = drv.mem_alloc_like(a)
    drv.memcpy_dtod(e, d, a.nbytes)
    drv.memcpy_htod(int(e) + 4, np.float32(7))
    expected = a.copy()
    expected[0, 1] = 7
    np.testing.assert_array_equal(drv.from_device(e, a.shape, a.dtype), expected)
    fills = ((drv.memset_d8, np.uint8, 200), (drv.memset_d16, np.uint16, 999), (drv.memset_d32, np.uint32, 1 << 31))
    for fill, dtype, value in fills:
        fill(e, value, 5)
        assert drv.from_device(e, 5, dtype).tolist() == [value] * 5
    records = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])
    assert (drv.from_device_like(drv.to_device(records), records) == records).all()
    f_order = np.asfortranarray(a)
    np.testing.assert_array_equal(drv.from_device(drv.to_device(f_order), a.shape, a.dtype, "F"), a)
    with pytest.raises(ValueError, match="contiguous"):
        drv.to_device(a[:, ::2])
    with pytest.raises(ValueError, match="one byte"):
        drv.mem_alloc(0)
    memory, pitch = drv.mem_alloc_pitch(100, 7, 4)
    assert memory.size == 7 * pitch
    memory.free()
    with pytest.raises(ValueError, match="freed"):
        int(memory)


def test_streams_events_and_host_memory() -> None:
    a = drv.pagelocked_zeros(5, np.float32) + 3
    stream, start, end = drv.Stream(), drv.Event(), drv.Event()
    start.record(stream)
    d = drv.mem_alloc(a.nbytes)
    drv.memcpy_htod_async(d, a, stream)
    b = drv.pagelocked_empty_like(a)
    drv.memcpy_dtoh_async(b, d, stream)
    end.record(stream).synchronize()
    assert end.query()
    assert start.time_till(end) == end.time_since(start) >= 0
    stream.wait_for_event(end)
    stream.synchronize()
    np.testing.assert_array_equal(b, a)
    assert drv.aligned_zeros((3, 4), np.float64, alignment=4096).ctypes.data % 4096 == 0
    assert drv.register_host_memory(a) is a


def test_devices_and_contexts() -> None:
    drv.init()
    autoinit.context.push()
    autoinit.context.pop()
    drv.Context.synchronize()
    assert autoprimaryctx.device is autoinit.device
    if drv.Device.count():
        device = drv.Context.get_device()
        assert device == drv.Device(0)
        assert device.compute_capability() >= (7, 5)
        assert device.total_memory() >= drv.mem_get_info()[0]
        assert device.max_threads_per_block == 1024
        assert device.get_attributes()[drv.device_attribute.WARP_SIZE] == device.warp_size == 32
        assert drv.Device(0).pci_bus_id()
    else:
        assert autoinit.device is None
        with pytest.raises(drv.LogicError, match="invalid device ordinal 0"):
            drv.Device(0)


def test_attributes_and_what_is_absent() -> None:
    properties = {"warpSize": 32, "maxThreadsPerBlock": 1024}
    assert drv.device_attribute.WARP_SIZE.of(properties) == 32
    assert drv.device_attribute.MAX_GRID_DIM_Z.of(properties) == 65535
    assert drv.ctx_flags.SCHED_AUTO | drv.ctx_flags.MAP_HOST == drv.ctx_flags.MAP_HOST
    drv.Event(drv.event_flags.BLOCKING_SYNC)
    for name in ("Memcpy2D", "managed_empty", "TextureReference", "Linker"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(drv, name)()
    with pytest.raises(AttributeError, match="nonsense"):
        _ = drv.nonsense


SOURCE = r"""
#include <stdio.h>
#include <math.h>
#include <pycuda-complex.hpp>
__device__ __constant__ float factor = 2;
__global__ void multiply(float *dest, float *a, float *b) {
    const int i = threadIdx.x;
    dest[i] = factor * a[i] * b[i];
}
__global__ void rotate(pycuda::complex<float> *z) { z[threadIdx.x] *= pycuda::complex<float>(0, 1); }
"""


def test_source_module() -> None:
    a, b, dest = RNG.random(400, np.float32), RNG.random(400, np.float32), np.zeros(400, np.float32)
    with on_gpu():
        module = SourceModule(SOURCE, options=["-O3", "--use_fast_math"])
        multiply = module.get_function("multiply")
        multiply(drv.Out(dest), drv.In(a), gpuarray.to_gpu(b), block=(400, 1, 1), grid=(1, 1))
        np.testing.assert_allclose(dest, 2 * a * b, rtol=1e-6)
        d = drv.to_device(a)
        multiply.prepare("PPP").prepared_call((1, 1), (400, 1, 1), d, d, d)
        np.testing.assert_allclose(drv.from_device_like(d, a), 2 * a * a, rtol=1e-6)
        assert multiply.prepared_timed_call((1, 1), (400, 1, 1), d, d, d)() > 0
        address, size = module.get_global("factor")
        assert size == 4
        drv.memcpy_htod(address, np.float32(3))
        assert multiply(drv.Out(dest), drv.In(a), drv.In(b), block=(400, 1, 1), time_kernel=True) > 0
        np.testing.assert_allclose(dest, 3 * a * b, rtol=1e-6)
        z = np.array([1, 2j], np.complex64)
        module.get_function("rotate")(drv.InOut(z), block=(2, 1, 1))
        np.testing.assert_array_equal(z, np.array([1j, -2], np.complex64))
        for wrong, match in (({}, "must specify block size"), ({"block": (1, 1, 1), "blok": 3}, "extra keyword")):
            with pytest.raises(ValueError, match=match):
                multiply(d, d, d, **wrong)
        with pytest.raises(TypeError, match="parameter #1"):
            multiply(d, 3, d, block=(1, 1, 1))


@pytest.mark.nvrtc
def test_predefined_nvcc_constants() -> None:
    kernel = "__global__ void k(float *x) { x[0] = M_PI + FLT_MAX + INT_MAX; }"
    for head in (
        "#include <float.h>\n#include <cmath>\n",
        "\n#if 1\n#include <float.h>\n#endif\n",
        "#include <cfloat>\n// a\n",
    ):
        assert b".entry k" in compiler.compile(head + kernel, arch="sm_90", target="ptx")
    assert translated("#include <a.h>\n\nint x;", False) == '#include <a.h>\n\nextern "C" { int x;\n}\n'
    with pytest.raises(drv.CompileError, match=r">    2 \| .*__global__ void k\(\) \{ x; \}"):
        compiler.compile("#include <float.h>\n__global__ void k() { x; }", arch="sm_90")


@pytest.mark.nvrtc
def test_sources_are_compiled_without_nvcc() -> None:
    assert compiler.compile(SOURCE, arch="sm_90")[:4] == b"\x7fELF"
    assert b".target sm_80" in compiler.compile(SOURCE, arch="sm_80", target="ptx")
    with pytest.raises(drv.CompileError, match=r"(?s)missing.*>    2 \|") as caught:
        compiler.compile("__global__ void f(int *x) {\n    *x = missing;\n}", arch="sm_90")
    assert caught.value.stderr
    assert translated(SOURCE, False).count("\n") == SOURCE.count("\n") + 2  # lines keep their numbers


# --- arrays


def test_array_round_trip() -> None:
    a = RNG.random((4, 5), np.float32)
    g = gpuarray.to_gpu(a)
    assert (g.shape, g.dtype, g.size, g.ndim, g.nbytes, g.itemsize) == (a.shape, a.dtype, 20, 2, 80, 4)
    np.testing.assert_array_equal(g.get(), a)
    g.set(2 * a)
    np.testing.assert_array_equal((g / 2).get(), a)
    np.testing.assert_array_equal(gpuarray.to_gpu(np.asfortranarray(a)).get(), a)
    np.testing.assert_array_equal(drv.from_device(g.gpudata, a.shape, a.dtype), 2 * a)
    reshaped = g.reshape(2, -1, order="F")  # the same memory in another order
    np.testing.assert_array_equal(reshaped.get(), (2 * a).ravel().reshape((2, 10), order="F"))
    np.testing.assert_array_equal(reshaped.reshape((4, 5)).get(), 2 * a)
    assert int(reshaped.gpudata) == int(g.gpudata)
    with pytest.raises(RuntimeError, match="contiguous"):
        g[:, ::2].reshape(12)
    d = drv.to_device(a)
    shown = gpuarray.GPUArray(a.shape, a.dtype, gpudata=d)
    shown += 1
    np.testing.assert_array_equal(gpuarray.GPUArray(a.shape, a.dtype, gpudata=int(d)).get(), a + 1)
    assert int(shown.gpudata) == shown.ptr == int(d)
    with pytest.raises(ValueError, match="same size"):
        g.set(a[0])
    with pytest.raises(TypeError, match="same dtype"):
        g.set(a.astype(np.float64))
    assert gpuarray.vec.make_float3(1, 2, 3)["y"] == 2


class Counting:
    """An allocator that records requested sizes and returns memory in one of the supported forms."""

    def __init__(self, give: Any) -> None:
        self.asked: list[int] = []
        self._give = give

    def __call__(self, size: int) -> Any:
        self.asked.append(size)
        return self._give(drv.mem_alloc(size))


class Held:
    """Memory that only exposes its address."""

    def __init__(self, allocation: Any) -> None:
        self.allocation, self.ptr = allocation, int(allocation)


class Holder(drv.PointerHolderBase):
    def __init__(self, allocation: Any) -> None:
        self.allocation = allocation

    def get_pointer(self) -> int:
        return int(self.allocation)


@pytest.mark.parametrize("give", [lambda memory: memory, Held, Holder])
def test_memory_comes_from_allocators(give: Any) -> None:
    made = Counting(give)
    a = RNG.random((3, 4), np.float32)
    x = gpuarray.to_gpu(a, allocator=made)
    assert made.asked == [48]
    assert x.allocator is made
    assert x.ptr == int(getattr(x.gpudata, "ptr", x.gpudata))
    y = gpuarray.zeros((3, 4), np.float32, made) + 1
    np.testing.assert_array_equal((x * 2 + y).get(), a * 2 + 1)
    assert made.asked == [48] * 5  # zeros and each result
    np.testing.assert_array_equal(gpuarray.to_gpu(np.asfortranarray(a), made).get(), a)
    made.asked.clear()
    for of_it in (x.T, x[1:], x.reshape(-1), x.view(np.int32), x.squeeze(), x.ravel()):
        assert of_it.allocator is made
        assert of_it.base is x
    assert not made.asked
    plain, chosen = gpuarray.to_gpu(a.ravel()), gpuarray.to_gpu(np.array([1, 3]))
    np.testing.assert_allclose(gpuarray.sum(plain, allocator=made).get(), a.sum(), rtol=1e-6)
    np.testing.assert_allclose(gpuarray.subset_sum(chosen, plain, allocator=made).get(), a.ravel()[[1, 3]].sum())
    assert gpuarray.dot(plain, plain, allocator=made).allocator is made
    assert gpuarray.maximum(plain, 0, allocator=made).size == 12
    assert gpuarray.concatenate([plain, plain], allocator=made).size == 24
    assert gpuarray.arange(3, dtype=np.int64, allocator=made).size == 3
    assert made.asked == [4, 4, 4, 48, 96, 24]
    made.asked.clear()
    np.testing.assert_allclose(cumath.sqrt(x).get(), np.sqrt(a))
    assert gpuarray.empty_like(x).allocator is x.copy().allocator is made
    gpuarray.empty(0, np.float32, made)
    assert made.asked == [48] * 3
    pool = tools.DeviceMemoryPool()
    np.testing.assert_array_equal(gpuarray.to_gpu(a, allocator=pool.allocate).get(), a)
    assert gpuarray.to_gpu(a).allocator is drv.mem_alloc


def test_records_are_moved() -> None:
    dtype = np.dtype([("x", np.float32), ("n", np.int64), ("v", np.int16, (2,))])
    a = np.zeros((2, 6), dtype)
    a["x"], a["n"] = RNG.random((2, 6)), np.arange(12).reshape(2, 6)
    g = gpuarray.to_gpu(a)
    assert (g.shape, g.dtype, g.size, g.ndim, g.itemsize, g.strides) == (a.shape, dtype, 12, 2, 16, a.strides)
    assert g.flags.c_contiguous
    np.testing.assert_array_equal(g.get(), a)
    for index in (0, -1, slice(None, None, 2), (1, slice(2, 5)), (..., 3), (0, 4)):
        np.testing.assert_array_equal(g[index].get(), a[index])
    np.testing.assert_array_equal(g.reshape(3, -1).get(), a.reshape(3, 4))
    np.testing.assert_array_equal(g.T.get(), a.T)
    np.testing.assert_array_equal(g.ravel().get(), a.ravel())
    np.testing.assert_array_equal(g.view(np.int64).get(), a.view(np.int64))
    np.testing.assert_array_equal(g.view(np.int64).view(dtype).get(), a)
    np.testing.assert_array_equal(gpuarray.concatenate((g, g), axis=1).get(), np.concatenate((a, a), axis=1))
    h = g.copy()
    h[0, 1] = a[1, 1]
    h[1] = g[0]
    np.testing.assert_array_equal(h[0, 1].get(), a[1, 1])
    np.testing.assert_array_equal(h[1].get(), a[0])
    np.testing.assert_array_equal(g.get(), a)
    np.testing.assert_array_equal(gpuarray.zeros_like(g).get(), np.zeros_like(a))
    filled = gpuarray.GPUArray(100, gpuarray.vec.float3).fill(gpuarray.vec.make_float3(1, 2, 3))
    assert filled.get().tolist() == [(1, 2, 3)] * 100
    into = np.zeros_like(a)
    g.get(into)
    np.testing.assert_array_equal(into, a)
    for refused in (lambda: g + g, lambda: gpuarray.sum(g), lambda: g["x"], lambda: g.astype(np.int8), lambda: -g):
        with pytest.raises(NotImplementedError, match="records"):
            refused()
    with pytest.raises(TypeError, match="cannot be set"):
        g[0] = filled[0]
    copied = pickle.loads(pickle.dumps(g))
    np.testing.assert_array_equal(copied.get(), a)


def test_strides_of_contiguous_arrays() -> None:
    assert gpuarray.GPUArray((3, 4), np.int32, strides=(4, 12)).flags.f_contiguous
    assert gpuarray.GPUArray((3, 4), np.int32, strides=(16, 4)).flags.c_contiguous
    with pytest.raises(NotImplementedError, match="strides="):
        gpuarray.GPUArray((3, 4), np.int32, strides=(32, 4))


def test_unsupported_requests_raise() -> None:
    x = gpuarray.zeros(3, np.float32)
    for word, refused in {
        "add_timer": lambda: x.mul_add(1, x, 1, add_timer=print),
        "texture": lambda: x.bind_to_texref_ext(None),
        "DEVICEMAP": lambda: drv.pagelocked_empty(3, np.int8, mem_flags=drv.host_alloc_flags.DEVICEMAP),
        "with_offset": lambda: tools.VectorArg(np.int8, "a", with_offset=True),
        "message_handler": lambda: compiler.DynamicModule(message_handler=print),
        "CUDA 12": lambda: drv.matrix_to_texref(None, None, order="F"),
        "texture object": lambda: drv.address_mode.CLAMP,
        "TRSF_READ_AS_INTEGER": lambda: drv.TRSF_READ_AS_INTEGER | 1,
        "devices": lambda: scan.InclusiveScanKernel(np.int32, "a + b", devices=[0]),
    }.items():
        with pytest.raises(NotImplementedError, match=word):
            refused()
    drv.pagelocked_empty(3, np.int8, mem_flags=drv.host_alloc_flags.PORTABLE)
    with pytest.raises(drv.LogicError, match="flags=1"):
        drv.init(1)


def test_contexts_of_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    current = ["cuda:0"]

    class Fake:
        def __init__(self, number: int) -> None:
            self.number = number

        def use(self) -> None:
            current[0] = f"cuda:{self.number}"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Fake) and other.number == self.number

        def __hash__(self) -> int:
            return self.number

    monkeypatch.setattr(drv._core, "device_count", lambda: 2)
    monkeypatch.setattr(drv._core, "get_device", lambda: current[0])
    monkeypatch.setattr(drv._core, "enter_device", lambda name: current.__setitem__(0, name))
    monkeypatch.setattr(cp.cuda, "Device", Fake)
    monkeypatch.setattr(cp.cuda, "get_device_id", lambda: int(current[0][-1]))
    first, second = drv.Device(0), drv.Device(1)
    context = second.make_context(drv.ctx_flags.SCHED_AUTO | drv.ctx_flags.MAP_HOST)
    assert drv.Context.get_device() == second
    assert drv.Context.get_current() == context
    primary = first.retain_primary_context()
    assert drv.Context.get_device() == second
    primary.push()
    assert drv.Context.get_device() == first
    context.detach()  # not the current context
    drv.Context.pop()
    assert drv.Context.get_device() == second
    context.detach()
    assert drv.Context.get_device() == first
    drv.Context.pop()
    monkeypatch.setenv("CUDA_DEVICE", "1")
    assert tools.make_default_context().get_device() == second
    assert tools.make_default_context(lambda device: device) == second


OPERATORS = {
    "a + b": lambda a, b: a + b, "a - 2": lambda a, b: a - 2, "2 - a": lambda a, b: 2 - a, "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b, "1 / b": lambda a, b: 1 / b, "a ** 2": lambda a, b: a**2, "2 ** a": lambda a, b: 2**a,
    "-a": lambda a, b: -a, "abs": lambda a, b: abs(a - b), "a < b": lambda a, b: a < b, "a == b": lambda a, b: a == b,
    "a[1:]": lambda a, b: a[1:], "a.T": lambda a, b: a.T, "reshape": lambda a, b: a.reshape(-1, 2),
    "mod": lambda a, b: a % b, "floordiv": lambda a, b: a // b,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    a, b = RNG.random((4, 6), np.float32) + 1, RNG.random((4, 6), np.float32) + 1
    ours = OPERATORS[name](gpuarray.to_gpu(a), gpuarray.to_gpu(b))
    theirs = OPERATORS[name](a, b)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours.get(), theirs, rtol=1e-6)


def test_functions_of_arrays() -> None:
    a, b = RNG.random(100) - 0.5, RNG.random(100) - 0.5
    x, y, indices = gpuarray.to_gpu(a), gpuarray.to_gpu(b), gpuarray.to_gpu(np.array([3, 1, 4], np.uint32))
    np.testing.assert_allclose(gpuarray.dot(x, y).get(), a @ b, rtol=1e-12)
    for name in ("sum", "max", "min", "any", "all"):
        np.testing.assert_allclose(getattr(gpuarray, name)(x).get(), getattr(np, name)(a), rtol=1e-12)
    chosen = a[[3, 1, 4]]
    np.testing.assert_array_equal(gpuarray.take(x, indices).get(), chosen)
    assert gpuarray.subset_max(indices, x).get() == chosen.max()
    np.testing.assert_allclose(gpuarray.subset_dot(indices, x, y).get(), chosen @ b[[3, 1, 4]])
    np.testing.assert_array_equal(gpuarray.if_positive(x, y, x).get(), np.where(a > 0, b, a))
    np.testing.assert_array_equal(gpuarray.maximum(x, 0).get(), np.maximum(a, 0))
    np.testing.assert_array_equal(gpuarray.concatenate((x, y)).get(), np.concatenate((a, b)))
    put = gpuarray.multi_take_put([x, y], indices, indices, (5,), src_offsets=[0, 2])
    np.testing.assert_array_equal(put[1].get(), [0, b[3], 0, b[5], b[6]])
    np.testing.assert_allclose(x.mul_add(2, y, 3).get(), 2 * a + 3 * b)
    np.testing.assert_array_equal(gpuarray.arange(1, 9, 2, dtype=np.int32).get(), np.arange(1, 9, 2, np.int32))
    assert gpuarray.zeros_like(x).get().sum() == 0
    assert not gpuarray.zeros((), np.int32)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    for name, ours in cumath._UNARY.items():
        value = np.abs(a) + (1 if name in ("log", "log10") else 0)
        found = getattr(cumath, name)(gpuarray.to_gpu(value))
        np.testing.assert_allclose(found.get(), getattr(np, ours)(value), rtol=1e-12)
    np.testing.assert_array_equal(cumath.modf(x)[0].get(), np.modf(a)[0])
    np.testing.assert_array_equal(cumath.ldexp(*cumath.frexp(x)).get(), a)


def test_random_arrays() -> None:
    assert curandom.rand((100, 3)).shape == (100, 3)
    first, second = (curandom.XORWOWRandomNumberGenerator(lambda n: np.full(n, 7)) for _ in range(2))
    x = first.gen_normal(20000, np.float64).get()
    np.testing.assert_array_equal(x, second.gen_normal(20000, np.float64).get())
    np.testing.assert_allclose([x.mean(), x.std()], [0, 1], atol=0.03)
    u = first.gen_uniform(1000, np.float32).get()
    assert 0 < u.min() <= u.max() <= 1
    assert first.gen_uniform(1000, np.int32).get().min() < 0
    assert abs(first.gen_poisson(1000, np.int32, 4.0).get().mean() - 4) < 0.5
    with pytest.raises(NotImplementedError, match="Sobol32"):
        curandom.Sobol32RandomNumberGenerator()


# --- kernels of a few lines


def test_elementwise_kernels() -> None:
    kernel = ElementwiseKernel("float a, const float *x, float *z", "z[i] = a * x[i]", "scale")
    x, z = gpuarray.arange(10, dtype=np.float32), gpuarray.zeros(10, np.float32)
    with on_gpu():
        kernel(2, x, z)
        kernel(5, x, z, slice=slice(1, 6, 2))
        assert z.get().tolist() == [0, 5, 4, 15, 8, 25, 12, 14, 16, 18]
    doubled = ElementwiseKernel("pycuda::complex<float> *z", "z[i] = z[i] + z[i]")
    with on_gpu():
        doubled(gpuarray.zeros(4, np.complex64))
    assert_errors(
        (lambda: kernel(x, z), TypeError, "takes 3 arguments"),
        (lambda: kernel(1, x[::2], z), RuntimeError, "non-contiguous"),
        (lambda: ElementwiseKernel("flout *x", "x[i] = 0"), ValueError, "unknown type"),
    )


@pytest.mark.parametrize("n", [1, 300, 1_000_000])
def test_reduction_kernels(n: int) -> None:
    kernel = ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "const float *x, float *y")
    x = gpuarray.arange(n, dtype=np.float32) % 7
    with on_gpu():
        np.testing.assert_allclose(kernel(x, x).get(), (x.get().astype(np.float64) ** 2).sum(), rtol=1e-5)
    largest = ReductionKernel(np.int32, "-1000", "max(a, b)")
    with on_gpu():
        assert largest(x.astype(np.int32)).get() == min(n - 1, 6)


@pytest.mark.parametrize("n", [1, 512, 5000])
def test_scans(n: int) -> None:
    host = RNG.integers(-9, 9, n).astype(np.int32)
    x = gpuarray.to_gpu(host)
    np.testing.assert_array_equal(InclusiveScanKernel(np.int32, "a+b")(x.copy()).get(), host.cumsum())
    exclusive = ExclusiveScanKernel(np.int32, "a+b", 0)(x.copy())
    np.testing.assert_array_equal(exclusive.get(), host.cumsum() - host)
    with on_gpu():
        largest = InclusiveScanKernel(np.int32, "max(a, b)")(x.copy())
        np.testing.assert_array_equal(largest.get(), np.maximum.accumulate(host))
    with on_gpu():
        before = ExclusiveScanKernel(np.int32, "max(a, b)", -100)(x.copy())
        np.testing.assert_array_equal(before.get(), np.maximum.accumulate([-100, *host])[:-1])


def test_tools() -> None:
    assert tools.dtype_to_ctype(np.float32) == "float"
    assert tools.parse_c_arg("const unsigned long long * x").declarator() == "unsigned long long *x"
    assert [tools.bitlog2(n) for n in (1, 17, 0xAFFE)] == [0, 4, 15]
    pool = tools.DeviceMemoryPool()
    memory = pool.allocate(1000)
    assert pool.active_bytes >= memory.size
    pool.free_held()
    assert tools.PageLockedMemoryPool().allocate(3, np.int8).shape == (3,)
    assert characterize.sizeof("unsigned int") == 4
    data = tools.DeviceData() if ON_GPU else tools.DeviceData.__new__(tools.DeviceData)
    if not ON_GPU:  # an A100
        data.max_threads, data.warps_per_mp, data.thread_blocks_per_mp = 1024, 64, 32
        data.registers, data.shared_memory = 65536, 164 << 10
    record = tools.OccupancyRecord(data, 256, shared_mem=40 << 10, registers=32)
    assert record.limited_by in ("smem", "warps")
    assert cp.get_device() in ("cpu", "cuda:0", "hip:0")


def test_bins_of_pools() -> None:
    pool = tools.DeviceMemoryPool()
    for size in (*range(70), 1000, 2**20 - 1, 2**20, 2**31 - 1):
        most = pool.alloc_size(pool.bin_number(size))
        assert size <= most <= max(1, 1.25 * size) and pool.bin_number(most) == pool.bin_number(size)


@pytest.mark.nvrtc
def test_modules_of_several_parts() -> None:
    module = compiler.DynamicModule(arch="sm_90" if not ON_GPU else None)
    inner = "__device__ int twice(int x) { return 2 * x; }"
    outer = "__device__ int twice(int); __global__ void k(int* x) { x[threadIdx.x] = twice(threadIdx.x); }"
    for source in (inner, outer):
        module.add_source(source, ["-rdc=true", "-lcudadevrt", "-O3"])
    assert_errors(
        (lambda: module.add_source("__device__ int f() { return missing; }"), compiler.CompileError, "missing"),
        (lambda: module.add_data(b"", "lto"), NotImplementedError, "input_type='lto'"),
        (lambda: module.add_stdlib("cublas_device"), NotImplementedError, "cublas_device"),
        (lambda: compiler.DynamicModule().link(), drv.LogicError, "nothing was added"),
    )
    if not ON_GPU:
        with pytest.raises(NotImplementedError, match="linked for GPUs only"):
            module.link()
        return
    x = gpuarray.zeros(4, np.int32)
    module.link().get_function("k")(x, block=(4, 1, 1))
    np.testing.assert_array_equal(x.get(), [0, 2, 4, 6])
