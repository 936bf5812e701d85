"""The engine. Dtypes are NumPy's names ("float32", "bfloat16", …); strides and offsets count elements unless said."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import numpy as np

from cuprous._core_array_methods import ArrayMethods
from cuprous._core_distributed import *  # noqa: F403
from cuprous._core_kernel import *  # noqa: F403
from cuprous._core_tensor import *  # noqa: F403

Scalar: TypeAlias = bool | int | float | complex
Operand: TypeAlias = "ndarray | Scalar | np.generic"

class OutOfMemoryError(MemoryError): ...

@final
class ndarray(ArrayMethods):
    """An N-dimensional array on a device. Operations on it are recorded and run when a value is needed."""

    def __new__(
        cls, shape: Any, dtype: Any = ..., memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> ndarray: ...

    # --- attributes, as numpy.ndarray's
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as NumPy's."""
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def T(self) -> ndarray: ...
    @property
    def base(self) -> ndarray | None:
        """For a view, the array that owns the memory; None for an array that owns its memory."""

    __array_priority__: int

    # --- what only the engine knows
    @property
    def dtype_name(self) -> str: ...
    @property
    def element_strides(self) -> tuple[int, ...]: ...
    @property
    def is_c_contiguous(self) -> bool: ...
    @property
    def is_f_contiguous(self) -> bool: ...
    @property
    def is_external(self) -> bool: ...
    @property
    def is_value(self) -> bool:
        """True for a scalar in NumPy's sense: an element or the 0-d result of an operation."""
    @property
    def is_element(self) -> bool:
        """True for an element `a[i]`, which is immutable; its views are views of a copy."""
    @property
    def device_name(self) -> str:
        """ "cpu", "cuda:0" or "auto"."""
    def address(self) -> int:
        """Address of the first element, after running what is pending. The memory counts as shared with other
        libraries from then on: operations on it run immediately."""
    def shares_storage(self, other: ndarray) -> bool: ...
    def span(self) -> tuple[int, int]:
        """First and last byte (exclusive) that the view touches, relative to its memory."""

    # --- native methods
    def item(self, *args: Any) -> Scalar: ...
    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray: ...
    def transpose(self, *axes: Any) -> ndarray: ...
    def copy(self, order: str | None = "C") -> ndarray:
        """A copy, computed when needed. "K" keeps the order of the axes in memory."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    # Operands of the operators: ndarray, Python scalars, NumPy scalars; others go to the hooks "operand" and "compare".
    # Integers, slices, None, Ellipsis and tuples of them index natively; every other key goes to the hook "getitem" /
    # "setitem". `@` goes to the hook "matmul". In-place operators check "same_kind" casting. An element (an integer for
    # each axis) and the 0-d result of an operation are values: in-place operators rebind. Elements cannot be written.
    def __class_getitem__(cls, item: Any, /) -> Any: ...
    def __getitem__(self, key: Any, /) -> ndarray: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __add__(self, o: Any, /) -> ndarray: ...
    def __radd__(self, o: Any, /) -> ndarray: ...
    def __iadd__(self, o: Any, /) -> ndarray: ...
    def __sub__(self, o: Any, /) -> ndarray: ...
    def __rsub__(self, o: Any, /) -> ndarray: ...
    def __mul__(self, o: Any, /) -> ndarray: ...
    def __rmul__(self, o: Any, /) -> ndarray: ...
    def __truediv__(self, o: Any, /) -> ndarray: ...
    def __rtruediv__(self, o: Any, /) -> ndarray: ...
    def __floordiv__(self, o: Any, /) -> ndarray: ...
    def __rfloordiv__(self, o: Any, /) -> ndarray: ...
    def __mod__(self, o: Any, /) -> ndarray: ...
    def __rmod__(self, o: Any, /) -> ndarray: ...
    def __pow__(self, o: Any, /) -> ndarray: ...
    def __rpow__(self, o: Any, /) -> ndarray: ...
    def __matmul__(self, o: Any, /) -> ndarray: ...
    def __rmatmul__(self, o: Any, /) -> ndarray: ...
    def __and__(self, o: Any, /) -> ndarray: ...
    def __rand__(self, o: Any, /) -> ndarray: ...
    def __or__(self, o: Any, /) -> ndarray: ...
    def __ror__(self, o: Any, /) -> ndarray: ...
    def __xor__(self, o: Any, /) -> ndarray: ...
    def __rxor__(self, o: Any, /) -> ndarray: ...
    def __lshift__(self, o: Any, /) -> ndarray: ...
    def __rlshift__(self, o: Any, /) -> ndarray: ...
    def __rshift__(self, o: Any, /) -> ndarray: ...
    def __rrshift__(self, o: Any, /) -> ndarray: ...
    def __isub__(self, o: Any, /) -> ndarray: ...
    def __imul__(self, o: Any, /) -> ndarray: ...
    def __itruediv__(self, o: Any, /) -> ndarray: ...
    def __ifloordiv__(self, o: Any, /) -> ndarray: ...
    def __imod__(self, o: Any, /) -> ndarray: ...
    def __ipow__(self, o: Any, /) -> ndarray: ...
    def __iand__(self, o: Any, /) -> ndarray: ...
    def __ior__(self, o: Any, /) -> ndarray: ...
    def __ixor__(self, o: Any, /) -> ndarray: ...
    def __ilshift__(self, o: Any, /) -> ndarray: ...
    def __irshift__(self, o: Any, /) -> ndarray: ...
    def __neg__(self) -> ndarray: ...
    def __pos__(self) -> ndarray: ...
    def __abs__(self) -> ndarray: ...
    def __invert__(self) -> ndarray: ...
    def __eq__(self, o: object, /) -> ndarray: ...  # type: ignore[override]
    def __ne__(self, o: object, /) -> ndarray: ...  # type: ignore[override]
    def __lt__(self, o: Any, /) -> ndarray: ...
    def __le__(self, o: Any, /) -> ndarray: ...
    def __gt__(self, o: Any, /) -> ndarray: ...
    def __ge__(self, o: Any, /) -> ndarray: ...

@final
class ufunc:
    """A NumPy universal function, by its name in the operation table. A call without keywords is native; with keywords
    it goes to the hook "ufunc_call" as hook(ufunc, args, kwargs). `reduce` and the other methods are added in
    Python."""

    def __new__(cls, name: str) -> ufunc: ...
    @property
    def _doc(self) -> str: ...
    @property
    def __name__(self) -> str: ...
    @property
    def nin(self) -> int: ...
    @property
    def nout(self) -> int: ...
    def __call__(self, *args: Any, **kwargs: Any) -> ndarray: ...
    @property
    def identity(self) -> Any: ...
    @property
    def nargs(self) -> int: ...
    @property
    def signature(self) -> None: ...
    @property
    def types(self) -> list[str]: ...
    @property
    def ntypes(self) -> int: ...
    def reduce(
        self,
        array: Any,
        /,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = True,
    ) -> ndarray: ...
    def accumulate(self, array: Any, /, axis: int = 0, dtype: Any = None, out: Any = None) -> ndarray: ...
    def outer(self, A: Any, B: Any, /, **kwargs: Any) -> ndarray: ...
    def reduceat(self, array: Any, /, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> ndarray: ...
    def at(self, a: ndarray, indices: Any, b: Any = None, /) -> None: ...

__version__: str

def set_hook(name: str, hook: Callable[..., Any]) -> None:
    """ "getitem"(array, key), "setitem"(array, key, value), "matmul"(a, b), "ufunc_call"(ufunc, args, kwargs),
    "operand"(array, other): converts the other operand of an operator, or returns None; "compare"(array, other, equal);
    "buffer"(array): raises if an array on the CPU does not export its memory."""

# --- elementwise: rows of the operation table by name ("add", "exp", "where", …). Broadcasts, promotes by NEP 50 and
# applies the row's dtype rule; `dtype` forces the dtype it computes in (operands are cast to it).
def map(name: str, *operands: Operand, dtype: str | None = None) -> ndarray: ...
def result_dtype(name: str, *operands: Operand) -> str:
    """Returns the dtype that `map` would return. Raises TypeError if NumPy has no loop."""

def cast(a: ndarray, dtype: str) -> ndarray:
    """Returns a new array of that dtype by C's casts (complex -> real drops the imaginary part). The storage is always
    new,
    and its axes have the order of a's axes in memory."""

