"""The classes of named tuples that functions return: `isinstance(x.max(0), torch.return_types.max)`.

Functions that return the same names share a class here.
"""

from __future__ import annotations

from cuprous.torch._extremes import min_max, values_indices

#: Functions that return `(values, indices)`.
max = min = sort = topk = kthvalue = median = nanmedian = mode = cummax = cummin = values_indices
aminmax = min_max

__all__ = [
    "aminmax", "cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk",
]  # fmt: skip
