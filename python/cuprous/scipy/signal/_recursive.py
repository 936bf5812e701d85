"""Recursive (IIR) filters, computed block by block instead of element by element.

A filter of order N has a state of N numbers: state' = A state + B x, y = C state + D x. Over a block of L elements, the
outputs and the state after it are linear in the elements and the state before it, so that all blocks are one matrix
product with L columns. The states between blocks follow the same law with A**L, and are computed the same way in blocks
of blocks: log(n) matrix products in all, without a sequential loop over elements (G. E. Blelloch's scan of linear
recurrences, "Prefix sums and their applications", 1990, with wide leaves).

The matrices come from `_realization`, with A of norm at most 1. Each output is then a sum of at most L + 128 log(n)
products of bounded factors, so for stable real filters the error is at most a few hundred roundings of the signal's
norm, even where the recursion itself has lost many digits (order 8 or more with a narrow band). Unstable and complex
filters use the direct form, with errors like the recursion's at small orders. NaN and infinity turn everything after
them into NaN, up to the end of the axis.
"""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.ndimage import convolve1d
from cuprous.scipy.ndimage._structures import host
from cuprous.scipy.signal._filters import extended
from cuprous.scipy.signal._gustafsson import filtered
from cuprous.scipy.signal._histories import history_after, is_history, state_of
from cuprous.scipy.signal._parameters import documented
from cuprous.scipy.signal._realization import realization

_map = _core.map
#: The number of elements in a block, and the number of state components in a block of blocks.
_BLOCK, _STATES = 64, 128
_PADDINGS = ("even", "odd", "constant", None)


def _toeplitz(powers: Any) -> Any:
    """Builds, from M**0, …, M**(k - 1), the matrix that maps a row of k successive inputs to their running states."""
    import numpy as np

    k, order = powers.shape[:2]
    blocks = np.zeros((k, order, k, order), powers.dtype)
    for i in range(k):
        blocks[i, :, i:, :] = powers[: k - i].transpose(2, 0, 1)
    return blocks.reshape(k * order, k * order)


def _powers(m: Any, count: int) -> Any:
    import numpy as np

    found = [np.eye(len(m), dtype=m.dtype)]
    for _ in range(count - 1):
        found.append(m @ found[-1])
    return np.stack(found)