def promote_types(a: str, b: str) -> str: ...
def can_cast(a: str, b: str, casting: str) -> bool:
    """casting: "no", "equiv", "safe", "same_kind", "unsafe"."""

# --- creation
def empty(shape: Sequence[int], dtype: str, like: ndarray | None = None) -> ndarray: ...
def full(
    shape: Sequence[int], value: Scalar, dtype: str, strict: bool = False, like: ndarray | None = None
) -> ndarray: ...
def iota(shape: Sequence[int], strides: Sequence[int], offset: int) -> ndarray:
    """int64: element i is offset + sum(strides * i). Needs no memory while it is fused."""

def random(
    name: str, shape: Sequence[int], seed: int, offset: int, parameter: ndarray | Scalar | None = None
) -> ndarray:
    """ "random_bits32", "random_bits64" (uint32, uint64), "random_unit32", "random_unit64" (floats in [0, 1)),
    "random_normal32", "random_normal64", and, with a parameter that broadcasts to the shape, "random_gamma" (float64),
    "random_poisson", "random_binomial" (int64; parameter complex128(n, p)). Element i of the stream (seed, offset) is
    the same on every device; one call uses ceil(size / 4) blocks (ceil(size / 2) for 64-bit names) from `offset` on.
    The rejection samplers mix seed and offset into their key."""

