"""Helper functions shared by `torch.linalg`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cuprous import _core, linalg
from cuprous._common.operands import on_array_device
from cuprous._core import Tensor
from cuprous.torch._ranges import eye as identity


class _ArrayLinalg:
    """The functions of `cuprous.linalg`, whose temporary arrays are created on the operand's device."""

    def __getattr__(self, name: str) -> Any:
        function = on_array_device(getattr(linalg, name))
        setattr(self, name, function)
        return function


engine = _ArrayLinalg()


class LinAlgError(RuntimeError):
    """The error for a matrix that is singular, and for a decomposition that does not exist.

    See Also
    --------
    torch.linalg.solve, torch.linalg.inv, torch.linalg.cholesky

    Examples
    --------
    >>> try:
    ...     torch.linalg.inv(torch.zeros(2, 2))
    ... except torch.linalg.LinAlgError:
    ...     print("singular")
    singular
    """


@contextlib.contextmanager
def checked(name: str, *tensors: Tensor, square: bool = False) -> Iterator[None]:
    """Checks that tensors are matrices, and converts the engine's errors to PyTorch's class within a `with` block.

    Raises
    ------
    RuntimeError
        If a tensor is not a (batch of) matrices of floats.
    LinAlgError
        If a decomposition does not exist.
    """
    matrices(name, *tensors, square=square)
    try:
        yield
    except RuntimeError:
        raise
    except Exception as error:
        if type(error).__name__ != "LinAlgError":
            raise
        raise LinAlgError(f"{name}: {error}") from None


def matrices(name: str, *tensors: Tensor, square: bool = False) -> None:
    """Checks that tensors are (batches of) matrices of floats.

    Raises
    ------
    RuntimeError
        If they are not.
    """
    for a in tensors:
        if a.ndim < 2:
            raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
        if square and a.dims[-1] != a.dims[-2]:
            raise RuntimeError(
                f"{name}: A must be batches of square matrices, but they are {a.dims[-2]} by {a.dims[-1]} matrices"
            )
        if a.dtype_name not in ("float32", "float64", "complex64", "complex128"):
            raise RuntimeError(
                f"{name}: Expected a floating point or complex tensor of single or double precision as input. Got "
                f"{a.dtype_name}"
            )
        if a.dtype_name != tensors[0].dtype_name:
            raise RuntimeError(
                f"{name}: Expected A and B to have the same dtype, but found A of type {tensors[0].dtype_name} and B "
                f"of type {a.dtype_name} instead"
            )


def eye(n: int, like: Tensor) -> Tensor:
    """Returns an identity matrix."""
    return identity(n, dtype=like.dtype, device=like.device)


def diagonals(a: Tensor) -> Tensor:
    """Returns the diagonals of matrices."""
    return a.diagonal(0, -2, -1)


def embedded(d: Tensor) -> Tensor:
    """Returns matrices with vectors on their diagonals."""
    return d.unsqueeze(-1) * eye(d.dims[-1], d)


def off_diagonal(a: Tensor) -> Tensor:
    """Returns matrices with their diagonals set to zero."""
    n = a.dims[-1]
    row = _core.t_iota([n, n], [1, 0], 0, a.device_name)
    column = _core.t_iota([n, n], [0, 1], 0, a.device_name)
    return _core.t_map("where", row == column, 0, a)


def gaps(values: Tensor) -> Tensor:
    """Returns the difference of each pair of values (column minus row), with 1 on the diagonal."""
    return values.unsqueeze(-2) - values.unsqueeze(-1) + eye(values.dims[-1], values)


def arrays(*tensors: Tensor) -> list[Any]:
    """Returns the memory of tensors as arrays."""
    return [t.as_array() for t in tensors]


def has_nan(x: Tensor) -> Tensor:
    """Returns, for each matrix of a batch, whether it contains NaN."""
    if not x.dims[-1]:
        return _core.t_full(list(x.dims[:-2]), False, "bool", x.device_name)
    return _core.t_reduce("max", _core.t_map("isnan", x), [-2, -1], False)
