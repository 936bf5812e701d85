"""Matrix products of groups of rows or columns."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch._joining import cat, stack
from cuprous.torch._products import matmul


def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Tensor:
    """Returns the products of groups, as mixtures of experts need them. The ends of groups are read on the host.

    Parameters
    ----------
    mat_a : Tensor
        (rows, inner), or (groups, rows, inner).
    mat_b : Tensor
        (inner, columns), or (groups, inner, columns).
    offs : Tensor, optional
        The end of each group in the dimension that is divided: rows of `mat_a` if only `mat_b` has groups, columns of
        `mat_b` if only `mat_a` has them, `inner` if neither has. Not needed if both have groups.
    bias : Tensor, optional
        Is added to the result.
    out_dtype : dtype, optional
        The result's dtype.

    Returns
    -------
    Tensor
        A tensor of shape (rows, columns), or (groups, rows, columns) if both or neither have groups. Rows after the
        last group are 0.

    Raises
    ------
    RuntimeError
        Unless `offs` is given exactly where a dimension is divided.

    See Also
    --------
    torch.bmm, torch.mm, torch.nn.functional.linear

    Examples
    --------
    >>> F.grouped_mm(torch.ones(3, 2), torch.ones(2, 2, 1), offs=torch.tensor([1, 3], dtype=torch.int32))
    tensor([[2.],
            [2.],
            [2.]])
    """
    if (offs is None) != (mat_a.ndim == 3 and mat_b.ndim == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is None:
        result: Any = matmul(mat_a, mat_b)
    else:
        ends = offs.tolist()
        ranges = list(zip([0, *ends[:-1]], ends, strict=True))
        if mat_a.ndim == 2 and mat_b.ndim == 3:
            parts = [matmul(mat_a[low:high], mat_b[g]) for g, (low, high) in enumerate(ranges)]
            rest = mat_a.shape[0] - ends[-1]
            parts += [mat_a.new_zeros((rest, mat_b.shape[-1]))] if rest else []
            result = cat(parts, 0)
        elif mat_a.ndim == 3:
            result = cat([matmul(mat_a[g], mat_b[:, low:high]) for g, (low, high) in enumerate(ranges)], 1)
        else:
            result = stack([matmul(mat_a[:, low:high], mat_b[low:high]) for low, high in ranges])
    result = result if bias is None else result + bias
    return result if out_dtype is None else result.to(out_dtype)


__all__ = ["grouped_mm"]
