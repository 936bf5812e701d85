"""No argument is silently ignored: it has an effect, is a hint that cannot change the result, or raises."""

from __future__ import annotations

import ast
import inspect
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.cuda
import cuprous.random
import cuprous.scipy.ndimage
import cuprous.scipy.special
from tests.support import outcome

ROOT = pathlib.Path(inspect.getfile(cp)).parent

_ORDERED = "all work is in order on one stream"

#: Parameters that no code reads, by the reason why the result cannot depend on them.
_HINTS = {
    _ORDERED: """
        _common.pointers.copy_from_async.stream _common.pointers.copy_from_device_async.stream
        _common.pointers.copy_from_host_async.stream _common.pointers.copy_to_host_async.stream
        _common.pointers.memset_async.stream cuda._raw_kernels.__call__.stream
        cuda._reduction_kernel.__call__.stream cuda._elementwise_kernel.__call__.stream
        _array.interop.getitem.stream _array.interop.setitem.stream _array.interop.split_at.stream
        cuda._records.copy_to_device.stream cuda._records.copy_to_host.stream cuda._vectorize.__call__.stream
        cuda._vectorize.reduce.stream cuda.random.copy_to_device.stream cuda.random.copy_to_host.stream
        cuda.random.init_xoroshiro128p_states.stream cupyx.jit.__call__.stream cuda._reduce.__call__.stream
        cuda._stream.wait.stream _common.device.free_all_blocks.stream scipy.sparse._compressed.get.stream
        scipy.sparse._coo.get.stream""",
    "weakref gives its dead reference": "_array.interop.<lambda>._",
    "a choice between ways to one result": """
        cuda._reduction_kernel.__init__.reduce_dims cuda._elementwise_kernel.__init__.reduce_dims
        cuda._compile.compile.opt cuda._mapped.mapped_array.portable cuda._mapped.mapped_array_like.portable
        cuda._jit.jit.forceinline cuda._jit.jit.lto cuda._jit.jit.opt cuda._jit.jit.inline
        scipy.ndimage._binary.binary_erosion.brute_force scipy.ndimage._binary.binary_dilation.brute_force
        scipy.ndimage._binary.binary_opening.brute_force scipy.ndimage._binary.binary_closing.brute_force
        scipy.sparse.linalg._matfuncs.spsolve.use_umfpack""",
    "every copy goes through pinned memory": "cuda._arrays.pinned.arylist",
    "elements of a footprint are always along the last one": "scipy.ndimage._generic.called.axis",
    "there is one": "cuda._ipc.open_array.context",
    "always an error, which says how to launch": "cuda._jit.__call__.args cuda._jit.__call__.kwargs",
    "taken by __new__": "cuda._jit.__init__.args cuda._jit.__init__.options",
    "compiled code is always kept": "cuda._jit.jit.cache",
    "arrays have no subclasses": """
        _functions.creation.array.subok _functions.creation.copy.subok
        _functions.manipulation.broadcast_to.subok _functions.manipulation.broadcast_arrays.subok
        lib.stride_tricks.sliding_window_view.subok""",
    "every view can be written, as in CuPy": "lib.stride_tricks.sliding_window_view.writeable",
    "a transfer never outlives the call": """
        _functions.creation.asarray.blocking _functions.creation.array.blocking _array.interop.get.blocking""",
    "a permission to spoil the input, not an order": """
        _functions.quantiles._quantile.overwrite_input _functions.quantiles.median.overwrite_input
        scipy.fft._cosines.transform.overwrite_x scipy.fft._spectra.transform.overwrite_x
        scipy.signal._filters.detrend.overwrite_data""",
    "a permission to leave the result unsorted, not an order": "_functions.sets.unique.sorted",
    "a promise about the input, which needs none here": "_functions.sets.isin.assume_unique",
    "a permission to leave the sample in order, not an order": "random._generator.choice.shuffle",
    "Python's protocol: arrays hold no other objects": "_array.methods.deepcopy.memo",
    "Python's protocol: there are no subclasses": "_array.methods.construct.cls",
    "the bar of a download, and nothing is downloaded": """
        torchvision.models.alexnet.progress torchvision.models.make.progress""",
    "how far the result may be off, which it never is": "scipy.special._lambert.lambertw.tol",
    "an order of search, which changes the time it takes": "scipy.spatial.distance.directed_hausdorff.rng",
    "of the method 'gust', which is refused": "scipy.signal._recursive.filtfilt.irlen",
    "a callback's signature": "scipy.ndimage._linear.<lambda>.device",
    "Python's protocol: matrices hold no other objects": "scipy.sparse._base.__deepcopy__.memo",
    "missing files are an error that says that nothing is downloaded": "torchvision.datasets.__init__.download",
    "Pillow smooths in any case, as with torchvision": "torchvision.transforms.functional.resize.antialias",
    "all is always checked": "scipy.sparse._compressed.check_format.full_check",
    "the other format shares nothing": "scipy.sparse._coo.tocsc.copy scipy.sparse._coo.tocsr.copy",
    "an order of elimination, which changes rounding alone": "scipy.sparse.linalg._matfuncs.spsolve.permc_spec",
}
HINTS = {name: reason for reason, names in _HINTS.items() for name in names.split()}