def from_numpy(a: np.ndarray[Any, Any], device: str | None = None) -> ndarray:
    """Copies a NumPy array (any strides; native byte order) to the device."""

def to_numpy(a: ndarray, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]: ...
def to_bytes(a: ndarray) -> bytes:
    """Returns the elements in C order; does not need NumPy."""

def to_device(a: ndarray, device: str) -> ndarray: ...
def decompose(name: str, a: ndarray, b: ndarray | None = None) -> ndarray:
    """A decomposition of the matrices in the last two axes (float32, float64, complex64 or complex128, not empty), by
    name: "cholesky[_upper]", "solve" (b: the right sides, of the same batch), "slogdet", "qr[_complete|_r|_raw]",
    "svd[_full]", "svdvals", "eigh[_upper]", "eigvalsh[_upper]", "eig", "eigvals". The result is flat: each result in
    turn for the whole batch (singular values before U and Vh), real vectors with zeros for imaginary parts, then one
    element that is nonzero if one of the matrices failed; the results of that matrix are NaN. The result of "eig" and
    "eigvals" is complex."""

def sparse_dot(values: ndarray, pattern: ndarray, dense: ndarray, rows: int, transposed: bool) -> ndarray:
    """A sparse matrix (compressed rows; columns, if transposed) times a dense one (n x k): rows x k.

    The pattern (int32 or int64) has the starts of the compressed axis, as many elements as the next multiple of 32
    holds, and the index of each value. float32, float64, complex64 and complex128."""

# --- views and writes
def as_strided(
    a: ndarray, shape: Sequence[int], strides: Sequence[int], offset: int, dtype: str | None = None
) -> ndarray:
    """A view of a's storage; strides in elements of the view's dtype, `offset` relative to a's first element in
    elements of the view's dtype. ValueError if it exceeds the storage."""

def broadcast_to(a: ndarray, shape: Sequence[int]) -> ndarray:
    """A view with zero strides."""

def without_base(a: ndarray) -> ndarray:
    """The same array without a base, for a result that is a view of an internal array."""

def update(a: ndarray, value: Operand) -> None:
    """a[...] = value: broadcasts, casts unsafely; overlapping source and target behave as if copied first."""

def gather(a: ndarray, index: ndarray) -> ndarray:
    """Elements of a's storage at a's first element + index (int64, in elements); an index outside the storage wraps.
    Result has index's shape."""

