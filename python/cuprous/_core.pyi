"""The engine. Dtypes are NumPy's names ("float32", "bfloat16", …); strides and offsets count elements unless said."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Scalar: TypeAlias = bool | int | float | complex
Operand: TypeAlias = "ndarray | Scalar | np.generic"

class OutOfMemoryError(MemoryError): ...

class ndarray:
    """An N-dimensional array on a device. Operations on it are recorded and run when a value is needed."""

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
    def __getitem__(self, key: Any) -> ndarray: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __add__(self, o: Any) -> ndarray: ...
    def __radd__(self, o: Any) -> ndarray: ...
    def __iadd__(self, o: Any) -> ndarray: ...
    def __sub__(self, o: Any) -> ndarray: ...
    def __rsub__(self, o: Any) -> ndarray: ...
    def __mul__(self, o: Any) -> ndarray: ...
    def __rmul__(self, o: Any) -> ndarray: ...
    def __truediv__(self, o: Any) -> ndarray: ...
    def __rtruediv__(self, o: Any) -> ndarray: ...
    def __floordiv__(self, o: Any) -> ndarray: ...
    def __rfloordiv__(self, o: Any) -> ndarray: ...
    def __mod__(self, o: Any) -> ndarray: ...
    def __rmod__(self, o: Any) -> ndarray: ...
    def __pow__(self, o: Any) -> ndarray: ...
    def __rpow__(self, o: Any) -> ndarray: ...
    def __matmul__(self, o: Any) -> ndarray: ...
    def __rmatmul__(self, o: Any) -> ndarray: ...
    def __and__(self, o: Any) -> ndarray: ...
    def __rand__(self, o: Any) -> ndarray: ...
    def __or__(self, o: Any) -> ndarray: ...
    def __ror__(self, o: Any) -> ndarray: ...
    def __xor__(self, o: Any) -> ndarray: ...
    def __rxor__(self, o: Any) -> ndarray: ...
    def __lshift__(self, o: Any) -> ndarray: ...
    def __rshift__(self, o: Any) -> ndarray: ...
    def __neg__(self) -> ndarray: ...
    def __pos__(self) -> ndarray: ...
    def __abs__(self) -> ndarray: ...
    def __invert__(self) -> ndarray: ...
    def __eq__(self, o: object) -> ndarray: ...  # type: ignore[override]
    def __ne__(self, o: object) -> ndarray: ...  # type: ignore[override]
    def __lt__(self, o: Any) -> ndarray: ...
    def __le__(self, o: Any) -> ndarray: ...
    def __gt__(self, o: Any) -> ndarray: ...
    def __ge__(self, o: Any) -> ndarray: ...

class ufunc:
    """A NumPy universal function, by its name in the operation table. A call without keywords is native; with keywords
    it goes to the hook "ufunc_call" as hook(ufunc, args, kwargs). `reduce` and the other methods are added in
    Python."""

    def __init__(self, name: str) -> None: ...
    @property
    def _doc(self) -> str: ...
    @property
    def __name__(self) -> str: ...
    @property
    def nin(self) -> int: ...
    @property
    def nout(self) -> int: ...
    def __call__(self, *args: Any, **kwargs: Any) -> ndarray: ...

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
def empty(shape: Sequence[int], dtype: str) -> ndarray: ...
def full(shape: Sequence[int], value: Scalar, dtype: str, strict: bool = False) -> ndarray: ...
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

def correlate(a: ndarray, weights: ndarray, edge: str, constant: float, origin: Sequence[int]) -> ndarray:
    """out[i] = sum_j weights[j] * a[i + j - origin]; equal ndim and equal dtypes (float32 or float64); edge:
    "reflect", "constant", "nearest", "mirror", "wrap" as in scipy.ndimage."""

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

def get_device() -> str: ...
def device_count() -> int:
    """Number of usable GPUs, determined without initializing CUDA."""

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

class Counter:
    """An atomic 64-bit counter that wraps around."""

    def __init__(self, value: int = 0) -> None: ...
    def take(self, count: int) -> int:
        """Adds `count` and returns the previous value."""
    value: int

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

class Stream:
    """A CUDA stream. All of Cuprous' work runs in order on one stream; other streams are for hand-over and waiting.
    `synchronize` and `query` cover Cuprous' work and the work of others on this stream."""

    def __init__(self, pointer: int | None = None, non_blocking: bool = False) -> None: ...
    @property
    def ptr(self) -> int: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool: ...

class Event:
    """A CUDA event on the device's stream; on the CPU a time stamp taken after all pending work."""

    def __init__(self, timing: bool = True) -> None: ...
    def record(self) -> None: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed_ms(self, later: Event) -> float: ...

# --- tensors, for `cuprous.torch`. Methods and attributes that Python adds (cuprous/torch/_tensor.py) are
# not declared here one by one.

class Node:
    """A node of the graph, as `grad_fn` shows it."""

    def name(self) -> str: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: ...

class Tensor:
    """An array and its position in the autograd graph."""

    def __new__(cls, *args: Any, requires_grad: bool = False, **kwargs: Any) -> Any: ...
    @property
    def shape(self) -> Any:
        """A `torch.Size`; `dims` is the same as a plain tuple."""
    @property
    def dims(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def dtype_name(self) -> str: ...
    @property
    def device(self) -> Any: ...
    @property
    def device_name(self) -> str: ...
    @property
    def is_leaf(self) -> bool: ...
    @property
    def grad_fn(self) -> Node | None: ...
    requires_grad: bool
    grad: Tensor | None
    data: Tensor
    def as_array(self) -> ndarray:
        """The same memory as an array."""
    def stride_tuple(self) -> tuple[int, ...]: ...
    def add_hook(self, hook: Callable[[Tensor], Tensor | None]) -> int: ...
    def add_after_hook(self, hook: Callable[[], Any]) -> int: ...
    def remove_hook(self, id: int) -> None: ...
    def item(self) -> Any: ...
    def detach(self) -> Tensor: ...
    def leave_graph(self) -> None: ...
    def numel(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __iter__(self) -> Any: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __add__(self, o: Any) -> Tensor: ...
    def __radd__(self, o: Any) -> Tensor: ...
    def __sub__(self, o: Any) -> Tensor: ...
    def __rsub__(self, o: Any) -> Tensor: ...
    def __mul__(self, o: Any) -> Tensor: ...
    def __rmul__(self, o: Any) -> Tensor: ...
    def __truediv__(self, o: Any) -> Tensor: ...
    def __rtruediv__(self, o: Any) -> Tensor: ...
    def __floordiv__(self, o: Any) -> Tensor: ...
    def __mod__(self, o: Any) -> Tensor: ...
    def __pow__(self, o: Any) -> Tensor: ...
    def __rpow__(self, o: Any) -> Tensor: ...
    def __matmul__(self, o: Any) -> Tensor: ...
    def __and__(self, o: Any) -> Tensor: ...
    def __or__(self, o: Any) -> Tensor: ...
    def __xor__(self, o: Any) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __eq__(self, o: object) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, o: object) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, o: Any) -> Tensor: ...
    def __le__(self, o: Any) -> Tensor: ...
    def __gt__(self, o: Any) -> Tensor: ...
    def __ge__(self, o: Any) -> Tensor: ...
    def __hash__(self) -> int: ...

def t_wrap(a: ndarray) -> Tensor:
    """A tensor on an array's memory."""

def t_empty(shape: Sequence[int], dtype: str, device: str) -> Tensor: ...
def t_full(shape: Sequence[int], value: Any, dtype: str, device: str) -> Tensor: ...
def t_iota(shape: Sequence[int], strides: Sequence[int], offset: int, device: str) -> Tensor: ...
def t_random(name: str, shape: Sequence[int], seed: int, offset: int, device: str) -> Tensor: ...
def t_map(name: str, a: Any, b: Any = None, c: Any = None, dtype: str | None = None) -> Tensor:
    """A scalar function, in the dtype that PyTorch computes it in, or in `dtype`."""

def t_map_wide(name: str, a: Any, b: Any = None) -> Tensor:
    """A scalar function that is computed in float32 under `autocast` on GPUs."""

def t_map_inplace(name: str, target: Tensor, a: Any = None, b: Any = None) -> None:
    """Writes a function of a tensor and other operands into the tensor."""

def t_result_type(*args: Any) -> str: ...
def t_promote_types(a: str, b: str) -> str: ...
def t_default_dtype() -> str: ...
def t_set_default_dtype(name: str) -> None: ...
def t_cast(t: Tensor, dtype: str) -> Tensor:
    """A copy, also in the same dtype."""

def autocast_enabled() -> bool: ...
def autocast_dtype(device_type: str) -> str | None: ...
def set_autocast_dtype(device_type: str, dtype: str | None) -> str | None: ...
def t_operand(t: Tensor, dtype: str | None, widen: bool, on_cpu: bool) -> Tensor:
    """The operand of a reduction or softmax: in the dtype given, or float32 under `autocast`, or int64 with `widen`."""