#: PyCUDA: streams, and options of its compiler and cache folders.
_IN_ORDER = """
_gpuarray.set _gpuarray.set_async _gpuarray.get _gpuarray.get_async _gpuarray.fill _gpuarray.reverse _gpuarray.astype
_gpuarray.mul_add _gpuarray.any _gpuarray.all _memory.memcpy_htod_async _memory.memcpy_dtoh_async
_memory.memcpy_dtod_async _memory.pre_call _memory.post_call cumath.fmod cumath.atan2 cumath.frexp cumath.ldexp
cumath.modf cumath.function curandom.rand curandom.fill_uniform curandom.fill_normal curandom.fill_log_normal
curandom.fill_poisson curandom.gen_uniform curandom.gen_normal curandom.gen_log_normal curandom.gen_poisson
curandom.call_skip_ahead driver.record driver.prepared_async_call elementwise.__call__ gpuarray.to_gpu_async
gpuarray.arange gpuarray.take gpuarray.multi_take gpuarray.multi_put gpuarray.multi_take_put gpuarray.where
gpuarray.if_positive gpuarray.sum gpuarray.any gpuarray.all gpuarray.dot gpuarray.max gpuarray.min gpuarray.subset_sum
gpuarray.subset_dot gpuarray.subset_max gpuarray.subset_min gpuarray.function reduction.__call__ scan.__call__"""
_UNUSED = {
    "compiler.compile": "nvcc keep code cache_dir",
    "compiler.__init__": "nvcc keep arch code cache_dir log_size log_verbose cuda_libdir",
    "elementwise.__init__": "keep",
    "reduction.__init__": "keep",
}
HINTS |= {f"pycuda.{name}.stream": _ORDERED for name in _IN_ORDER.split()}
HINTS |= {
    f"pycuda.{name}.{parameter}": "NVRTC compiles, for the GPU that is here, and the driver links"
    for name, parameters in _UNUSED.items()
    for parameter in parameters.split()
}
HINTS |= {
    "pycuda._gpuarray.set.async_": "a transfer never outlives the call",
    "pycuda._gpuarray.get.async_": "a transfer never outlives the call",
    "pycuda._gpuarray.get.pagelocked": "every copy goes through pinned memory",
    "pycuda._memory.mem_alloc_pitch.access_size": "rows begin at multiples of 512 bytes, which suits all sizes",
    "pycuda.compiler.<lambda>._": "a callback's signature",
    "pycuda.driver.make_context.flags": "how the host waits",
    "pycuda.driver.__init__.flags": "how one waits for a stream or an event",
    "pycuda.gpuarray.splay.dev": "a shape of launch that suits every GPU",
    "pycuda.scan.__call__.allocator": "a scan goes to memory that is there",
    "pycuda.scan._store.neutral": "of the other kind of scan",
}

