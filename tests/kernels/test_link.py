"""Tests linked CUDA C++, exported device functions, IPC handles, warnings and pickling of kernels."""

from __future__ import annotations

import gc
import pickle
import warnings
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda
from cuprous.cuda import _headers, _link, config
from cuprous.cuda._ptx import ptx as ptx_of

from .test_raw_kernels import ON_GPU

TWICE = """
extern "C" __device__ int twice(int* result, int a) { *result = 2 * a; return 0; }
extern "C" __device__ double half(double x) { return x / 2; }
"""


def kernel_of_twice(link: Any) -> Any:
    twice = cuda.declare_device("twice", "int32(int32)")
    half = cuda.declare_device("half", "float64(float64)", abi="c")

    @cuda.jit(link=link)
    def kernel(r, x):
        i = cuda.grid(1)
        if i < r.size:
            r[i] = twice(x[i]) + half(3)

    return kernel


def test_functions_of_cuda_cpp(tmp_path: Path) -> None:
    file = tmp_path / "twice.cu"
    file.write_text(TWICE)
    r, x = np.zeros(5), np.arange(5, dtype=np.int32)
    for link in ([str(file)], file, cuda.CUSource(TWICE), [cuda.CUSource(TWICE.encode())]):
        kernel = kernel_of_twice(link)
        if ON_GPU:
            kernel[1, 32](r, x)
            np.testing.assert_array_equal(r, 2 * x + 1.5)
        else:
            with pytest.raises(NotImplementedError, match=r"twice is CUDA C.*GPU"):
                kernel[1, 32](r, x)


@pytest.mark.nvrtc
def test_linked_sources_are_compiled_with_the_kernel() -> None:
    kernel = kernel_of_twice(cuda.CUSource(TWICE))
    ptx = ptx_of(kernel, (cuda.float64[::1], cuda.int32[::1]), (9, 0))
    assert ".entry kernel" in ptx
    named = cuda.declare_device("twice", "int32(int32)", link=cuda.CUSource(TWICE))

    @cuda.jit
    def other(r):
        r[0] = named(4)

    assert ".entry other" in ptx_of(other, (cuda.int32[::1],), (8, 0))


