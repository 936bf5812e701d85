"""Arrays and tensors as HTML, for notebooks."""

from __future__ import annotations

from cuprous import _core
from cuprous._common import markup
from cuprous._common.arguments import ndarray
from cuprous._functions import printing

#: Arrays with more elements are shown by the elements at their edges.
THRESHOLD = 200
#: Axes of which a large array shows the edges; of the others it shows the first index.
AXES = 2


def about(a: _core.ndarray | _core.Tensor, shape: tuple[int, ...]) -> str:
    """Returns dtype, device and size of an array as text."""
    name = a.dtype_name
    return f"{name}, {a.device_name}, {_core.quantity(a.nbytes, 'B')}, shape {shape}"


def first_block(ndim: int, size: int) -> tuple[tuple[int, ...], str]:
    """Returns the index of the part of an array that is shown, and the text before its elements."""
    index = (0,) * (ndim - AXES if size > THRESHOLD else 0)
    return index, f"[{', '.join(map(str, index))}]:\n" if index else ""


def array_html(a: ndarray) -> str | None:
    """Returns an array as HTML: shape, dtype, device and values.

    Of a large array only elements at the edges are copied to the host. The array is computed. A 0-d array has no HTML:
    notebooks show its text.
    """
    if a.ndim == 0:
        return None
    index, where = first_block(a.ndim, a.size)
    text = printing.array2string(a[index], threshold=THRESHOLD, edgeitems=3)
    return "<div>" + markup.heading("array", about(a, a.shape)) + markup.preformatted(where + text) + "</div>"
