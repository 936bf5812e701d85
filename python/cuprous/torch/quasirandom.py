"""Sobol's sequences: numbers that fill a cube more evenly than random ones. They are computed on the host by SciPy."""

from __future__ import annotations

import warnings
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _random_numbers
from cuprous.torch._creation import from_numpy
from cuprous.torch._types import dtype_name, dtype_of


class SobolEngine:
    """Sobol's sequence in a cube, by SciPy's generator on the host. Points without scrambling are PyTorch's; scrambled
    ones are other random numbers.

    Parameters
    ----------
    dimension : int
        The number of dimensions.
    scramble : bool, default False
        Whether the points are shifted and permuted at random.
    seed : int, optional
        The seed of these; by default it is drawn from the default generator.

    Raises
    ------
    ImportError
        If SciPy is not installed.
    ValueError
        For more than 21201 dimensions.

    Examples
    --------
    >>> torch.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        if scramble and seed is None:
            seed = int(_random_numbers.randint(0, 2**31 - 1, (1,)))
        self.num_generated, self._chosen = 0, seed
        self.reset()

    def reset(self) -> SobolEngine:
        """Returns the engine at its first point."""
        try:
            from scipy.stats import qmc
        except ImportError:
            raise ImportError("[SobolEngine] points are computed by SciPy: pip install scipy") from None
        self._points = qmc.Sobol(self.dimension, scramble=self.scramble, bits=self.MAXBIT, rng=self._chosen)
        self.num_generated = 0
        return self

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Returns the next points, one a row.

        Parameters
        ----------
        n : int, default 1
            Their number.
        out : Tensor, optional
            A tensor of their shape that gets them.
        dtype : dtype, optional
            Their dtype, by default the default dtype.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers of points that are not powers of two
            host = self._points.random(n)
        self.num_generated += n
        name = _core.t_default_dtype() if dtype is None else dtype_name(dtype)
        found = from_numpy(host).to(dtype_of(name))
        return found if out is None else out.copy_(found)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Returns the next `2**m` points.

        Parameters
        ----------
        m : int
            The logarithm of their number.
        out : Tensor, optional
            A tensor that gets them.
        dtype : dtype, optional
            Their dtype, by default the default dtype.

        Raises
        ------
        ValueError
            If the number of all points would not be a power of two.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {total} points "
                             "would have been drawn; call reset() first, or draw()")  # fmt: skip
        return self.draw(2**m, out, dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Returns the engine after `n` more points.

        Parameters
        ----------
        n : int
            Their number.
        """
        self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        shown = f"SobolEngine(dimension={self.dimension}"
        shown += f", scramble={self.scramble}" if self.scramble else ""
        return shown + (f", seed={self.seed})" if self.seed is not None else ")")


__all__ = ["SobolEngine"]