def t_to_half(t: Tensor) -> Tensor: ...
def t_to_float32(t: Tensor) -> Tensor: ...
def t_to_device(t: Tensor, device: str, non_blocking: bool = False) -> Tensor: ...
def t_pin(t: Tensor) -> Tensor:
    """A copy of a tensor in page-locked host memory, from which the GPU copies asynchronously."""

def t_is_pinned(t: Tensor) -> bool: ...
def t_contiguous(t: Tensor) -> Tensor: ...
def t_reduce(op: str, t: Tensor, dims: Sequence[int] | None = None, keepdim: bool = False) -> Tensor: ...
def t_scan(op: str, t: Tensor, dim: int) -> Tensor: ...
def t_strided(t: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Tensor:
    """A view; the offset counts from the tensor's first element."""

def t_reshape(t: Tensor, shape: Sequence[int], view: bool) -> Tensor: ...
def t_permute(t: Tensor, dims: Sequence[int]) -> Tensor: ...
def t_expand(t: Tensor, shape: Sequence[int]) -> Tensor: ...
def t_gather(t: Tensor, index: ndarray) -> Tensor:
    """Elements by offset (int64) from the first of a tensor from `t_indexable`, in its storage."""

def t_indexable(t: Tensor) -> Tensor:
    """The tensor, or a copy if gradients by index will be recorded and elements share memory."""

def t_scatter(t: Tensor, index: ndarray, value: Any, op: str = "set") -> None: ...
def t_assign(target: Tensor, result: Tensor) -> None: ...
def t_update(t: Tensor, value: Any) -> None: ...
def t_cat(tensors: Sequence[Tensor], dim: int) -> Tensor: ...
def t_matmul(a: Tensor, b: Tensor) -> Tensor: ...
def t_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: ...
def t_convolution(
    part: str, a: Tensor, b: Tensor, input: Sequence[int], kernel: Sequence[int], output: Sequence[int],
    stride: Sequence[int], dilation: Sequence[int], before: Sequence[int], groups: int,
) -> Tensor:  # fmt: skip
    """One of the three products of a convolution: "output" (of input and weights), "input" (of output and weights) or
    "weight" (of output and input); extents and widths for each spatial axis."""

def t_attention(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> Tensor | None:
    """`softmax(scale * q @ k.T) @ v` of float16 or bfloat16 (batch, heads, rows, features) by a routine of the device;
    None if it has no routine for these operands."""

def t_recurrent(
    mode: str, x: Tensor, states: Sequence[Tensor], parameters: Sequence[Tensor], layers: int, both: bool
) -> list[Tensor] | None:
    """Recurrent layers over (steps, batch, features) by a routine of the device: outputs and last states; None if it
    has
    no routine for these operands."""

def t_check_classes(target: Tensor, classes: int, ignore: int) -> None:
    """Raises for targets out of bounds, on the CPU and if they are in memory already."""

def t_lstm_steps(reverse: bool, training: bool, x: Tensor, weight: Tensor, h: Tensor, c: Tensor) -> list[Tensor] | None:
    """The steps of one direction of an LSTM layer by a routine of the device, not recorded for gradients: outputs, h,
    c,
    and the residual for `t_lstm_steps_backward`; None if it has no routine for these operands."""

def t_lstm_steps_backward(
    reverse: bool, weight: Tensor, done: Tensor, outputs: Tensor, dh: Tensor, dc: Tensor, c: Tensor
) -> list[Tensor]:
    """The backward pass: the gradients of the input's part, of h and of c."""

def has_cudnn() -> bool: ...
def set_convolution_tf32(on: bool) -> bool:
    """Sets whether float32 convolutions may round their operands to TF32 on GPUs; returns the previous setting."""

def t_adam(
    params: list[Tensor], gradients: list[Tensor] | None, means: list[Tensor], squares: list[Tensor],
    tops: list[Tensor] | None, settings: tuple[float, float, float, float, float, float, float],
) -> None:  # fmt: skip
    """One step of Adam, by the parameters' own gradients unless others are given; settings: beta1, beta2, eps,
    lr / (1 - beta1^t), sqrt(1 - beta2^t), decay, and the factor of the
    parameters by decoupled decay."""

def t_with_gradients(params: list[Tensor]) -> list[Tensor]:
    """The parameters that have a gradient; the list itself if all have."""

def t_mse_loss(a: Tensor, b: Tensor) -> Tensor | None:
    """The mean of the squared differences of float tensors of one shape; None for other tensors."""

def t_softmax(t: Tensor, dim: int, log: bool) -> Tensor:
    """The softmax along a dimension, or its logarithm; float16 and bfloat16 are computed in float32 and rounded
    once."""

def t_log_likelihood(t: Tensor, index: Tensor, dim: int) -> Tensor:
    """The logarithm of the softmax along a dimension at the positions in `index` (int64, all other dimensions)."""

def t_cross_entropy(t: Tensor, target: Tensor, ignore: int) -> Tensor | None:
    """The mean of `-log(softmax(t))` at the targets (int64; classes are dimension 1 of 2), of those that are not
    `ignore`; None for other tensors."""

def t_relu(t: Tensor) -> Tensor: ...
def t_gelu(t: Tensor) -> Tensor: ...
def t_layer_norm(t: Tensor, dims: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """The last `dims` dimensions normalized to mean 0 and variance 1, then scaled and shifted."""

def t_max_pool(t: Tensor, kernel: Sequence[int]) -> Tensor | None:
    """The largest element of each window, without overlap, along the last dimensions; None if it is not supported
    here."""

def t_clear_gradients(params: list[Tensor]) -> None: ...
def t_backward(
    tensors: Sequence[Tensor], gradients: Sequence[Tensor | None], retain_graph: bool | None, create_graph: bool,
    inputs: Sequence[Tensor] | None,
) -> None: ...  # fmt: skip
def t_grad(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], gradients: Sequence[Tensor | None],
    retain_graph: bool | None, create_graph: bool,
) -> list[Tensor | None]: ...  # fmt: skip
def t_at_backward_end(function: Callable[[], Any]) -> None:
    """Calls a function when the outermost backward pass has reached all leaves."""

def t_custom(
    name: str, outputs: Sequence[Tensor], inputs: Sequence[Tensor],
    rule: Callable[[list[Any], Any], tuple[Any, ...]], saved: list[Any],
) -> list[Tensor]: ...  # fmt: skip

class Saved:
    """A tensor as it was when it was saved."""

    def tensor(self) -> Tensor: ...

def t_save(t: Tensor) -> Saved:
    """Saves the tensor as it is now; later writes do not change what was saved."""

def t_replace_memory(t: Tensor, other: Tensor | None = None) -> None:
    """Gives a tensor the memory of another one with the same contents, which is not a write; None frees it, and reading
    the tensor is an error until it is replaced."""

def t_mark() -> int:
    """The current point in time for `t_checkpoint`."""

def t_checkpoint(
    outputs: Sequence[Tensor], start: int, again: Callable[[], list[Tensor]], saved: list[Any]
) -> list[Tensor]:
    """Checkpoints results that were computed after `start`: `again` recomputes them when their gradients arrive.
    `saved`
    is cleared when the graph is freed."""

def t_other_leaves(results: Sequence[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Returns true if results depend on leaves that are not among the inputs."""

def set_anomaly(to: str) -> str:
    """Sets what is checked during backward passes: "off", "lines" or "nan"; returns the previous setting."""

def set_grad_enabled(on: bool) -> bool:
    """Enables or disables recording for gradients; returns the previous setting."""

def is_grad_enabled() -> bool: ...

# --- kernels

class Kernel:
    """A function for devices. Types are keys: ("float32",), ("array", "float32", 2, "C"), ("tuple", a), ("none",)."""

    def __new__(
        cls,
        function: Callable[..., Any],
        params: Sequence[tuple[str, Sequence[Any]]],
        fastmath: bool = False,
        fma: bool = True,
        max_registers: int | None = None,
        launch_bounds: Sequence[int] | None = None,
        lineinfo: bool = False,
        checks: tuple[bool, bool, bool] = (True, False, False),
        device: bool = False,
        linked: str = "",
        extra: Sequence[str] = (),
        objects: Sequence[tuple[str, str, bytes]] = (),
        on_load: Callable[[int], None] | None = None,
    ) -> Kernel: ...
    def forget(self) -> None: ...
    @property
    def py_func(self) -> Callable[..., Any]: ...
    def __getitem__(self, key: Any) -> Launcher: ...
    def compile_for(self, keys: Sequence[tuple[Any, ...]], kernel: bool = True) -> None: ...
    def compiled_types(self) -> list[tuple[tuple[Any, ...], ...]]: ...
    def listing(self) -> list[tuple[tuple[tuple[Any, ...], ...], str, dict[str, int], str]]:
        """For each overload: types, CUDA C++, attributes reported by the device, and the code that runs."""
    def resident_blocks(self, overload: int, threads: int, shared: int) -> int:
        """How many blocks can be resident at once, for the overload at that index of the listing."""
    def device_code(
        self, keys: Sequence[tuple[Any, ...]], name: str
    ) -> tuple[str, str, str, list[str], tuple[Any, ...]]:
        """CUDA C++ with the prelude, name there, C++ types of the result and the parameters, and the result type's
        key."""
    def cuda_code(self, keys: Sequence[tuple[Any, ...]], whole: bool = False, kernel: bool = True) -> str: ...

class Launcher:
    griddim: tuple[int, int, int]
    blockdim: tuple[int, int, int]
    sharedmem: int
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...

class NativeModule:
    def __new__(cls, code: bytes, binary: bool, name: str, options: Sequence[str]) -> NativeModule: ...
    def kernel(self, name: str) -> NativeKernel: ...
    def variable(self, name: str) -> tuple[int, int]: ...

class NativeKernel:
    def facts(self) -> dict[str, int]: ...
    def __call__(self, grid: Any, block: Any, args: Any, shared: int = 0, cooperative: bool = False) -> None: ...

def kernel_builtins() -> list[str]: ...
def missing_header(log: str) -> str | None: ...
def link_code(code: bytes, objects: Sequence[tuple[str, str, bytes]], name: str) -> bytes: ...
def load_cached_code(parts: Sequence[bytes]) -> bytes | None: ...
def store_cached_code(parts: Sequence[bytes], code: bytes) -> None: ...
def declare_linked(name: str, params: Sequence[tuple[Any, ...]], ret: tuple[Any, ...], pointer: bool) -> str: ...
def kernel_warnings(few_blocks: bool, host_arrays: bool) -> None: ...

# --- several processes: cuprous.torch.distributed
class DistError(RuntimeError): ...
class DistBackendError(DistError): ...
class DistNetworkError(DistError): ...
class DistStoreError(DistError): ...

def dist_status_text(status: int) -> str:
    """Describes a wait status of a process: its exit code or signal."""

class DistStore:
    """A key-value store. Times are seconds."""

    @staticmethod
    def tcp(host: str, port: int, is_master: bool, timeout: float) -> DistStore: ...
    @staticmethod
    def file(path: str, users: int | None) -> DistStore: ...
    @staticmethod
    def memory() -> DistStore: ...
    def prefixed(self, prefix: str) -> DistStore: ...
    @property
    def port(self) -> int | None: ...
    def set(self, key: str, value: bytes) -> None: ...
    def get(self, key: str, timeout: float) -> bytes: ...
    def add(self, key: str, amount: int) -> int: ...
    def check(self, keys: list[str]) -> bool: ...
    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes: ...
    def delete_key(self, key: str) -> bool: ...
    def num_keys(self) -> int: ...
    def append(self, key: str, value: bytes) -> None: ...
    def wait(self, keys: list[str], timeout: float) -> None: ...

class DistSession:
    """The ranks of a job, as this process sees them."""

    def __init__(
        self,
        store: DistStore,
        rank: int,
        world: int,
        master: tuple[str, int] | None,
        token: bytes | None,
        timeout: float,
        statuses: DistStore | None,
    ) -> None: ...
    def fail(self, text: str) -> None:
        """Ends the job on all ranks with a message."""

    def leave(self) -> None: ...
    def verdict(self) -> str | None: ...
    def name(self, rank: int) -> str: ...

class DistWork:
    """An operation under way."""

    def wait(self, timeout: float | None = None) -> bool: ...
    def is_completed(self) -> bool: ...
    def exception(self) -> BaseException | None: ...
    def source(self) -> int | None: ...

class DistGroup:
    """Ranks that perform collectives together."""

    def __init__(
        self, session: DistSession, store: DistStore, number: int, ranks: list[int], timeout: float
    ) -> None: ...
    def collective(
        self,
        op: str,
        inputs: list[Tensor],
        outputs: list[Tensor],
        reduce: str | None,
        root: int | None,
        is_async: bool,
        timeout: float | None,
    ) -> DistWork | None: ...
    def message(self, is_send: bool, peer: int | None, tag: int, tensor: Tensor) -> DistWork: ...
    def end(self, timeout: float) -> None: ...
    @property
    def ranks(self) -> list[int]: ...
    @property
    def rank(self) -> int: ...
    @property
    def transport(self) -> str: ...