def _states(m: Any, inputs: ndarray) -> ndarray:
    """Computes s[j] = m s[j - 1] + inputs[:, j] with s[-1] = 0. Shape (lines, count, order)."""
    lines, count, order = inputs.shape
    wide = min(count, max(2, _STATES // order))
    powers = _powers(m, wide + 1)
    name = inputs.dtype_name
    blocks = -(-count // wide)
    padded = _after(inputs, blocks * wide - count)
    local = cp.matmul(padded.reshape([lines, blocks, wide * order]), cp.asarray(_toeplitz(powers[:-1]), dtype=name))
    if blocks > 1:
        carried = _states(powers[-1], local[:, :-1, -order:])
        onward = powers[1:].transpose(2, 0, 1).reshape(order, wide * order)
        later = local[:, 1:] + cp.matmul(carried, cp.asarray(onward, dtype=name))
        local = cp.concatenate([local[:, :1], later], axis=1)
    return local.reshape([lines, blocks * wide, order])[:, :count]


def _after(a: ndarray, count: int) -> ndarray:
    """Appends zeros along the second axis."""
    if not count:
        return a
    return cp.concatenate([a, cp.zeros((a.shape[0], count, *a.shape[2:]), a.dtype_name)], axis=1)


def _run(b: Any, a: Any, x: ndarray, state: ndarray | None) -> tuple[ndarray, Any]:
    """Filters the rows of `x`. Returns the outputs and the final states. `b` and `a` have equal lengths, and a[0] is
    1."""
    import numpy as np

    name = x.dtype_name
    lines, n = x.shape
    order, block = len(a) - 1, min(n, _BLOCK)
    system = realization(tuple(b.tolist()), tuple(a.tolist()))
    powers = _powers(system.step, block + 1)
    moved = powers @ system.drive  # A**i B
    response = np.concatenate([[system.direct], moved[: block - 1] @ system.view])
    outputs = np.zeros((block, block), b.dtype)
    for i in range(block):
        outputs[i, i:] = response[: block - i]
    both = np.concatenate([outputs, moved[block - 1 :: -1] if block else moved[:0]], axis=1)
    free = np.ascontiguousarray((system.view @ powers[:block]).T)  # the contribution of the state before a block
    whole = n // block
    zero = cp.zeros((lines, 1, order), name)
    if state is not None:
        zero = cp.matmul(state, cp.asarray(system.from_direct.T.copy(), dtype=name)).reshape([lines, 1, order])
    local = cp.matmul(x[:, : whole * block].reshape([lines, whole, block]), cp.asarray(both, dtype=name))
    states = _states(powers[block], cp.concatenate([zero, local[..., block:]], axis=1))
    y = local[..., :block] + cp.matmul(states[:, :-1], cp.asarray(free, dtype=name))
    y, last = y.reshape([lines, whole * block]), states[:, -1]
    if rest := n - whole * block:
        part = np.concatenate([both[:rest, :rest], both[block - rest :, block:]], axis=1)
        tail = cp.matmul(x[:, whole * block :], cp.asarray(part, dtype=name))
        tail_y = tail[:, :rest] + cp.matmul(last, cp.asarray(np.ascontiguousarray(free[:, :rest]), dtype=name))
        last = tail[:, rest:] + cp.matmul(last, cp.asarray(powers[rest].T.copy(), dtype=name))
        y = cp.concatenate([y, tail_y], axis=1)
    return y, None if state is None else cp.matmul(last, cp.asarray(system.to_direct.T.copy(), dtype=name))


def _coefficients(b: Any, a: Any) -> tuple[Any, Any]:
    numerator, denominator = host(b), host(a)
    if numerator.ndim > 1 or denominator.ndim > 1:
        raise ValueError("object of too small depth for desired array")
    numerator, denominator = numerator.reshape(-1), denominator.reshape(-1)
    if numerator.size == 0 or denominator.size == 0:
        raise ValueError("filter coefficients must not be empty")
    if denominator[0] == 0:
        raise ValueError("a[0] must not be zero")
    return numerator, denominator


def _initial(zi: Any, shape: tuple[int, ...], axis: int, order: int) -> ndarray:
    """Converts `zi` to states with the filtered axis last; along other axes they may broadcast to the signal.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    state = array(zi)
    wanted = (*shape[:axis], order, *shape[axis + 1 :])
    fits = state.ndim == len(shape) and all(m in (1, n) for m, n in zip(state.shape, wanted, strict=True))
    if not fits or state.shape[axis] != order:
        raise ValueError(f"Unexpected shape for zi: expected {wanted}, found {state.shape}.")
    return cp.moveaxis(_core.broadcast_to(state, wanted), axis, -1)


def _finite_response(weights: Any, x: ndarray, axis: int, state: ndarray | None) -> tuple[ndarray, Any]:
    """Filters without feedback: a direct convolution."""
    order = weights.size - 1
    lines = cp.moveaxis(x, axis, -1)
    n = lines.shape[-1]
    if state is not None and order:
        lines = cp.concatenate([lines, cp.zeros((*lines.shape[:-1], order), x.dtype_name)], axis=-1)
    # The origin is at the newest element; earlier elements are zero.
    y = convolve1d(lines, _core.from_numpy(weights), -1, mode="constant", origin=-(weights.size // 2))
    if state is None:
        return y, y
    if order:
        added = cp.concatenate([state, cp.zeros((*lines.shape[:-1], n), x.dtype_name)], axis=-1)
        y = y + added
    return y[..., :n], y[..., n:]


@on_array_device
@documented
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Applies a linear filter along an axis: a[0] y[n] = sum of b[k] x[n - k] - sum over k > 0 of a[k] y[n - k].

    Parameters
    ----------
    b : array_like
        The numerator coefficients, read on the host.
    a : array_like
        The denominator coefficients, read on the host.
    zi : array_like, optional
        The state before the first element (of the transposed direct form II): max(len(a), len(b)) - 1 numbers along
        `axis`, which broadcast along the other axes. Or CuPy's: the len(b) - 1 elements and len(a) - 1 outputs before
        it, each the oldest first; where both have one length, it is taken for SciPy's.

    Returns
    -------
    ndarray
        The output, or with `zi` the pair of output and final state, in the layout of `zi`. The dtype is the promotion
        of coefficients, signal and state.

    Raises
    ------
    ValueError
        For coefficients that are empty or not vectors, a[0] = 0, a scalar signal, and a `zi` of another shape.
    AxisError
        If there is no such axis.

    See Also
    --------
    lfiltic, lfilter_zi, filtfilt, savgol_filter, sosfilt, sosfiltfilt

    Examples
    --------
    >>> cp.scipy.signal.lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    """
    import numpy as np

    numerator, denominator = _coefficients(b, a)
    signal = array(x)
    if signal.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    axis = normalize_axis(axis, signal.ndim)
    if zi is not None and is_history(array(zi), axis, numerator.size, denominator.size):
        history, lengths = array(zi), (numerator.size, denominator.size)
        y, _ = lfilter(b, a, signal, axis, state_of(history, axis, numerator, denominator))
        return y, history_after(history, axis, *lengths, signal, y)
    coefficients = _dtypes.name_of(np.result_type(numerator.dtype, denominator.dtype))
    name = _dtypes.inexact(_core.promote_types(signal.dtype_name, coefficients))
    if zi is not None:
        name = _core.promote_types(name, array(zi).dtype_name)
    wide = np.result_type(numerator, denominator, np.float64)
    taps, feedback = (v.astype(wide) / denominator[0] for v in (numerator, denominator))
    order = max(taps.size, feedback.size) - 1
    state = None if zi is None else _core.cast(_initial(zi, signal.shape, axis, order), name)
    source = _core.cast(signal, name)
    if not feedback[1:].any():
        taps = np.pad(taps, (0, order + 1 - taps.size)) if zi is not None else taps
        y, last = _finite_response(taps, source, axis, state)
    elif signal.size == 0:
        return source if state is None else (source, cp.moveaxis(state, -1, axis))
    else:
        taps, feedback = (np.pad(v, (0, order + 1 - v.size)) for v in (taps, feedback))
        rows = cp.moveaxis(source, axis, -1)
        lines = rows.reshape([rows.size // rows.shape[-1], rows.shape[-1]])
        spoiled = _core.scan("sum", lines * 0.0, 1)
        clean = _map("where", cp.isfinite(lines), lines, 0.0)
        y, last = _run(taps, feedback, clean, None if state is None else state.reshape([lines.shape[0], order]))
        if last is not None:
            last = (last + spoiled[:, -1:]).reshape([*rows.shape[:-1], order])
        y = (y + spoiled).reshape(rows.shape)
    y = cp.moveaxis(y, -1, axis)
    return y if zi is None else (y, cp.moveaxis(last, -1, axis))


@on_array_device
def lfilter_zi(b: Any, a: Any) -> ndarray:
    """Returns the state of `lfilter` for which a step of ones gives its steady-state output; computed on the host.

    Parameters
    ----------
    b : array_like
        The numerator coefficients, read on the host.
    a : array_like
        The denominator coefficients, read on the host.

    Returns
    -------
    ndarray
        An array of max(len(a), len(b)) - 1 elements.

    Raises
    ------
    ValueError
        For coefficients that are not vectors, one coefficient each, and a denominator of zeros.

    See Also
    --------
    lfilter, lfiltic, filtfilt

    Examples
    --------
    >>> cp.scipy.signal.lfilter_zi([1.0], [1.0, -0.5])
    array([1.])
    """
    import numpy as np

    numerator, denominator = host(b), host(a)
    if numerator.ndim != 1:
        raise ValueError("Numerator b must be 1-D.")
    if denominator.ndim != 1:
        raise ValueError("Denominator a must be 1-D.")
    denominator = np.trim_zeros(denominator, "f")
    if denominator.size < 1:
        raise ValueError("There must be at least one nonzero `a` coefficient.")
    name = np.result_type(numerator, denominator)
    name = name if name.kind in "fc" else np.dtype(float)
    wide = np.result_type(name, np.float64)
    n = max(numerator.size, denominator.size)
    taps, feedback = (np.pad(v.astype(wide) / denominator[0], (0, n - v.size)) for v in (numerator, denominator))
    if n == 1:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    drive = taps[1:] - feedback[1:] * taps[0]
    # All rows of (I - A) z = B but the first say z[i] = z[i + 1] + …; their sum gives z[0].
    first = drive.sum() / feedback.sum()
    state = first * np.cumsum(feedback[:-1]) - np.concatenate([[0.0], np.cumsum(drive)[:-1]])
    return _core.from_numpy(state.astype(name))


@on_array_device
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> ndarray:
    """Returns the state of `lfilter` after the given outputs and inputs, newest first; computed on the host.

    Parameters
    ----------
    b : array_like
        The numerator coefficients, read on the host.
    a : array_like
        The denominator coefficients, read on the host.
    y : array_like
        The outputs, newest first.
    x : array_like, optional
        The inputs, newest first; by default zeros.

    Returns
    -------
    ndarray
        An array of max(len(a), len(b)) - 1 elements.

    Raises
    ------
    ValueError
        If all of `a` is zero, and for inputs or outputs with several axes.

    See Also
    --------
    lfilter, lfilter_zi

    Examples
    --------
    >>> cp.scipy.signal.lfiltic([1.0], [1.0, -0.5], [2.0])
    array([1.])
    """
    import numpy as np

    numerator, denominator = (np.atleast_1d(host(v)) for v in (b, a))
    denominator = np.trim_zeros(denominator, "f")
    if denominator.size == 0:
        raise ValueError("There must be at least one nonzero `a` coefficient.")
    outputs, inputs = np.atleast_1d(host(y)), np.atleast_1d(host(x if x is not None else []))
    if outputs.ndim > 1 or inputs.ndim > 1:
        raise ValueError("[lfiltic] y= and x= must have one axis")
    n, m = denominator.size - 1, numerator.size - 1
    operands = [outputs, numerator, denominator] if x is None else [outputs, numerator, denominator, inputs]
    name = np.result_type(*operands)
    name = name if name.kind in "fc" else np.dtype(float)
    wide = np.result_type(name, np.float32)
    outputs = np.pad(outputs.astype(wide), (0, max(n - outputs.size, 0)))
    inputs = np.pad(inputs.astype(wide), (0, max(m - inputs.size, 0)))
    state = np.zeros(max(n, m), wide)
    for i in range(m):
        state[i] = np.sum(numerator[i + 1 :] * inputs[: m - i])
    for i in range(n):
        state[i] -= np.sum(denominator[i + 1 :] * outputs[: n - i])
    return _core.from_numpy((state / denominator[0]).astype(name))


def _sections(sos: Any) -> Any:
    sections = host(sos)
    sections = sections.reshape(1, -1) if sections.ndim < 2 else sections
    if sections.ndim != 2:
        raise ValueError("sos array must be 2D")
    if sections.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if not (sections[:, 3] == 1).all():
        raise ValueError("sos[:, 3] should be all ones")
    return sections


@on_array_device
@documented
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Applies a cascade of second-order sections along an axis.

    Parameters
    ----------
    sos : array_like
        Rows of three numerator and three denominator coefficients, read on the host.
    zi : array_like, optional
        The initial states, of shape (sections, …, 2, …) with the 2 along `axis`, or CuPy's (sections, …, 4, …): the two
        elements and the two outputs before the signal, as for `lfilter`.

    Returns
    -------
    ndarray
        The output, or with `zi` the pair of output and final states.

    Raises
    ------
    ValueError
        For sections or states of another shape.

    See Also
    --------
    zpk2sos, sos2zpk, sosfilt_zi, sosfiltfilt, freqz_sos

    Examples
    --------
    >>> sos = [[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]]
    >>> cp.scipy.signal.sosfilt(sos, [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    """
    sections = _sections(sos)
    y = array(x)
    axis = normalize_axis(axis, y.ndim)
    if zi is None:
        for row in sections:
            y = lfilter(row[:3], row[3:], y, axis)
        return y
    before = array(zi)
    wanted = (len(sections), *y.shape[:axis], 2, *y.shape[axis + 1 :])
    histories = (*wanted[: axis + 1], 4, *wanted[axis + 2 :])
    if before.shape not in (wanted, histories):
        raise ValueError(
            f"Invalid zi shape. With axis={axis!r}, an input with shape {y.shape!r}, and an sos array "
            f"with {len(sections)} sections, zi must have shape {wanted!r}, got {before.shape!r}."
        )
    after = []
    for i, row in enumerate(sections):
        y, state = lfilter(row[:3], row[3:], y, axis, before[i])
        after.append(state)
    return y, cp.stack(after)


@on_array_device
def sosfilt_zi(sos: Any) -> ndarray:
    """Returns the states of `sosfilt` for which a step of ones gives the steady-state output, of shape (sections, 2).

    Parameters
    ----------
    sos : array_like
        Rows of three numerator and three denominator coefficients.

    Returns
    -------
    ndarray
        An array of shape (sections, 2).

    Raises
    ------
    ValueError
        For sections that are not rows of six coefficients, the fourth of which is 1.

    See Also
    --------
    sosfilt, zpk2sos

    Examples
    --------
    >>> cp.scipy.signal.sosfilt_zi([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]])
    array([[1., 0.]])
    """
    import numpy as np

    if host(sos).ndim != 2:
        raise ValueError("sos must be shape (n_sections, 6)")
    sections = _sections(sos)
    name = sections.dtype if sections.dtype.kind in "fc" else np.dtype(float)
    states, scale = [], 1.0
    for row in sections.astype(np.result_type(sections, np.float64)):
        states.append(scale * host(lfilter_zi(row[:3], row[3:])))
        scale *= row[:3].sum() / row[3:].sum()
    return _core.from_numpy(np.stack(states).astype(name))


def _extended(x: ndarray, axis: int, padtype: str | None, padlen: int | None, default: int) -> tuple[ndarray, int]:
    """Moves the axis of `x` to the back and extends it at both ends."""
    if padtype not in _PADDINGS:
        raise ValueError(f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or "
                         "None.")  # fmt: skip
    edge = 0 if padtype is None else default if padlen is None else padlen
    rows = cp.moveaxis(x, axis, -1)
    n = rows.shape[-1]
    if n <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    if padtype is None or edge <= 0:
        return rows, 0
    return extended(rows, edge, padtype), edge


def _both_ways(run: Any, rows: ndarray, edge: int, axis: int) -> ndarray:
    y = run(rows, rows[..., :1])
    y = cp.flip(run(cp.flip(y, -1), y[..., -1:]), -1)
    return cp.moveaxis(y[..., edge : y.shape[-1] - edge], -1, axis)


def _from_best_states(b: Any, a: Any, rows: ndarray, irlen: int | None) -> ndarray:
    order = max(b.size, a.size) - 1
    if not order:
        return rows * ((b[0] / a[0]) ** 2).item()

    def run(x: ndarray, states: ndarray | None = None) -> ndarray:
        return lfilter(b, a, x) if states is None else lfilter(b, a, x, -1, states)[0]

    return filtered(run, rows, order, irlen)


@on_array_device
@documented
def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None, method: str = "pad",
    irlen: int | None = None,
) -> ndarray:  # fmt: skip
    """Applies `lfilter` forward and then backward, so that the phase does not shift.

    Parameters
    ----------
    b : array_like
        The numerator coefficients, read on the host.
    a : array_like
        The denominator coefficients, read on the host.
    padtype : str or None, default "odd"
        How the signal is extended at its ends: "odd", "even", "constant" or None (no extension).
    padlen : int, optional
        The length of the extension; 3 max(len(a), len(b)) by default.
    method : str, default "pad"
        "pad", or "gust" for the initial states that make the result independent of the direction that comes first; it
        takes no padding.
    irlen : int, optional
        For "gust", the length of the filter's response, by default that of the signal.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    Raises
    ------
    ValueError
        For an unknown method or padtype, and a signal that is not longer than `padlen`.

    See Also
    --------
    sosfiltfilt, lfilter_zi, lfilter, lfiltic, savgol_filter, sosfilt

    Examples
    --------
    >>> cp.scipy.signal.filtfilt([0.5, 0.5], [1.0], cp.arange(20.0)).shape
    (20,)
    """
    if method not in ("pad", "gust"):
        raise ValueError("method must be 'pad' or 'gust'.")
    signal = array(x)
    axis = normalize_axis(axis, signal.ndim)
    numerator, denominator = (host(v).reshape(-1) for v in (b, a))
    if method == "gust":
        return cp.moveaxis(_from_best_states(numerator, denominator, cp.moveaxis(signal, axis, -1), irlen), -1, axis)
    rows, edge = _extended(signal, axis, padtype, padlen, 3 * max(numerator.size, denominator.size))
    state = lfilter_zi(numerator, denominator)
    return _both_ways(lambda v, first: lfilter(numerator, denominator, v, -1, state * first)[0], rows, edge, axis)


@on_array_device
@documented
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None) -> ndarray:
    """Applies `sosfilt` forward and then backward, so that the phase does not shift.

    Parameters
    ----------
    sos : array_like
        Rows of three numerator and three denominator coefficients, read on the host.
    padtype : str or None, default "odd"
        How the signal is extended at its ends: "odd", "even", "constant" or None (no extension).
    padlen : int, optional
        The length of the extension.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    Raises
    ------
    ValueError
        For an unknown padtype, and a signal that is not longer than `padlen`.

    See Also
    --------
    filtfilt, sosfilt, sosfilt_zi, freqz_sos

    Examples
    --------
    >>> cp.scipy.signal.sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], cp.arange(20.0)).shape
    (20,)
    """
    sections = _sections(sos)
    signal = array(x)
    axis = normalize_axis(axis, signal.ndim)
    zeros = min((sections[:, 2] == 0).sum(), (sections[:, 5] == 0).sum())
    rows, edge = _extended(signal, axis, padtype, padlen, 3 * int(2 * len(sections) + 1 - zeros))
    state = sosfilt_zi(sections)
    shape = [len(sections), *[1] * (signal.ndim - 1), 2]
    return _both_ways(
        lambda v, first: sosfilt(sections, v, -1, state.reshape(shape) * first[None])[0], rows, edge, axis
    )
