"""Tests the host API of numba.cuda and cupyx.jit: arrays, argument wrappers, compilation without a launch, errors."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda
from cuprous.cupyx import jit


@cuda.jit
def step(a, b):
    b[0] = a[0] + 1
    a[0] = 7


def test_argument_wrappers() -> None:
    a, b = np.zeros(1), np.zeros(1)
    step[1, 1](cuda.In(a), cuda.Out(b))
    assert (a[0], b[0]) == (0, 1)
    step[1, 1](cuda.InOut(a), cuda.Out(b))
    assert (a[0], b[0]) == (7, 1)
    d = cuda.to_device(b)
    step[1, 1](cuda.In(d), b)  # device arrays are used in place
    assert (d.copy_to_host()[0], b[0]) == (7, 2)


def test_mapped_managed_and_pinned_arrays() -> None:
    for make in (cuda.mapped_array, cuda.managed_array, cuda.pinned_array):
        a = make(3, dtype=np.float32, order="C")
        a[:] = 5
        b = cuda.mapped_array_like(a)
        step[1, 1](a, b)
        assert (a[0], b[0], b.dtype) == (7, 6, np.float32)
        with pytest.raises(NotImplementedError, match="strides"):
            make(3, strides=(8,))
    with cuda.mapped(a, b) as (x, y), cuda.pinned(a), cuda.defer_cleanup():
        step[1, 1](x, y)


def test_device_arrays_have_numba_methods() -> None:
    a = cuda.to_device(np.arange(10), stream=cuda.stream())
    assert [p.tolist() for p in a.split(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    a.split(4)[2].copy_to_device(np.array([1, 2]))
    assert a.getitem(slice(8, None), stream=0).tolist() == [1, 2]
    a.setitem(0, 5)
    assert a[0] == 5
    assert a.bind(cuda.stream()).gpu_data == a.gpu_data
    assert a.alloc_size == 80
    assert a.reshape(2, 5).ravel().shape == (10,)
    host = np.empty(10, np.int64)
    assert a.copy_to_host(host, stream=cuda.stream()) is host
    with pytest.raises(ValueError, match="1d"):
        a.reshape(2, 5).split(1)


def test_availability_queries() -> None:
    assert cuda.is_supported_version()
    assert cuda.cuda_error() is None or isinstance(cuda.cuda_error(), str)
    assert cuda.is_float16_supported() in (True, False)
    assert cuda.require_context(step) is step
    with cuda.profiling():
        pass
    with pytest.raises(NotImplementedError, match="set_memory_manager"):
        cuda.set_memory_manager()
    assert {"vectorize", "random", "compile_ptx", "syncthreads"} <= set(dir(cuda))


@pytest.mark.nvrtc
def test_ptx_of_a_kernel() -> None:
    ptx, returns = cuda.compile_ptx(step.py_func, "void(float32[:], float32[:])", cc=(9, 0))
    assert ".target sm_90" in ptx
    assert "step" in ptx
    assert returns == cuda.types.none
    lined, _ = cuda.compile(step.py_func, (cuda.float32[::1],) * 2, device=False, lineinfo=True, fastmath=True)
    assert ".loc" in lined
    with pytest.raises(NotImplementedError, match="exe"):
        cuda.compile(step.py_func, "void(float32[:], float32[:])", output="exe")
    with pytest.raises(TypeError, match="void return type"):
        cuda.compile_ptx(step.py_func, "int32(float32[:], float32[:])")


@pytest.mark.nvrtc
def test_compile_to_ptx() -> None:
    kernel = cuda.jit("void(float32[::1], float32[::1])")(step.py_func)
    ((signature, text),) = kernel.inspect_asm().items()
    assert signature == (cuda.float32[::1],) * 2
    assert ".entry step" in text
    assert ".entry step" in kernel.inspect_asm("void(float64[:], float64[:])")
    with pytest.raises(NotImplementedError, match="inspect_asm"):
        kernel.inspect_sass()


def test_kernels_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(step)) is step
    pickle.loads(pickle.dumps(cuda.jit(lambda a: None)))[1, 1](0)  # by its code: a lambda cannot be imported


@pytest.mark.nvrtc
def test_names_of_templates() -> None:
    module = cp.RawModule(
        code="template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }",
        name_expressions=["twice<float>", "twice<int>"],
    )
    made = module._compiled(module.code, "twice", [], "sm_90")
    assert made.code[:4] == b"\x7fELF"
    assert made.names["twice<float>"] != made.names["twice<int>"]
    x = cp.arange(4, dtype=cp.int32)
    if cp.get_device() == "cpu":
        with pytest.raises(NotImplementedError, match="runs on a GPU only"):
            module.get_function("twice<int>")((1,), (4,), (x,))
    else:
        module.get_function("twice<int>")((1,), (4,), (x,))
        assert x.tolist() == [0, 2, 4, 6]
    with pytest.raises(RuntimeError, match=r"(?s)missing.*>    1 \|"):
        cp.RawModule(code="", name_expressions=["k"])._compiled("int x = missing;", "k", [], "sm_90")
    with pytest.raises(TypeError, match="name_expressions"):
        cp.RawModule(path="a.cubin", name_expressions=["k"])


def test_cupyx_jit_shares_memory_among_groups() -> None:
    @jit.rawkernel()
    def turned(x, out):
        fixed = jit.shared_memory(cp.float32, 32)
        given = jit.shared_memory(cp.float32, None)
        group = jit.cg.this_thread_block()
        i = group.thread_rank()
        fixed[i] = x[i]
        given[i] = 2 * x[i]
        jit.cg.sync(group)
        out[i] = fixed[31 - i] + given[31 - i]

    x, out = cp.arange(32, dtype="float32"), cp.zeros(32, "float32")
    turned((1,), (32,), (x, out), shared_mem=128)
    assert out.get().tolist() == [3.0 * (31 - i) for i in range(32)]
    with pytest.raises(NotImplementedError, match="memcpy_async"):
        jit.cg.memcpy_async()


def test_cupyx_jit() -> None:
    @jit.rawkernel(device=True)
    def twice(x):
        return x * 2

    @jit.rawkernel()
    def kernel(x, y, size):
        start = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        for i in range(start, size, jit.gridDim.x * jit.blockDim.x):
            jit.atomic_add(y, 0, twice(x[i]))
        jit.syncthreads()

    x, y = cp.arange(100), cp.zeros(1, cp.int64)
    kernel((2,), (32,), (x, y, 100))
    kernel[2, 32](x, y, 100)
    assert int(y[0]) == 4 * x.sum()
    assert "twice" in kernel.cached_code
    assert len(kernel.cached_codes) == 1
    with pytest.raises(RuntimeError, match="only be called in a kernel"):
        jit.shared_memory(cp.float32, 3)
    with pytest.raises(NotImplementedError, match="mode"):
        jit.rawkernel(mode="numpy")


def test_numpy_copies_device_arrays() -> None:
    host = np.arange(6.0).reshape(2, 3)
    on_device = cuda.to_device(host)
    np.testing.assert_array_equal(np.asarray(on_device), host)
    np.testing.assert_array_equal(np.array(on_device[1:, ::2], dtype=np.int8), host[1:, ::2])
    assert np.asarray(cuda.device_array((2, 2), np.int16)).dtype == np.int16
    with pytest.raises(ValueError, match="`copy=False` is not"):
        np.array(on_device, copy=False)
    with cp.set_transfers("refuse"):  # an error for all other arrays
        np.testing.assert_array_equal(np.asarray(on_device), host)
        for refused in (cp.asarray(host), on_device + 1):
            with pytest.raises(cp.ImplicitConversionError):
                np.asarray(refused)


def test_ambiguous_signatures() -> None:
    def add(r, x, y):
        r[0] = x + y

    kernel = cuda.jit(["(float64[::1], float32, float64)", "(float64[::1], float64, float32)"])(add)
    r = np.zeros(1)
    with pytest.raises(TypeError, match=r"Ambiguous overloading .*float32, float64\) and .*float64, float32\)"):
        kernel[1, 1](r, 1.5, 2.5)
    kernel[1, 1](r, np.float32(1.5), 2.5)
    assert r[0] == 4
    wider = cuda.jit(["(float64[::1], float64, float64)", "(float64[::1], int64, int64)"])(add)
    wider[1, 1](r, np.int32(1), np.int32(2))
    assert wider.get_regs_per_thread() is not None and r[0] == 3


FACTOR = 2


def test_globals_are_frozen_until_recompile() -> None:
    @cuda.jit
    def kernel(r):
        r[0] = FACTOR

    r = np.zeros(1)
    kernel[1, 1](r)
    with mock.patch.dict(globals(), FACTOR=5):
        kernel[1, 1](r)
        assert r[0] == 2
        kernel.recompile()
        kernel[1, 1](r)
    assert r[0] == 5


def test_simulator_environment_variable_is_ignored(tmp_path: Path) -> None:
    script = tmp_path / "simulated.py"
    script.write_text(
        "import numpy as np\n"
        "from cuprous import cuda\n"
        "@cuda.jit\n"
        "def kernel(out):\n"
        "    v = cuda.float32x3(1, 2, 3)\n"
        "    w = cuda.float4(v.x, v.y, v.z, 4)\n"
        "    out[cuda.grid(1)] = w.x + w.y * w.z + w.w\n"
        "out = np.zeros(4, np.float32)\n"
        "kernel[1, 4](out)\n"
        "print(out.tolist())\n"
    )
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    run = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, timeout=300)
    assert (run.stdout, run.stderr) == ("[11.0, 11.0, 11.0, 11.0]\n", "")
