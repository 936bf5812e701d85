"""Tensors of random numbers, and the generators of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch._args import astype, sizes, write_out
from cuprous.torch._creation import _configured, _extents, _like, _options, from_numpy
from cuprous.torch._types import device as _device
from cuprous.torch._types import resolve_device


class Generator:
    """A random number generator whose numbers are the same on every device.

    They differ from PyTorch's for the same seed.

    Parameters
    ----------
    device : device or str, optional
        The device of the generator, which does not change its numbers.

    See Also
    --------
    torch.manual_seed

    Examples
    --------
    >>> g = torch.Generator().manual_seed(0)
    >>> a = torch.rand(2, generator=g)
    >>> g = g.manual_seed(0)
    >>> torch.equal(a, torch.rand(2, generator=g))
    True
    """

    def __init__(self, device: Any = None) -> None:
        self.device = _device(resolve_device(device or "cpu"))
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Sets the seed and starts from its first number.

        Parameters
        ----------
        seed : int
            An integer.

        Returns
        -------
        Generator
            The generator itself.

        Examples
        --------
        >>> torch.Generator().manual_seed(7).initial_seed()
        7
        """
        self._seed, self._position = int(seed) & (1 << 64) - 1, _core.Counter(0)
        return self

    def initial_seed(self) -> int:
        """Returns the seed.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.Generator().manual_seed(7).initial_seed()
        7
        """
        return self._seed

    def seed(self) -> int:
        """Sets a seed from the operating system's entropy and returns it.

        Returns
        -------
        int

        Examples
        --------
        >>> g = torch.Generator()
        >>> g.seed() == g.initial_seed()
        True
        """
        import secrets

        return self.manual_seed(secrets.randbits(63)).initial_seed()

    def get_state(self) -> Tensor:
        """Returns the state: the seed and the position in its sequence.

        Returns
        -------
        Tensor
            A uint8 tensor.

        Examples
        --------
        >>> g = torch.Generator().manual_seed(0)
        >>> state = g.get_state()
        >>> a = torch.rand(2, generator=g)
        >>> g.set_state(state)
        >>> torch.equal(a, torch.rand(2, generator=g))
        True
        """
        import numpy as np

        return from_numpy(np.array([self._seed, self._position.value], np.uint64).view(np.uint8))

    def set_state(self, new_state: Tensor) -> None:
        """Restores a state that `get_state` returned.

        Parameters
        ----------
        new_state : Tensor
            A state from `get_state`.

        Examples
        --------
        >>> g = torch.Generator()
        >>> g.set_state(torch.Generator().manual_seed(5).get_state())
        >>> g.initial_seed()
        5
        """
        import numpy as np

        seed, position = new_state.cpu().numpy().view(np.uint64)
        self.manual_seed(int(seed))._position.value = int(position)

    def draw(self, kind: str, shape: Sequence[int], device_name: str) -> Tensor:
        """Returns the next random numbers of a distribution.

        Parameters
        ----------
        kind : str
            The name of the distribution in the engine, such as "random_unit32".
        shape : sequence of ints
            The extents.
        device_name : str
            The device of the result.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> torch.Generator().draw("random_unit32", [2], "cpu").shape
        torch.Size([2])
        """
        size = min(math.prod(max(n, 0) for n in shape), 2**62)  # t_random refuses impossible shapes
        # One block of the counter-based generator yields four 32-bit words or two 64-bit words, so advancing by one
        # block for each element is more than enough.
        return _core.t_random(kind, list(shape), self._seed, self._position.take(size), device_name)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator.

    Parameters
    ----------
    seed : int
        An integer.

    Returns
    -------
    Generator
        The default generator.

    See Also
    --------
    torch.seed, torch.initial_seed, torch.get_rng_state, torch.set_rng_state, torch.Generator

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> a = torch.rand(2)
    >>> _ = torch.manual_seed(0)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds the default generator from the operating system's entropy.

    Returns
    -------
    int
        The seed, an integer.

    See Also
    --------
    torch.initial_seed, torch.get_rng_state, torch.set_rng_state, torch.manual_seed

    Examples
    --------
    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Returns the default generator's seed.

    Returns
    -------
    int

    See Also
    --------
    torch.get_rng_state, torch.set_rng_state, torch.manual_seed, torch.seed

    Examples
    --------
    >>> _ = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Returns the default generator's state.

    Returns
    -------
    Tensor
        A uint8 tensor.

    See Also
    --------
    torch.set_rng_state, torch.manual_seed, torch.seed, torch.initial_seed

    Examples
    --------
    >>> state = torch.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restores the default generator's state.

    Parameters
    ----------
    new_state : Tensor
        A state from `get_rng_state`.

    See Also
    --------
    torch.manual_seed, torch.seed, torch.initial_seed, torch.get_rng_state

    Examples
    --------
    >>> torch.set_rng_state(torch.get_rng_state())
    """
    default_generator.set_state(new_state)


def draw_floats(kind: str, shape: Sequence[int], name: str, device_name: str, generator: Any = None) -> Tensor:
    """Returns uniform ("unit") or normal random numbers of a float or complex dtype. Complex ones have independent
    parts; the parts of normal ones have variance 1/2.

    Raises
    ------
    RuntimeError
        For other dtypes.
    """
    if name in ("complex64", "complex128"):
        part = "float32" if name == "complex64" else "float64"
        real, imaginary = (draw_floats(kind, shape, part, device_name, generator) for _ in range(2))
        drawn = _core.t_map("make_complex", real, imaginary)
        return drawn if kind == "unit" else _core.t_map("multiply", drawn, math.sqrt(0.5))
    if name not in ("float16", "bfloat16", "float32", "float64"):
        raise RuntimeError(f'"{kind}" not implemented for {name!r}')
    wide = name == "float64"
    result = (generator or default_generator).draw(f"random_{kind}{64 if wide else 32}", shape, device_name)
    return astype(result, name)


def draw_unit(like: Tensor, shape: Sequence[int] | None = None, generator: Any = None) -> Tensor:
    """Returns uniform random numbers in [0, 1) of at least single precision, by default one for each element."""
    name = "float64" if like.dtype_name == "float64" else "float32"
    return draw_floats("unit", like.dims if shape is None else shape, name, like.device_name, generator)


def _floats(function: str, kind: str, doc: str) -> Callable[..., Tensor]:
    def make(*sizes_: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False,
             pin_memory: bool = False) -> Tensor:  # fmt: skip
        name, device_name = _options(function, out, dtype, device, layout)
        draw = draw_floats(kind, _extents(sizes_, size), name, device_name, generator)
        return _configured(draw, requires_grad, pin_memory, out)

    return named(
        make,
        function,
        f"""{doc}

    Parameters
    ----------
    *sizes_ : int or sequence of ints
        The extents, as integers or as one sequence.
    size : int or sequence of ints, optional
        The extents as a sequence, in place of `sizes_`.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of the given extents, of a floating dtype.

    See Also
    --------
    torch.{function}_like, {related_names(function, "rand randn randint normal")}

    Examples
    --------
    >>> torch.{function}(2, 3).shape
    torch.Size([2, 3])
    """,
    )


rand = _floats("rand", "unit", "Returns uniform random numbers in [0, 1).")


randn = _floats("randn", "normal", "Returns normal random numbers with mean 0 and standard deviation 1.")


def draw_integers(low: int, high: int, shape: Sequence[int], device_name: str, generator: Any = None) -> Tensor:
    """Returns random integers in [low, high) as int64. Their probabilities differ by at most one part in 2**(64 - bits
    of the range)."""
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    bits = (generator or default_generator).draw("random_bits64", shape, device_name)
    # 63 bits, so that the remainder of a signed integer is not negative.
    positive = _core.t_cast(_core.t_map("right_shift", bits, 1, dtype="uint64"), "int64")
    return _core.t_map("add", _core.t_map("remainder", positive, high - low, dtype="int64"), low, dtype="int64")


def randint(*args: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
            device: Any = None, requires_grad: bool = False, low: int | None = None, high: int | None = None,
            size: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns random integers from `low` to below `high`.

    Parameters
    ----------
    *args : any
        `low`, which is 0 by default, `high` and `size`.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default int64.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    low : int, optional
        The least integer.
    high : int, optional
        The bound, which is not included.
    size : int or sequence of ints, optional
        The extents.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    Raises
    ------
    TypeError
        If `high` or `size` is missing.

    See Also
    --------
    torch.randperm, torch.normal, torch.rand, torch.randn

    Examples
    --------
    >>> x = torch.randint(0, 10, (3,))
    >>> x.shape, bool((x < 10).all())
    (torch.Size([3]), True)
    """
    given = list(args)
    if size is None and given and not isinstance(given[-1], int):
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if low is None and given:
        low = given.pop()
    if size is None or high is None or given:
        raise TypeError("randint() takes (high, size) or (low, high, size)")
    name, device_name = _options("randint", out, dtype, device, layout, "int64")
    result = draw_integers(low or 0, high, sizes((size,)), device_name, generator)
    return _configured(astype(result, name), requires_grad, pin_memory, out)


