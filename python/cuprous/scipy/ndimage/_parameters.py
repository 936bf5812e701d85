"""What parameters mean that several functions have; docstrings describe only others."""

from __future__ import annotations

from cuprous._common import naming

documented = naming.documented({
    "input : array_like": "A real array of any shape.",
    "structure : array_like": "Heights that are subtracted (for dilations, added), read on the host.",
    "iterations : int": (
        "The number of iterations; values below 1 repeat until nothing changes, which waits for "
        "the device occasionally."
    ),
    "mask : array_like": "The elements that may change; others keep their values.",
    "output : dtype or ndarray": "The result's dtype, or an array for the result.",
    "border_value : int": "The value beyond the edges, 0 or 1.",
    "origin : int or sequence of ints": "The shift of the window's center, one for all axes or one for each.",
    "brute_force : bool": "ignored, as it does not affect SciPy's results either.",
    "axes : int or tuple of ints": "The axes that the window applies to; None for all.",
    "n : int": "For a transform of real numbers, their number along `axis`; otherwise -1.",
    "axis : int": "The axis.",
    "size : int or sequence of ints": "The extents of a flat box, one for all axes or one for each.",
    "order : int": "The spline's order, from 0 (nearest) to 5.",
    "mode : str or sequence of str":
        'The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias.',
    "cval : scalar": 'The value beyond the edges for "constant".',
    "truncate : float": "Half the window's width, in standard deviations.",
    "radius : int or sequence of ints": "Half the window's width, in elements; overrides `truncate`.",
    "footprint : array_like": "The elements that belong to the window, read on the host.",
    "prefilter : bool": "Whether `input` holds values; if false, it holds spline coefficients.",
    "labels : array_like": "An array of labels that broadcasts with `input`; None for a single region.",
    "index : int or array_like": "The label or labels of the regions; None for all elements whose label is positive.",
})  # fmt: skip