Function = ast.FunctionDef | ast.Lambda


def _functions() -> Iterator[tuple[str, Function]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] == "torch" or parts[:2] == ("_tools", "demo"):
            continue
        module = ".".join(part for part in parts if part != "__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                yield f"{module}.{getattr(node, 'name', '<lambda>')}", node


def _unread(function: Function) -> list[str]:
    """Returns the parameters that no expression of the body reads."""
    args = function.args
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if a is not None]
    body = function.body if isinstance(function.body, list) else [function.body]
    read = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return [name for name in names if name not in read]


def _is_declaration(function: Function) -> bool:
    """Returns true for overloads (the body is an ellipsis) and functions that only raise, such as abstract methods."""
    body = function.body
    if not isinstance(body, list):
        return False
    *doc, last = body
    return all(isinstance(part, ast.Expr) for part in doc) and (
        isinstance(last, ast.Raise) or ast.unparse(last) in ("...", "return NotImplemented")
    )


def test_every_parameter_is_read_or_a_known_hint() -> None:
    unread = set()
    for name, function in _functions():
        if not _is_declaration(function):
            unread |= {f"{name}.{p}" for p in _unread(function) if p != "self" and not name.endswith(".__exit__")}
    assert unread == set(HINTS)


def test_the_check_sees_an_ignored_parameter() -> None:
    ignored = ast.parse("def f(a, /, b, *c, d, e=1, **g):\n    del d\n    e = 2\n    return a + b").body[0]
    assert isinstance(ignored, ast.FunctionDef)
    assert _unread(ignored) == ["d", "e", "c", "g"]


def test_arrays_have_no_subclasses() -> None:
    with pytest.raises(TypeError):
        type("Mine", (cp.ndarray,), {})


def test_hints_change_no_result() -> None:
    a = cp.asarray(np.array([3.0, 1, 2, 1]))
    spoiled = a.copy()
    assert float(cp.median(spoiled, overwrite_input=True)) == 1.5
    assert float(cp.percentile(spoiled, 50, overwrite_input=True)) == 1.5
    assert spoiled.tolist() == a.tolist()
    for hint in (True, False):
        assert cp.isin(a, [1], assume_unique=hint).tolist() == [False, True, False, True]
        assert cp.unique(a, sorted=hint).tolist() == [1, 2, 3]
        assert cp.array(a, subok=hint, blocking=hint).tolist() == a.tolist()
        assert cp.asarray([1], blocking=hint).tolist() == [1]
        assert a.get(blocking=hint).tolist() == a.tolist()
        assert sorted(cp.random.default_rng(0).choice(4, 4, replace=False, shuffle=hint).tolist()) == [0, 1, 2, 3]
    for kind in (None, "quicksort", "mergesort", "heapsort", "stable"):
        assert cp.sort(a, kind=kind).tolist() == [1, 1, 2, 3]
    for kind in (None, "sort", "table"):
        assert cp.isin(a.astype(int), [1], kind=kind).tolist() == [False, True, False, True]


#: Values that NumPy rejects too.
CHECKED: dict[str, Callable[[Any, Any], Any]] = {
    "ufunc subok": lambda xp, a: xp.add(a, 1, subok=2),
    "matmul subok": lambda xp, a: xp.matmul(a, a, subok="x"),
    "zeros_like subok": lambda xp, a: xp.zeros_like(a, subok="x"),
    "astype subok": lambda xp, a: a.astype(int, subok="x"),
    "ufunc casting": lambda xp, a: xp.add(a, 1, casting="loose"),
    "ufunc order": lambda xp, a: xp.add(a, 1, order="Z"),
    "divmod order": lambda xp, a: xp.divmod(a, 1, order="Z"),
    "ufunc keyword": lambda xp, a: xp.add(a, 1, wehre=True),
    "sort kind": lambda xp, a: xp.sort(a, kind="bogo"),
    "partition kind": lambda xp, a: xp.partition(a, 1, kind="bogo"),
    "sort order": lambda xp, a: xp.sort(a, order="x"),
    "sort kind and stable": lambda xp, a: xp.sort(a, kind="stable", stable=True),
    "isin kind": lambda xp, a: xp.isin(a, a, kind="bogo"),
    "shares_memory max_work": lambda xp, a: xp.shares_memory(a, a, max_work="x"),
    "histogram_bin_edges weights": lambda xp, a: xp.histogram_bin_edges(a, weights=xp.ones(7)),
    "array namespace": lambda xp, a: a.__array_namespace__(api_version="1999.12"),
    "reshape order": lambda xp, a: a.reshape(3, order="K"),
    "copy order": lambda xp, a: a.copy("Z"),
    "clip bounds twice": lambda xp, a: xp.clip(a, a_min=1, a_max=2, min=1),
    "var ddof twice": lambda xp, a: xp.var(a, ddof=1, correction=1),
    "load mode": lambda xp, a: xp.load("no such file", mmap_mode="bogo"),
}


@pytest.mark.parametrize("name", CHECKED)
def test_values_are_checked_as_numpy_does(name: str) -> None:
    expected = outcome(lambda: CHECKED[name](np, np.ones(3)))
    actual = outcome(lambda: CHECKED[name](cp, cp.ones(3)))
    assert isinstance(expected, Exception)
    assert isinstance(actual, Exception), actual
    assert type(actual) is type(expected) or isinstance(expected, type(actual)), (actual, expected)


#: Unsupported calls: (call, words of the message).
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "ufunc signature": (lambda: cp.add(cp.ones(2), 1, signature="dd->d"), "signature.*dtype="),
    "ndarray strides": (lambda: cp.ndarray((2,), strides=(8,)), "strides"),
    "stream priority": (lambda: cp.cuda.Stream(priority=1), "Stream.*priority"),
    "stream ptds": (lambda: cp.cuda.Stream(ptds=True), "Stream.*ptds"),
    "event interprocess": (lambda: cp.cuda.Event(interprocess=True), "Event.*interprocess"),
    "special where": (lambda: cp.scipy.special.erf(cp.ones(2), where=cp.ones(2) > 0), "erf.*where"),
    "legacy state": (lambda: cp.random.RandomState(0).get_state(legacy=True), "get_state.*legacy"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_says_so(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(NotImplementedError, match=words):
        call()


def test_fuse_takes_cupys_arguments_only() -> None:
    assert cp.fuse(kernel_name="mine")(len) is len
    assert cp.fuse(len) is len
    with pytest.raises(TypeError):
        cp.fuse(kernel="mine")
    with pytest.raises(TypeError):
        cp.fuse("mine")


def test_transfers_wait_for_the_stream_named() -> None:
    waited = []
    stream = type("Theirs", (), {"synchronize": lambda self: waited.append(self)})()
    a = cp.zeros(3)
    a.set(np.ones(3), stream=stream)
    assert a.get(stream=stream).tolist() == [1, 1, 1]
    assert cp.asnumpy(a, stream=stream).tolist() == [1, 1, 1]
    a.to_device(cp.get_device(), stream=stream)
    cp.cuda.Event().record(stream)
    assert waited == [stream] * 5
    with pytest.raises(TypeError, match=r"\[get\] stream"):
        a.get(stream=7)


def test_an_event_without_timing_measures_nothing() -> None:
    start, end = cp.cuda.Event(disable_timing=True), cp.cuda.Event()
    start.record()
    end.record()
    with pytest.raises(ValueError, match="disable_timing"):
        cp.cuda.get_elapsed_time(start, end)


def test_max_work() -> None:
    for xp in (np, cp):
        a = xp.ones(8)
        evens, odds = a[::2], a[1::2]
        assert not xp.shares_memory(evens, odds)
        assert xp.may_share_memory(evens, odds)
        assert xp.may_share_memory(evens, odds, max_work=0)
        assert not xp.may_share_memory(evens, odds, max_work=100)
        with pytest.raises(np.exceptions.TooHardError):
            xp.shares_memory(evens, odds, max_work=0)