def test_link_errors(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Don't know how to link file with extension \.cuh"):
        cuda.jit("void()", link=["header.cuh"])(lambda: None)
    with pytest.raises(RuntimeError, match="with no extension"):
        cuda.jit("void()", link=["data"])(lambda: None)
    with pytest.raises(cuda.errors.LinkerError) as missing:
        cuda.jit("void()", link=["nonexistent.a"])(lambda: None)
    assert "nonexistent.a not found" in missing.value.args
    halved = cuda.declare_device("halved", "float16(float16)", link=cuda.Cubin(b""))
    with pytest.raises(NotImplementedError, match="halved takes or gives float16"):
        cuda.jit(lambda r: halved(r[0]))
    with pytest.raises(TypeError, match="setup_callback must be callable"):
        cuda.CUSource("", setup_callback=1)
    f = cuda.declare_device("f", "int32(float32[:])")
    assert f.sig == cuda.int32(cuda.float32[:]) or f.sig.args == (cuda.float32[:],)
    with pytest.raises(NotImplementedError, match=r"array.* is not supported"):
        f._kernel_name  # noqa: B018
    with pytest.raises(TypeError, match="Return type must be provided"):
        cuda.declare_device("f", (cuda.int32,))
    with pytest.raises(RuntimeError, match="kernels can call it"):
        cuda.declare_device("f", "int32()")()


@pytest.mark.nvrtc
def test_headers_of_linked_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "factor.h").write_text("#define FACTOR 3\n")
    (tmp_path / "near.h").write_text("#include <factor.h>\n")
    file = tmp_path / "times.cu"
    file.write_text('#include "near.h"\nextern "C" __device__ int times(int x) { return FACTOR * x; }\n')
    monkeypatch.setattr(config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS", str(folder))
    times = cuda.declare_device("times", "int32(int32)", link=file, abi="c")

    @cuda.jit
    def kernel(r):
        r[0] = times(5)

    assert ", 15;" in ptx_of(kernel, (cuda.int32[::1],), (9, 0))
    r = np.zeros(1, np.int32)
    if ON_GPU:
        kernel[1, 1](r)
        assert r[0] == 15
    else:
        with pytest.raises(NotImplementedError, match="times is CUDA C"):
            kernel[1, 1](r)
    absent = cuda.CUSource('#include <curand_kernel.h>\nextern "C" __device__ int times(int x) { return x; }')
    with mock.patch.object(_headers, "_folders", lambda: ()):
        other = cuda.jit(link=absent)(lambda r: None)
    message = r"NVIDIA's header curand_kernel\.h is not installed: pip install nvidia-curand"
    with pytest.raises(RuntimeError, match=message):
        ptx_of(other, (cuda.int32[::1],), (9, 0))


def test_device_code_is_declared_to_the_compiler(tmp_path: Path) -> None:
    source = 'extern "C" __device__ int twice(int* r, int a) { *r = 2 * a; return 0; }'
    file = tmp_path / "twice.ptx"
    file.write_text("// stands for PTX")
    twice = cuda.declare_device("twice", "int32(int32)", link=file)
    thrice = cuda.declare_device("thrice", "float64(float64)", abi="c")

    @cuda.jit(device=True)
    def both(x):
        return twice(x) + thrice(x)

    @cuda.jit(link=[cuda.Cubin(b"stands for code", name="thrice")])
    def kernel(r):
        r[0] = both(4)

    code = kernel.cuda_code([cuda.float64[::1].key], True, True)
    assert 'extern "C" __device__ int twice(int*, int);' in code
    assert 'extern "C" __device__ double thrice(double);' in code
    # Functions defined in CUDA C++ are declared there.
    mixed = cuda.jit(link=[cuda.CUSource(source), cuda.Fatbin(b"")])(kernel.py_func)
    assert "twice(int*, int);" not in mixed.cuda_code([cuda.float64[::1].key], True, True)
    if not ON_GPU:  # compiled if a compiler is available, then rejected by the CPU
        with pytest.raises(NotImplementedError, match=r"is CUDA C.*GPU"):
            kernel[1, 1](np.zeros(1))


@pytest.mark.skipif(not ON_GPU, reason="device code runs on GPUs")
@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_device_code_is_linked(kind: str, tmp_path: Path) -> None:
    from cuprous.cuda import _nvrtc
    from cuprous.cuda._raw_kernels import target as own_target

    target = own_target() if kind != "ptx" else own_target().replace("sm_", "compute_")
    source = 'extern "C" __device__ int twice(int* r, int a) { *r = 2 * a; return 0; }'
    code = _nvrtc.compile_source(source, "twice", target, ["--relocatable-device-code=true"]).code
    file = tmp_path / f"twice.{kind}"
    file.write_bytes(code)
    twice = cuda.declare_device("twice", "int32(int32)")

    @cuda.jit(link=[file], max_registers=64)
    def kernel(r, x):
        r[0] = twice(x)

    r = np.zeros(1, np.int64)
    kernel[1, 1](r, 21)
    assert r[0] == 42
    broken = cuda.jit(link=[cuda.Cubin(b"no code")])(kernel.py_func)
    with pytest.raises(RuntimeError, match="cannot be linked"):
        broken[1, 1](r, 21)


def test_callbacks_of_modules() -> None:
    seen: list[tuple[str, int]] = []
    source = cuda.CUSource(
        "__device__ int number = 0;",
        setup_callback=lambda module: seen.append(("setup", module.handle)),
        teardown_callback=lambda module: seen.append(("teardown", int(module))),
    )

    @cuda.jit(link=[source])
    def kernel(x):
        pass

    if ON_GPU:
        kernel[1, 1](1)
        kernel[1, 1](2)
        kernel[1, 1](2.5)
        assert [what for what, _ in seen] == ["setup", "setup"]
        cuda.current_context().reset()
        assert [what for what, _ in seen[2:]] == ["teardown", "teardown"]
        kernel[1, 1](1)
        assert len(seen) == 5
        del kernel
        assert len(seen) == 6
        return
    kernel[1, 1](1)  # the CPU does not load modules
    assert seen == []
    reference = weakref.ref(kernel)
    loaded = _link.loader([(source.setup_callback, source.teardown_callback), (None, None)], reference)
    loaded(7)
    loaded(9)
    assert seen == [("setup", 7), ("setup", 9)]
    cuda.current_context().reset()
    assert sorted(seen[2:]) == [("teardown", 7), ("teardown", 9)]
    loaded(8)
    del kernel, loaded
    gc.collect()
    assert seen[-1] == ("teardown", 8)


@pytest.mark.skipif(not ON_GPU, reason="the CPU loads no modules")
def test_module_callbacks_may_launch_their_kernel() -> None:
    seen = []

    def launch(module: Any) -> None:
        seen.append(module.handle)
        x = np.zeros(1)
        kernel[1, 1](x)
        assert x[0] == 1
        if len(seen) == 1:
            kernel[1, 1](np.zeros(1, np.float32))  # loads its own module

    @cuda.jit(link=[cuda.CUSource("__device__ int number = 0;", setup_callback=launch)])
    def kernel(x):
        x[0] += 1

    y = np.zeros(1)
    kernel[1, 1](y)
    kernel[1, 1](y)
    assert y[0] == 2
    assert len(set(seen)) == len(seen) == 2


def add(x, y):
    return x + y


@pytest.mark.nvrtc
def test_compiled_device_functions_for_other_tools() -> None:
    ptx, returns = cuda.compile(add, "int32(int32, int32)", cc=(8, 0))
    assert returns is cuda.int32
    assert ".visible .func  (.param .b32 func_retval0) add(" in ptx
    ptx, returns = cuda.compile(add, (cuda.float32, cuda.float64), abi_info={"abi_name": "_Z3sumfd"}, cc=(9, 0))
    assert (returns, ".param .b64 func_retval0) _Z3sumfd(" in ptx) == (cuda.float64, True)
    ptx, _ = cuda.compile_ptx(lambda x: x, "int32(int32)", device=True)
    assert ".param .b32 func_retval0) _lambda_(" in ptx  # Numba's ABI: the result through a pointer, then 0
    code, _ = cuda.compile(lambda x: x / 2, "complex128(complex128)", output="ltoir", cc=(8, 0))
    assert isinstance(code, bytes)
    assert len(code) > 100
    [code], returns = cuda.compile_all(add, (cuda.int16, cuda.int16), output="ptx")
    assert returns == cuda.int64
    bounded, _ = cuda.compile_ptx(lambda: None, "void()", launch_bounds=(128, 2, 4), cc=(9, 0))
    assert ".maxntid 64" in cuda.compile_ptx(lambda: None, "void()", launch_bounds=64, cc=(9, 0))[0]
    assert all(word in bounded for word in (".maxntid 128", ".minnctapersm 2", ".maxclusterrank 4"))


def test_functions_not_exportable_to_other_tools() -> None:
    with pytest.raises(NotImplementedError, match="The C ABI is not supported for kernels"):
        cuda.compile(add, (cuda.int32,) * 2, device=False, abi="c")
    with pytest.raises(NotImplementedError, match="Unsupported ABI: fastcall"):
        cuda.compile_ptx(add, (cuda.int32,) * 2, abi="fastcall")
    with pytest.raises(NotImplementedError, match="numbers and arrays are"):
        cuda.compile(add, (cuda.types.UniTuple(cuda.int32, 2), cuda.int32))
    with pytest.raises(ValueError, match="Can only designate forced inlining in LTO-IR"):
        cuda.compile(add, (cuda.int32,) * 2, forceinline=True)


@pytest.mark.nvrtc
def test_exported_functions_take_arrays_as_members() -> None:
    def scaled(x, factor, y):
        i = cuda.grid(1)
        if i < y.shape[0]:
            y[i] = x[i, 0] * factor

    types = (cuda.float32[:, :], cuda.float64, cuda.float32[::1])
    # Numba's order: meminfo, parent, items, itemsize, data, extents, strides.
    for options, parts in (({"device": False}, 9 + 1 + 7), ({"abi": "c"}, 17), ({"abi": "numba"}, 18)):
        ptx, returns = cuda.compile(scaled, types, cc=(9, 0), **{"device": True, **options})
        assert returns == cuda.types.none
        assert f"scaled_param_{parts - 1}" in ptx and f"scaled_param_{parts}" not in ptx
    code = [cuda.compile(scaled, types, output="ltoir", forceinline=force)[0] for force in (False, True)]
    assert code[0] != code[1]
    with pytest.raises(TypeError, match="void return type"):
        cuda.compile(lambda x: x[0], (cuda.int32[::1],), device=False)


def test_ipc_handles_need_gpu_memory() -> None:
    a = cp.arange(3)
    if ON_GPU:
        handle = pickle.loads(pickle.dumps(a.get_ipc_handle()))
        assert handle._array_desc["shape"] == (3,)
        return
    with pytest.raises(RuntimeError, match="needs an array on a GPU"):
        a.get_ipc_handle()
    with pytest.raises(RuntimeError, match="need a GPU"), cuda.open_ipc_array(b"0" * 64, 3, int):
        pass


@cuda.jit
def first(a, n):
    a[0] = n


def test_opt_in_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first[1, 1](a, 1)
    monkeypatch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", 1)
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", 1)
    with pytest.warns(cuda.errors.NumbaPerformanceWarning, match=r"Grid size .+ low occupancy") as found:
        launch = first[1, 1]
    assert found[0].filename == __file__
    with pytest.warns(cuda.errors.NumbaPerformanceWarning, match=r"Host array used in CUDA kernel will incur.+copy"):
        launch(cuda.pinned_array(3), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = first[4096, 1]
        for quiet in (cuda.mapped_array(3), cuda.managed_array(3), cuda.device_array(3)):
            wide(quiet, 1)


def test_carveouts() -> None:
    for value in ("MaxL1", "MaxShared", "default", 0, 50, 100, -1):
        cuda.jit(shared_memory_carveout=value)(first.py_func)[1, 1](np.zeros(1), 2)
    for wrong, message in ((101, "between -1 and 100"), (-2, "between -1 and 100"), ("most", "Invalid carveout value")):
        with pytest.raises(ValueError, match=message):
            cuda.jit(shared_memory_carveout=wrong)


def test_kernels_without_a_name_are_pickled_by_their_code() -> None:
    offset = 3

    @cuda.jit(device=True)
    def inner(a):
        return a + offset

    @cuda.jit("void(int64[:])")
    def kernel(a):
        a[0] = inner(a[0])

    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(kernel))))
    a = np.zeros(1, int)
    again[1, 1](a)
    assert (a[0], again.specialized) == (3, True)
    launch = pickle.loads(pickle.dumps(again[5, (8, 2)]))
    assert (launch.griddim, launch.blockdim, launch.sharedmem) == ((5, 1, 1), (8, 2, 1), 0)
    assert pickle.loads(pickle.dumps(first)) is first

    @cuda.vectorize(["int64(int64)", "float64(float64)"])
    def double(x):
        return x * 2

    assert pickle.loads(pickle.dumps(double))(np.arange(3)).tolist() == [0, 2, 4]


def test_guvectorize_casts_within_a_kind() -> None:
    @cuda.guvectorize(["void(int32, int32[:], int32[:])"], "(),(t)->(t)")
    def scaled(a, b, out):
        for i in range(b.size):
            out[i] = a * b[i]

    b = np.arange(4, dtype=np.int32)
    assert scaled(np.int64(2), b).tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match=r"does not support \.astype\(\)"):
        scaled(cuda.to_device(np.array(2)), b)
    with pytest.raises(TypeError, match="No matching version"):
        scaled(2.5, b)


def test_debug_without_source_warns() -> None:
    space: dict[str, Any] = {}
    exec("def hidden(a):\n    a[0] = 3\n", space)
    a = np.zeros(1)
    with pytest.warns(cuda.errors.NumbaDebugInfoWarning, match="Could not find source for function"):
        cuda.jit(debug=True)(space["hidden"])[1, 1](a)
    assert a[0] == 3