def scatter(a: ndarray, index: ndarray, value: Operand, op: str = "set") -> None:
    """Writes by index: "set" (of equal indices the last wins), "add", "multiply", "maximum", "minimum"."""

# --- reductions
def reduce(op: str, a: ndarray, axes: Sequence[int] | None, keepdims: bool = False) -> ndarray:
    """ "sum", "prod", "max", "min", "argmax", "argmin" (int64), "m2" (sum of squared deviations from the mean).
    Computes in a's dtype (float16 accumulates in float32). None reduces all axes. An empty max raises ValueError.
    The remaining axes keep their order in memory ("argmax" and "argmin": C order)."""

def int_range(a: ndarray) -> tuple[int, int]:
    """Returns the smallest and the largest element of an int64 array, which is copied to the host."""

def scan(op: str, a: ndarray, axis: int) -> ndarray:
    """Scan: "sum", "prod", "max", "min" in a's dtype; the result has a's memory order."""

# --- whole-array routines
def dot(a: ndarray, b: ndarray) -> ndarray:
    """(…, m, k) x (…, k, n) -> (…, m, n): equal dtypes and equal batch shapes (views with zero strides are fine)."""

def sort(a: ndarray) -> ndarray:
    """Along the last axis, stable, NaN last."""

def argsort(a: ndarray) -> ndarray: ...
def searchsorted(a: ndarray, v: ndarray, right: bool) -> ndarray:
    """a: sorted, 1-d; equal dtypes."""

def partition(a: ndarray, kth: int, indices: bool) -> ndarray:
    """Along the last axis; with `indices` the positions (int64)."""

def topk(a: ndarray, k: int, largest: bool) -> ndarray:
    """Positions (int64) of the k smallest along the last axis in ascending order, or of the k largest in descending
    order.
    Not for complex numbers."""

def select(a: ndarray, rank: int) -> ndarray:
    """The element that sorting puts at that rank of the last axis, which is removed; not for complex numbers."""

def pack_mask(mask: ndarray) -> ndarray:
    """A 1-d mask in the format of `compact` (int64). Element (n + 4095) // 4096 - 1 is the number of true elements."""

def compact(packed: ndarray, n: int, count: int, values: ndarray | None) -> ndarray:
    """The `count` values (1-d) of n where the packed mask is true, or their indices."""

def components(edges: ndarray, steps: Sequence[int]) -> ndarray:
    """The first element of each element's component (int32 if it suffices, else int64). edges: words x n, unsigned;
    element i is joined to element i - steps[b] if bit b is set in its words."""

def has_table_routines(a: ndarray) -> bool:
    """Whether the device has `group_ids`, `group_aggregate`, `join_match` and `join_pairs`."""

def group_ids(keys: ndarray, domain: int, mask: ndarray | None) -> ndarray:
    """keys: int64, from 0 below the domain unless it is 0. Elements of 2n + 1 (int32 if it suffices, else int64): the
    number of each row's group by the order of first rows, -1 where the mask is false; first rows; the number of
    groups."""

def group_aggregate(
    ids: ndarray, groups: int, functions: Sequence[str], values: ndarray | None, mask: ndarray | None
) -> ndarray:
    """functions x groups (int64, the bits of float64 for sums, minima and maxima of floats) of the rows whose id is not
    -1 and at which the mask is true. "sum", "count", "min", "max" (without NaN), "first" and "last" (rows, or -1)."""

def join_match(right: ndarray, left: ndarray, domain: int) -> ndarray:
    """Keys: int64 below the domain; negative ones equal none. For each left key the first equal right key, or -1; then
    the number of pairs, of left keys that have one, and the most pairs of a left key."""

def join_pairs(right: ndarray, left: ndarray, domain: int, pairs: int, keep_left: bool) -> ndarray:
    """2 x pairs: left and right rows of equal keys, in order; with `keep_left` also left rows without one, with -1."""