def randperm(n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns a random permutation of the integers from 0 to below n: the order that sorts random 64-bit keys.

    Parameters
    ----------
    n : int
        The number of integers.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default int64.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of shape (n).

    See Also
    --------
    torch.normal, torch.rand, torch.randn, torch.randint

    Examples
    --------
    >>> torch.randperm(5).sort().values
    tensor([0, 1, 2, 3, 4])
    """
    name, device_name = _options("randperm", out, dtype, device, layout, "int64")
    keys = (generator or default_generator).draw("random_bits64", [n], device_name)
    order = _core.t_wrap(_core.argsort(keys.as_array()))
    return _configured(astype(order, name), requires_grad, pin_memory, out)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None,
           dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Returns normal random numbers with a mean and a standard deviation, either of which may be a tensor.

    Parameters
    ----------
    mean : Tensor or number, default 0.0
        The mean, a number or tensor.
    std : Tensor or number, default 1.0
        The standard deviation, a number or tensor.
    size : int or sequence of ints, optional
        The extents, if neither is a tensor.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.rand, torch.randn, torch.randint, torch.randperm

    Examples
    --------
    >>> torch.normal(0.0, 1.0, (2, 3)).shape
    torch.Size([2, 3])
    """
    like = mean if isinstance(mean, Tensor) else std if isinstance(std, Tensor) else None
    if like is None:
        name, device_name = _options("normal", out, dtype, device, layout)
        drawn = draw_floats("normal", sizes((size or (),)), name, device_name, generator) * std + mean
    else:
        drawn = randn_like(mean + std * 0.0 if isinstance(mean, Tensor) else like, generator=generator) * std + mean
    return _configured(drawn, requires_grad, pin_memory, out)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Returns ones with the given probabilities, and zeros otherwise.

    Parameters
    ----------
    input : Tensor
        The probabilities, a floating tensor of any shape.
    p : float, optional
        One probability for all elements, in place of those of `input`.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.poisson

    Examples
    --------
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    drawn = draw_unit(input, generator=generator) < (input.detach() if p is None else p)
    return write_out(out, _core.t_cast(drawn, input.dtype_name))


rand_like = _like("rand_like", lambda t, **options: rand(t.dims, **options))


randn_like = _like("randn_like", lambda t, **options: randn(t.dims, **options))


randint_like = _like("randint_like", lambda t, *bounds, **options: randint(*bounds, size=t.dims, **options), "10")


__all__ = [
    "Generator", "bernoulli", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "normal", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip
