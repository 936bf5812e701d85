"""Advanced indexing: `a[key]` and `a[key] = value` with arrays, lists and masks.

An indexing expression becomes one array of offsets into the storage: the index arrays, wrapped and multiplied by
strides, plus the offsets of the sliced axes. Reading is a gather, and writing is a scatter.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import array, broadcast_shapes, check_writable, ndarray
from cuprous._common.casting import astype, check_casting, warn_of_lost_parts
from cuprous._common.convert import convert
from cuprous._common.layout import MAX_NDIM
from cuprous._common.masks import flatnonzero, select_flat, split_index
from cuprous._common.operands import is_numpy_array, is_scalar, on_array_device

#: Modes of `take`, `put` and `choose`.
_MODES = ("raise", "wrap", "clip")


#: Indices that are checked on the host: a length that is new then plans nothing.
_FEW = 1 << 16

#: The index of one axis: an array (int64) or a number, nonnegative and not multiplied by the stride yet.
_Index: TypeAlias = "ndarray | int"


def checked_index(i: int, n: int, axis: int, inclusive: bool = False) -> int:
    """Returns a nonnegative index of an axis of `n` elements; `inclusive` allows `n`.

    Raises
    ------
    IndexError
        If the index is out of bounds.
    """
    if not -n <= i < n + inclusive:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return i + n if i < 0 else i


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, slice)


def _is_integer(item: Any) -> bool:
    return hasattr(item, "__index__") and not isinstance(item, (bool, ndarray)) and not getattr(item, "shape", ()) and (
        getattr(getattr(item, "dtype", None), "kind", "i") in "iu"
    )  # fmt: skip


def _host_index(item: Any, n: int, axis: int) -> ndarray:
    """Converts a list or NumPy array to an index array, after checking and wrapping it on the host."""
    import numpy as np

    host = np.asarray(item)
    if host.size == 0 and not is_numpy_array(item):
        host = host.astype(np.int64)
    if host.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if host.size:
        for extreme in (host.min(), host.max()):
            checked_index(int(extreme), n, axis)
    host = host.astype(np.int64)
    return _core.from_numpy(np.where(host < 0, host + n, host))


def wrapped(index: ndarray, n: int, axis: int) -> ndarray:
    """Wraps a device index array into 0..n. An index out of bounds raises on the CPU; on a GPU it wraps, as in CuPy.

    Raises
    ------
    IndexError
        If the dtype is not an integer, for an index out of bounds on the CPU, and for any index of an empty axis.
    """
    if dtypes.kind(index.dtype_name) not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    index = astype(index, "int64")
    if index.device_name != "cpu":
        if n == 0 and index.size:  # there is nothing to wrap to
            raise IndexError(f"an array of {index.size} indices is out of bounds for axis {axis} with size 0")
        return index % n if n else index
    if index.size:
        if index.size <= _FEW:
            low, high = _core.int_range(index)
        else:
            low, high = int(_core.reduce("min", index, None)), int(_core.reduce("max", index, None))
        for extreme in (low, high):
            checked_index(extreme, n, axis)
        if low >= 0:
            return index
    return _core.map("where", index < 0, index + n, index)


def mask_of(item: Any) -> ndarray | None:
    """Returns the mask if the item is a boolean array, list or scalar, otherwise None."""
    if isinstance(item, ndarray):
        return item if item.dtype_name == "bool" else None
    if isinstance(item, bool):
        return _core.full((), item, "bool")
    if isinstance(item, (list, tuple)) or is_numpy_array(item) or is_scalar(item):
        import numpy as np

        if isinstance(item, (list, tuple)) and _has_device_array(item):
            return None
        host = np.asarray(item)
        return _core.from_numpy(host) if host.dtype.kind == "b" else None
    return None


def _has_device_array(items: Any) -> bool:
    return any(isinstance(x, ndarray) or (isinstance(x, (list, tuple)) and _has_device_array(x)) for x in items)


def _expand(a: ndarray, key: Any) -> list[Any]:
    """Returns the items of a key, with the ellipsis replaced by slices for the axes that the key does not index.

    An ellipsis that stands for no axis is kept, because it still separates the index arrays around it.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    masks = [None if _is_basic(i) or _is_integer(i) else mask_of(i) for i in items]
    items = [i if m is None else m for i, m in zip(items, masks, strict=True)]
    used = 0
    for item in items:
        if item is None or item is Ellipsis:
            continue
        used += item.ndim if isinstance(item, ndarray) and item.dtype_name == "bool" else 1
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > a.ndim:
        raise IndexError(f"too many indices for array: array is {a.ndim}-dimensional, but {used} were indexed")
    fill = [slice(None)] * (a.ndim - used)
    for position, item in enumerate(items):
        if item is Ellipsis:
            return items[:position] + (fill or [Ellipsis]) + items[position + 1 :]
    return items + fill


class _ResolvedKey:
    """A resolved indexing expression: the shape of the result and the offset of each element.

    With `for_read`, `offsets` has NumPy's memory order, in which the axes of the index arrays come first. `axes` then
    is the permutation of these axes that gives the result; None means the identity.
    """

    __slots__ = ("axes", "offsets", "shape", "view")

    def __init__(self, a: ndarray, key: Any, for_read: bool = False) -> None:
        basic: list[Any] = []  # the part that native indexing does
        kinds: list[_Index | None] = []  # per axis of the key: an index array, or None for sliced and new axes
        axis = 0
        gap = 0  # position in `kinds` of an ellipsis that stands for no axis
        for item in _expand(a, key):
            if item is Ellipsis:
                gap = len(kinds)
            elif item is None:
                basic.append(None)
                kinds.append(None)
            elif isinstance(item, slice):
                basic.append(item)
                kinds.append(None)
                axis += 1
            elif isinstance(item, ndarray) and item.dtype_name == "bool":
                for part in self._from_mask(a, item, axis):
                    basic.append(slice(None) if item.ndim else None)
                    kinds.append(part)
                axis += item.ndim
            else:
                basic.append(slice(None))
                kinds.append(self._from_item(a, item, axis))
                axis += 1
        self.view = a[tuple(basic)]
        self._arrange_axes(kinds, gap, for_read)

    @staticmethod
    def _from_mask(a: ndarray, mask: ndarray, axis: int) -> list[_Index]:
        if mask.ndim == 0:  # a new axis of length one or zero
            return [_core.full((int(bool(mask)),), 0, "int64")]
        for i, n in enumerate(mask.shape):
            if n not in (a.shape[axis + i], 0):  # the array API standard allows an empty mask everywhere
                raise IndexError(
                    f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                    f"{a.shape[axis + i]} but size of corresponding boolean axis is {n}"
                )
        return list(split_index(flatnonzero(mask), mask.shape))

    @staticmethod
    def _from_item(a: ndarray, item: Any, axis: int) -> _Index:
        n = a.shape[axis]
        if _is_integer(item):
            return checked_index(int(item), n, axis)
        if isinstance(item, (list, tuple)) and _has_device_array(item):
            item = array(item)
        if isinstance(item, ndarray):
            return wrapped(item, n, axis)
        if isinstance(item, (list, tuple)) or is_numpy_array(item):
            return _host_index(item, n, axis)
        if getattr(item, "__cuda_array_interface__", None) is not None:
            return wrapped(array(item), n, axis)
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
            f"valid indices, not {type(item).__name__}"
        )

    def _arrange_axes(self, kinds: list[_Index | None], gap: int, for_read: bool) -> None:
        """Places the axes of the index arrays: where they are if they are adjacent, otherwise at the front."""
        index_axes = [i for i, k in enumerate(kinds) if k is not None]
        together = index_axes[-1] - index_axes[0] + 1 == len(index_axes) and not index_axes[0] < gap <= index_axes[-1]
        shapes = [k.shape for k in kinds if isinstance(k, ndarray)]
        try:
            picked = broadcast_shapes(*shapes)
        except ValueError:
            shown = " ".join(str(s).replace(" ", "") for s in shapes)
            raise IndexError(
                f"shape mismatch: indexing arrays could not be broadcast together with shapes {shown} "
            ) from None
        shape, strides = self.view.shape, self.view.element_strides
        free = [i for i, k in enumerate(kinds) if k is None]
        before = [i for i in free if i < index_axes[0]] if together else []
        after = [i for i in free if i not in before]
        self.axes: tuple[int, ...] | None = None
        if for_read and free:
            before, after = self._order_sliced_axes(before, after, len(picked))
        self.shape = (*(shape[i] for i in before), *picked, *(shape[i] for i in after))
        if len(self.shape) > MAX_NDIM:
            raise IndexError(
                f"number of dimensions must be within [0, {MAX_NDIM}], indexing result would have {len(self.shape)}"
            )
        zeros = (0,) * len(picked)
        start = 0
        offsets: Any = None
        for k, stride in zip(kinds, strides, strict=True):
            if isinstance(k, ndarray):
                part = k * stride if stride != 1 else k
                offsets = part if offsets is None else offsets + part
            elif k is not None:
                start += k * stride
        grid = _core.iota(self.shape, (*(strides[i] for i in before), *zeros, *(strides[i] for i in after)), start)
        if offsets is None:
            self.offsets = grid
        elif not before and not after and start == 0:
            self.offsets = offsets if offsets.shape == self.shape else _core.broadcast_to(offsets, self.shape)
        else:
            self.offsets = grid + offsets.reshape(offsets.shape + (1,) * len(after))

    def _order_sliced_axes(self, before: list[int], after: list[int], picked: int) -> tuple[list[int], list[int]]:
        """Moves the sliced axes, sorted by memory order, behind the axes of the index arrays, and sets `axes`."""
        strides = self.view.element_strides
        free = sorted(before + after, key=lambda i: -abs(strides[i]))
        if not before and free == after:
            return before, after
        self.axes = (
            *(picked + free.index(i) for i in before),
            *range(picked),
            *(picked + free.index(i) for i in after),
        )
        return [], free