def correlate(
    a: ndarray, weights: ndarray, edge: str, constant: float, origin: Sequence[int], shape: Sequence[int] | None = None
) -> ndarray:
    """out[i] = sum_j weights[j] * a[i + j - origin] for i in shape (that of a); equal ndim and equal dtypes (float32,
    float64, int32 or int64); edge: "reflect", "constant", "nearest", "mirror", "wrap" as in scipy.ndimage."""

def pad(a: ndarray, before: Sequence[int], after: Sequence[int], edge: str, constant: float) -> ndarray: ...
def fft(a: ndarray, kind: str, axes: Sequence[int], n: int, divisor: str) -> ndarray:
    """Discrete Fourier transform along axes, of n points along the last of them, whose extent must equal the number of
    elements read, and of all elements along the others.

    kind: "forward", "backward" (complex -> complex), "whole" (real -> all values of "forward"), "real" (real -> the
    first n // 2 + 1 values of "forward" along the last axis; then "forward"), "half" ("backward"; then such values ->
    real along the last axis). divisor, along each: "one", "root" (of n), "points" (n). float32, float64, complex64 and
    complex128; the result has a's memory order."""

# --- running
def flush() -> None:
    """Submits the recorded operations."""

def synchronize() -> None:
    """Submits the recorded operations and waits for them."""

def explain() -> str:
    """Explains why the last programs were replayed or planned again."""

def show_code(a: ndarray | None = None, device: str | None = None) -> str:
    """Generated code of the pending program (or of the last one)."""

def set_device(name: str) -> None:
    """Device of new arrays: "cpu", "cuda", "cuda:0". Raises RuntimeError with the cause if it is unusable."""

def enter_device(name: str) -> int:
    """Makes a device the one of this thread's new arrays, or raises as `set_device`. Returns what `leave_device`
    restores."""

def enter_device_of(arguments: tuple[Any, ...]) -> int | None:
    """Does so with the device of the first array or tensor among arguments, or in a list among them. Returns None if
    nothing has changed."""

def leave_device(before: int) -> None:
    """Restores the device of this thread's new arrays after `enter_device` or `enter_device_of`."""

def get_device() -> str: ...
def device_count() -> int:
    """Number of usable GPUs, determined without initializing CUDA."""

def hip_version() -> str | None:
    """The version of HIP, such as "6.4", if the GPUs of this process are AMD's."""

def can_access_peer(device: int, peer: int) -> bool:
    """Whether a GPU can access the memory of another one."""

def unusable_gpu_reason() -> str | None:
    """Why a visible GPU cannot be used; None if it works or no GPU is visible."""

def set_library_roots(roots: Sequence[str]) -> None:
    """Directories of the `nvidia` package, where NVIDIA's wheels put their libraries."""

def set_replay(mode: str) -> None:
    """ "auto" (the default), "single" (each operation by itself, immediately), "fused" (no graph replay); for tests."""

def check_in_batches(size: int) -> None:
    """With CUPROUS_CHECK_CUDA: compiles the queued kernels and sets how many are compiled together. For tests."""

def stand_in_auto(faster: float, copies: float, launch: float) -> None:
    """Makes "auto" a device of two CPUs, the second of which counts as `faster` times as fast. For tests."""

def stand_in_device() -> str:
    """The name of a device that is a second CPU, for tests with several devices."""

def no_op(a: object) -> None:
    """Does nothing: the baseline for the cost of a call."""

def stats() -> dict[str, int]:
    """Counters: programs planned, replayed, launched, kernels compiled, nodes recorded, graph launches, …"""

def memory_stats(device: str) -> dict[str, int]:
    """used_bytes, free_bytes, total_bytes, limit_bytes, n_free_blocks, peak_bytes."""

def set_memory_limit(device: str, limit: int) -> None: ...
def reset_peak_memory(device: str) -> None:
    """Resets `peak_bytes` to the bytes in use."""

def trim_memory(device: str) -> None: ...
def device_properties(index: int = 0) -> dict[str, Any]: ...

