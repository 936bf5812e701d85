"""What parameters mean that several functions have; docstrings describe only others."""

from __future__ import annotations

from cuprous._common import naming

documented = naming.documented({
    "input": "a real array of any shape.",
    "structure": "heights that are subtracted (for dilations, added), read on the host.",
    "iterations": (
        "the number of iterations; values below 1 repeat until nothing changes, which waits for "
        "the device occasionally."
    ),
    "mask": "the elements that may change; others keep their values.",
    "output": "the result's dtype, or an array for the result.",
    "border_value": "the value beyond the edges, 0 or 1.",
    "origin": "the shift of the window's center, one for all axes or one for each.",
    "brute_force": "ignored, as it does not affect SciPy's results either.",
    "axes": "the axes that the window applies to; None for all.",
    "n": "for a transform of real numbers, their number along `axis`; otherwise -1.",
    "axis": "the axis.",
    "size": "the extents of a flat box, one for all axes or one for each.",
    "order": "the spline's order, from 0 (nearest) to 5.",
    "mode": 'the extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias.',
    "cval": 'the value beyond the edges for "constant".',
    "truncate": "half the window's width, in standard deviations.",
    "radius": "half the window's width, in elements; overrides `truncate`.",
    "footprint": "the elements that belong to the window, read on the host.",
    "prefilter": "whether `input` holds values; if false, it holds spline coefficients.",
    "labels": "an array of labels that broadcasts with `input`; None for a single region.",
    "index": "the label or labels of the regions; None for all elements whose label is positive.",
})  # fmt: skip