def _whole_mask(a: ndarray, key: Any) -> ndarray | None:
    """Returns the mask if the key is a single mask over the leading axes, otherwise None."""
    if isinstance(key, tuple):
        if len(key) != 1:
            return None
        key = key[0]
    if _is_basic(key) or _is_integer(key):
        return None
    mask = mask_of(key)
    if mask is None or not 0 < mask.ndim <= a.ndim:
        return None
    return mask if mask.shape == a.shape[: mask.ndim] else None


@on_array_device
def getitem(a: ndarray, key: Any) -> ndarray:
    """Returns `a[key]` for keys with index arrays, lists and masks, always a copy (a hook of the native type)."""
    mask = _whole_mask(a, key)
    if mask is not None and mask.ndim == a.ndim:
        return select_flat(mask.reshape(-1), a.reshape(-1))
    read = _ResolvedKey(a, key, for_read=True)
    result = _core.gather(read.view, read.offsets)
    return result if read.axes is None else _core.without_base(result.transpose(read.axes))


def _basic_key(key: Any) -> tuple[Any, ...] | None:
    """Returns the key for native indexing if it has only slices, integers, new axes and an ellipsis, otherwise None."""
    items = key if isinstance(key, tuple) else (key,)
    if not all(_is_basic(i) or _is_integer(i) for i in items):
        return None
    return tuple(i if _is_basic(i) else int(i) for i in items)


def assigned_value(a: ndarray, value: Any) -> Any:
    if isinstance(value, ndarray) or is_scalar(value):
        return value

    if isinstance(value, (list, tuple)) and value:
        return convert(value, a.dtype_name)  # each element must fit, as in NumPy
    source = convert(value)
    return source if source.dtype_name != "float64" or source.size else astype(source, a.dtype_name)


@on_array_device
def setitem(a: ndarray, key: Any, value: Any) -> None:
    """Does `a[key] = value` for the keys and values that the native type does not handle (a hook)."""
    nested = isinstance(value, (list, tuple))
    value = assigned_value(a, value)
    if isinstance(value, ndarray):
        warn_of_lost_parts(value.dtype_name, a.dtype_name)
    basic = _basic_key(key)
    if basic is not None:
        selected = view_at(a, basic)
        if nested and value.ndim > selected.ndim:
            raise ValueError(
                f"setting an array element with a sequence: lists of depth {value.ndim} for {selected.ndim} dimensions"
            )
        _core.update(selected, value)
        return
    mask = _whole_mask(a, key)
    if mask is not None and (not isinstance(value, ndarray) or value.size == 1 or mask.ndim == a.ndim):
        _assign_masked(a, mask, value)
        return
    scatter_into(a, key, value, "set")


def _assign_masked(a: ndarray, mask: ndarray, value: Any) -> None:
    """Writes values to `a` where the mask is true. A single value needs no readback of the mask."""
    wide = mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim))
    if not isinstance(value, ndarray):
        source = _core.full((), value, a.dtype_name, True)
    elif value.size == 1:
        source = astype(value.reshape(()), a.dtype_name)
    else:
        _assign_in_order(a, mask, value)
        return
    _core.update(a, _core.map("where", wide, source, a))


def _assign_in_order(a: ndarray, mask: ndarray, value: ndarray) -> None:
    """Writes values, in order, to `a` where the mask is true. On the CPU only these elements are written."""
    n, selected = mask.size, a.device_name == "cpu" and a.is_c_contiguous
    if selected:
        order = flatnonzero(mask)
        count = order.size
    else:
        flat = _core.cast(mask.reshape(-1), "int64")
        order = _core.scan("sum", flat, 0) if n else flat
        count = int(order[n - 1]) if n else 0
    if value.ndim != 1 or value.size != count:
        if value.ndim == 1:
            raise ValueError(f"NumPy boolean array indexing assignment cannot assign {value.size} input values to "
                             f"the {count} output values where the mask is true")  # fmt: skip
        raise ValueError(f"shape mismatch: value array of shape {value.shape} could not be broadcast to indexing "
                         f"result of shape ({count},)")  # fmt: skip
    if count == 0:
        return
    value = astype(value, a.dtype_name)
    if selected:
        _core.scatter(a.reshape(-1), order, value, "set")
    else:
        chosen = gather_flat(value, _core.map("maximum", order - 1, 0))
        _core.update(a, _core.map("where", mask, chosen.reshape(a.shape), a))


def view_at(a: ndarray, key: Any) -> ndarray:
    """Returns the view that a basic key selects; a single element is a 0-d view."""
    items = key if isinstance(key, tuple) else (key,)
    return a[items if any(item is Ellipsis for item in items) else (*items, ...)]


def is_basic_key(key: Any) -> bool:
    """Returns true if a key selects a view: it has only slices, integers, new axes and an ellipsis."""
    return _basic_key(key) is not None


@on_array_device
def plan(a: ndarray, key: Any) -> _ResolvedKey:
    """Resolves any key to the offsets of the selected elements."""
    basic = _basic_key(key)
    # a leading mask `True` turns a basic key into one with an index array
    return _ResolvedKey(a, key if basic is None else (True, *basic))


def broadcast_value(value: ndarray, shape: tuple[int, ...]) -> ndarray:
    """Broadcasts values to the shape of the selected elements.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    try:
        fits = broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    while not fits and value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
        fits = value.shape == shape
    if not fits:
        shapes = " could not be broadcast to indexing result of shape ".join(
            str(s).replace(" ", "") for s in (value.shape, shape)
        )
        raise ValueError(f"shape mismatch: value array of shape {shapes}")
    return value if value.shape == shape else _core.broadcast_to(value, shape)


@on_array_device
def scatter_into(a: ndarray, key: Any, value: Any, op: str) -> None:
    """Writes values to the elements that any key selects, or combines them by `op`."""
    check_writable(a)
    resolved = plan(a, key)
    if isinstance(value, ndarray):
        value = broadcast_value(astype(value, a.dtype_name), resolved.shape)
    _core.scatter(resolved.view, resolved.offsets, value, op)


def gather_flat(flat: ndarray, index: ndarray) -> ndarray:
    """Returns the elements of a 1-d array at indices known to be in bounds."""
    stride = flat.element_strides[0]
    return _core.gather(flat, index if stride == 1 else index * stride)


# --- offsets for take and put


def bounded(indices: Any, n: int, axis: int, mode: str) -> ndarray:
    """Returns indices of an axis after applying the mode to those out of bounds."""
    if mode not in _MODES:
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")
    if not isinstance(indices, ndarray):
        import numpy as np

        host = np.asarray(indices)
        host = host if host.size else host.astype(np.int64)
        check_casting(host.dtype.name, "int64", "same_kind", "array data")
        if mode == "raise":
            return _host_index(host.astype(np.int64), n, axis)
        indices = _core.from_numpy(host)
    check_casting(indices.dtype_name, "int64", "same_kind", "array data")
    indices = astype(indices, "int64")
    if mode == "raise":
        return wrapped(indices, n, axis)
    if mode == "wrap":
        return indices % n
    return _core.map("minimum", _core.map("maximum", indices, 0), n - 1)


def flat_offsets(a: ndarray, index: ndarray) -> ndarray:
    """Returns the offsets of elements from their indices in the flattened array."""
    if a.is_c_contiguous:
        return index
    offsets: Any = 0
    for part, stride in zip(split_index(index, a.shape), a.element_strides, strict=True):
        offsets = part * stride + offsets
    return offsets if isinstance(offsets, ndarray) else index * 0