# --- interop
def to_dlpack(a: ndarray, versioned: bool, stream: int | None, copy: bool) -> Any: ...
def from_dlpack(capsule: Any) -> ndarray: ...
def from_address(
    address: int, shape: Sequence[int], strides: Sequence[int], dtype: str, device: str, owner: Any
) -> ndarray:
    """A view (strides in elements) of memory that `owner` keeps alive; operations on it run immediately."""

# --- the command line
def cli(argv: Sequence[str]) -> int: ...

@final
class Counter:
    """An atomic 64-bit counter that wraps around."""

    def __new__(cls, value: int = 0) -> Counter: ...
    def take(self, count: int) -> int:
        """Adds `count` and returns the previous value."""
    value: int

@final
class WorkCounter:
    """Counts the work that the calling thread records until `end()`."""

    def __init__(self) -> None: ...
    def count(self, results: list[Any]) -> None: ...
    def end(self) -> None: ...
    def facts(self) -> dict[str, Any]: ...
    def on(self, device: str | None, gpu: bool, tf32: bool) -> dict[str, Any]: ...
    def compare(
        self, cpu: str | None, gpu: str | None, repeats: float, pinned: bool, startup: float | None, tf32: bool
    ) -> dict[str, Any]: ...
    @staticmethod
    def hint() -> str | None: ...

def device_side(name: str) -> int:
    """Returns 0 for the name of a CPU and 1 for that of a GPU."""

def quantity(value: float, unit: str) -> str:
    """Formats a quantity, such as "12.5 ms", "6 h 56 min" or "1.50 GB"."""

def parse_quantity(text: str, kind: str) -> float:
    """Parses a quantity such as "10,000 GFLOP" into SI units."""

def estimate_simple(
    flops: float, data: float, given: Sequence[float | None], startup: float | None, cpu: str | None, gpu: str | None
) -> dict[str, Any]:
    """Evaluates the simple formula, in SI units. `given` holds the CPU's and the GPU's rate and the bandwidth."""

def profiles() -> list[str]:
    """The names of all listed devices."""

@final
class Report:
    """The report of a profile that has ended."""

    def rows(self) -> list[dict[str, Any]]: ...
    def total(self) -> dict[str, Any]: ...
    def parts(self) -> list[tuple[str, int, float]]: ...
    def part_spans(self) -> list[tuple[str, float, float, float]]: ...
    def advice(self) -> list[str]: ...
    def table(self, limit: int, sort_by: str) -> str: ...
    def events(self) -> tuple[int, int]: ...
    def save_trace(self, path: str) -> None: ...
    def save_flame_graph(self, path: str) -> None: ...

def profile_begin() -> None:
    """Starts a profile of the whole process; RuntimeError if one is being recorded."""

def profile_end() -> Report:
    """Stops the profile."""

def is_profiling() -> bool:
    """Returns true while a profile is recorded."""

def profile_now() -> int:
    """The current time of the profile's clock, for the start of a part."""

def nvtx_push(name: str, color: int | None = None) -> int | None:
    """Begins a range for NVIDIA's tools and returns its depth; None if no tool listens."""

def nvtx_pop() -> int | None:
    """Ends the range that was begun last and returns its depth."""

def nvtx_mark(name: str, color: int | None = None) -> None:
    """Marks an event."""

def nvtx_start(name: str, color: int | None = None) -> int | None:
    """Begins a range that any thread may end with the number that is returned."""

def nvtx_end(range: int) -> None:
    """Ends a range by its number."""

def profile_part(name: str, start: int) -> None:
    """Records a part of the program that began at `start` and ends now."""

@final
class Stream:
    """A CUDA stream. All of Cuprous' work runs in order on one stream; other streams are for hand-over and waiting.
    `synchronize` and `query` cover Cuprous' work and the work of others on this stream."""

    def __new__(cls, pointer: int | None = None, non_blocking: bool = False) -> Stream: ...
    @property
    def ptr(self) -> int: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool: ...

@final
class Event:
    """A CUDA event on the device's stream; on the CPU a time stamp taken after all pending work."""

    def __new__(cls, timing: bool = True) -> Event: ...
    def record(self) -> None: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed_ms(self, later: Event) -> float: ...
