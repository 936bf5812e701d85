"""The special functions of tensors that are computed by those of arrays, with their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.scipy import special as _special
from cuprous.torch import _reductions
from cuprous.torch._args import astype, tensor_of, write_out
from cuprous.torch._gamma_functions import polygamma
from cuprous.torch.autograd import Function

_map = _core.t_map

_Derivative = Callable[..., "Tensor | None"]


def _differentiable(of_arrays: Any, derivatives: Sequence[_Derivative | None]) -> Callable[..., Tensor]:
    """Returns a function of tensors from one of arrays and its partial derivatives; None stands for an unknown one."""

    class Special(Function):
        @staticmethod
        def forward(ctx: Any, *operands: Tensor) -> Tensor:
            ctx.save_for_backward(*operands)
            dtype = _core.t_result_type(*operands)
            if dtype not in ("float16", "bfloat16"):
                return _core.t_wrap(of_arrays(*(x.as_array() for x in operands)))
            wide = (_core.t_cast(x, "float32").as_array() for x in operands)
            return astype(_core.t_wrap(of_arrays(*wide)), dtype)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            operands = ctx.saved_tensors
            found = []
            for operand, needed, derivative in zip(operands, ctx.needs_input_grad, derivatives, strict=True):
                part = g * derivative(*operands) if needed and derivative is not None else None
                found.append(None if part is None else _summed(part, operand))
            return tuple(found)

    def compute(*operands: Any) -> Tensor:
        like = next((x for x in operands if isinstance(x, Tensor)), None)
        tensors = [tensor_of(x, like) for x in operands]
        if not all(x.is_floating_point() for x in tensors):  # integers are cast to the dtype of the others
            floats = [x for x in tensors if x.is_floating_point()]
            dtype = _core.t_result_type(*floats) if floats else _core.t_default_dtype()
            tensors = [x if x.is_floating_point() else astype(x, dtype) for x in tensors]
        if _core.is_grad_enabled():
            for x, derivative in zip(tensors, derivatives, strict=True):
                if x.requires_grad and derivative is None:
                    raise NotImplementedError(
                        f"[special] the derivative for this argument of {of_arrays.__name__} is not implemented; pass "
                        "detach() of it"
                    )
        return cast("Tensor", Special.apply(*tensors))

    return compute


def _summed(gradient: Tensor, operand: Tensor) -> Tensor:
    """Returns the sum over the dimensions along which an operand was broadcast."""
    extra = gradient.ndim - operand.ndim
    dims = [d for d in range(gradient.ndim) if d < extra or operand.dims[d - extra] != gradient.dims[d]]
    return _reductions.sum(gradient, dims, True).reshape(operand.dims) if dims else gradient


#: Groups of related functions of `torch.special`.
_GROUPS = (
    "bessel_j0 bessel_j1 bessel_y0 bessel_y1", "modified_bessel_i0 modified_bessel_i1",
    "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1",
    "i0 i0e i1 i1e", "erf erfc erfcx erfinv", "gammainc gammaincc gammaln digamma", "entr xlogy xlog1py",
    "ndtr ndtri log_ndtr erf", "zeta polygamma",
    *(f"{k}chebyshev_polynomial_t {k}chebyshev_polynomial_u {k}chebyshev_polynomial_v {k}chebyshev_polynomial_w"
      for k in ("", "shifted_")),
    "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p",
)  # fmt: skip


def _related(name: str) -> str:
    return related_names(name, next(group for group in _GROUPS if name in group.split()), "torch.special")


def _documented(name: str, function: Callable[..., Tensor], summary: str, operands: str, example: str) -> Any:
    """Returns the public form of a function, for one operand or two."""

    def of_one(input: Any, *, out: Tensor | None = None) -> Tensor:
        return write_out(out, function(input))

    def of_two(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        return write_out(out, function(input, other))

    two = "other :" in operands
    call, result = example.split(" -> ")
    return named(
        of_two if two else of_one,
        name,
        f"""{summary}

    Parameters
    ----------
    {operands}
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A floating tensor of the shape {"that the operands broadcast to" if two else "of `input`"}.

    See Also
    --------
    {_related(name)}

    Examples
    --------
    >>> torch.special.{name}({call})
    {result}
    """,
    )


def row(name: str, ours: str, derivatives: Sequence[_Derivative | None], result: str) -> Callable[..., Tensor]:
    of_arrays = getattr(_special, ours or name)
    two = len(derivatives) == 2
    operands = """input : Tensor or number
        The parameter a, a real tensor or number.
    other : Tensor or number
        The argument x, a tensor or number that broadcasts with `input`.""" if two else (
        "input : Tensor\n        A tensor of any shape, of a real dtype.")  # fmt: skip
    call = f"{'torch.tensor([1.0, 2.0]), ' * two}torch.tensor([0.5, 1.0])"
    function = _differentiable(of_arrays, derivatives)
    return cast("Any", _documented(name, function, of_arrays._doc, operands, f"{call} -> tensor({result})"))


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    return _map("exp", (a - 1) * _map("log", x) - x - _map("gammaln", a))


def _of_i1(x: Tensor) -> Tensor:
    """Returns the derivative of i1, which is 1/2 at 0."""
    zero = _map("equal", x, 0)
    safe = _map("where", zero, 1, x)
    return _map("where", zero, 0.5, FUNCTIONS["i0"](safe) - FUNCTIONS["i1"](safe) / safe)


def _of_i1e(x: Tensor) -> Tensor:
    zero = _map("equal", x, 0)
    safe = _map("where", zero, 1, x)
    return _map("where", zero, 0.5, FUNCTIONS["i0e"](safe) - FUNCTIONS["i1e"](safe) * (_map("sign", safe) + 1 / safe))


#: Functions of SciPy's that are functions of tensors here: name, SciPy's name, derivatives, and what an example prints.
_ROWS: tuple[tuple[str, str, tuple[_Derivative | None, ...], str], ...] = (
    ("bessel_j0", "j0", (None,), "[0.9385, 0.7652]"), ("bessel_j1", "j1", (None,), "[0.2423, 0.4401]"),
    ("bessel_y0", "y0", (None,), "[-0.4445,  0.0883]"), ("bessel_y1", "y1", (None,), "[-1.4715, -0.7812]"),
    ("erfcx", "", (lambda x: 2 * x * FUNCTIONS["erfcx"](x) - 2 / math.sqrt(math.pi),), "[0.6157, 0.4276]"),
    ("gammainc", "", (None, _gamma_density), "[0.3935, 0.2642]"),
    ("gammaincc", "", (None, lambda a, x: -_gamma_density(a, x)), "[0.6065, 0.7358]"),
    ("entr", "", (lambda x: -1 - _map("log", x),), "[0.3466, -0.0000]"),
    ("i0", "", (lambda x: FUNCTIONS["i1"](x),), "[1.0635, 1.2661]"),
    ("i0e", "", (lambda x: FUNCTIONS["i1e"](x) - _map("sign", x) * FUNCTIONS["i0e"](x),), "[0.6450, 0.4658]"),
    ("i1", "", (_of_i1,), "[0.2579, 0.5652]"), ("i1e", "", (_of_i1e,), "[0.1564, 0.2079]"),
    ("log_ndtr", "", (lambda x: math.sqrt(2 / math.pi) / FUNCTIONS["erfcx"](-x * math.sqrt(0.5)),),
     "[-0.3689, -0.1728]"),
    ("ndtri", "", (lambda p: math.sqrt(2 * math.pi) * _map("exp", FUNCTIONS["ndtri"](p) ** 2 / 2),), "[0., inf]"),
    ("modified_bessel_i0", "i0", (None,), "[1.0635, 1.2661]"),
    ("modified_bessel_i1", "i1", (None,), "[0.2579, 0.5652]"),
    ("modified_bessel_k0", "k0", (None,), "[0.9244, 0.4210]"),
    ("modified_bessel_k1", "k1", (None,), "[1.6564, 0.6019]"),
    ("scaled_modified_bessel_k0", "k0e", (None,), "[1.5241, 1.1445]"),
    ("scaled_modified_bessel_k1", "k1e", (None,), "[2.7310, 1.6362]"),
    )  # fmt: skip


FUNCTIONS: dict[str, Callable[..., Tensor]] = {found[0]: row(*found) for found in _ROWS}

_zeta = _differentiable(_special.zeta, (None, lambda s, q: -s * zeta(s + 1, q)))
_polygamma = _differentiable(_special.polygamma, (None, lambda n, x: polygamma(int(n) + 1, x)))


def zeta(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns the Hurwitz zeta function, the sum of (k + other)**-input.

    Parameters
    ----------
    input : Tensor or number
        The exponent, a tensor or number above 1; it has no derivative.
    other : Tensor or number
        The first term, a positive tensor or number.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A floating tensor of the shape that the operands broadcast to.

    See Also
    --------
    torch.special.polygamma

    Examples
    --------
    >>> torch.special.zeta(torch.tensor([2.0, 4.0]), torch.tensor([1.0, 1.0]))
    tensor([1.6449, 1.0823])
    """
    return write_out(out, _zeta(input, other))


def polygamma_of(n: int, input: Tensor) -> Tensor:
    """Returns the n-th derivative of the digamma function, for n above 0."""
    order = _core.t_full([], n, "float64" if input.dtype_name == "float64" else "float32", input.device_name)
    return astype(_polygamma(order, input), order.dtype_name)


def recurrence(first: _Start, second: _Start, step: _Step, x: Any, n: Any) -> Tensor:
    """Returns polynomials of an orthogonal family by their recurrence: P(k + 1) = step(k, x, P(k), P(k - 1)).

    The degrees are read on the host and truncated to integers. Negative ones and NaN give 0.

    Raises
    ------
    NotImplementedError
        For degrees above 100,000: each takes a step of its own.
    """
    x = _floating(tensor_of(x, n if isinstance(n, Tensor) else None))
    if not isinstance(n, Tensor):
        return _degree(first, second, step, x, _checked_degree(n))
    n = _map("trunc", n) if n.is_floating_point() else n
    degrees = {d for d in _flat(n.tolist() if n.ndim else [n.item()]) if d == d}
    found = _constant(x + n, 0)
    x = astype(x, found.dtype_name)
    for degree in sorted(map(_checked_degree, degrees)):
        found = _map("where", _map("equal", n, degree), _degree(first, second, step, x, degree), found)
    return found


#: The largest degree of a polynomial.
_MOST_DEGREES = 100_000


def _checked_degree(n: Any) -> int:
    if n > _MOST_DEGREES:
        raise NotImplementedError(f"[special] polynomials have degrees of at most {_MOST_DEGREES} here, but got {n}")
    return int(max(n, -1)) if n == n else -1


def _flat(values: Any) -> list[Any]:
    return [v for part in values for v in _flat(part)] if isinstance(values, list) else [values]


def _degree(first: _Start, second: _Start, step: _Step, x: Tensor, n: int) -> Tensor:
    before, now = first(x), second(x)
    if n < 1:
        return before if n == 0 else _constant(x, 0)
    for k in range(1, n):
        before, now = now, step(k, x, now, before)
    return now


_Start = Callable[[Tensor], Tensor]
_Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]


def _floating(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else astype(x, _core.t_default_dtype())


def _constant(x: Tensor, value: float) -> Tensor:
    return _core.t_full(list(x.dims), value, x.dtype_name, x.device_name)


def _one(x: Tensor) -> Tensor:
    return _constant(x, 1)


def _twice(_: int, x: Tensor, now: Tensor, before: Tensor) -> Tensor:
    return 2 * x * now - before


#: Families of polynomials: the summary, P1, the recurrence, whether x stands for 2 x - 1, and what an example prints.
_FAMILIES: dict[str, tuple[str, _Start, _Step, bool, str]] = {
    "chebyshev_polynomial_t": ("Chebyshev polynomials of the first kind", lambda x: x, _twice, False, "-0.5000"),
    "chebyshev_polynomial_u": ("Chebyshev polynomials of the second kind", lambda x: 2 * x, _twice, False, "0."),
    "chebyshev_polynomial_v": (
        "Chebyshev polynomials of the third kind", lambda x: 2 * x - 1, _twice, False, "-1."),
    "chebyshev_polynomial_w": (
        "Chebyshev polynomials of the fourth kind", lambda x: 2 * x + 1, _twice, False, "1."),
    "hermite_polynomial_h": (
        "Hermite polynomials of physics", lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before), False,
        "-1."),
    "hermite_polynomial_he": (
        "Hermite polynomials of probability theory", lambda x: x, lambda k, x, now, before: x * now - k * before, False,
        "-0.7500"),
    "laguerre_polynomial_l": (
        "Laguerre polynomials", lambda x: 1 - x,
        lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1), False, "0.1250"),
    "legendre_polynomial_p": (
        "Legendre polynomials", lambda x: x,
        lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1), False, "-0.1250"),
}  # fmt: skip
for _kind in "tuvw":
    _text, _second, _step_of, *_ = _FAMILIES[f"chebyshev_polynomial_{_kind}"]
    _FAMILIES[f"shifted_chebyshev_polynomial_{_kind}"] = (f"{_text} of 2 x - 1", _second, _step_of, True, "-1.")


def _family(name: str) -> Callable[..., Tensor]:
    summary, second, step, shifted, shown = _FAMILIES[name]

    def evaluate(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        x = 2 * _floating(tensor_of(input)) - 1 if shifted else input
        return write_out(out, recurrence(_one, second, step, x, n))

    return named(
        evaluate,
        name,
        f"""Returns {summary}.

    Parameters
    ----------
    input : Tensor or number
        The argument x, a tensor or number.
    n : Tensor or number
        The degree, a number or a tensor that broadcasts with `input`; it is read on the host.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    See Also
    --------
    {_related(name)}

    Examples
    --------
    >>> torch.special.{name}(torch.tensor(0.5), 2)
    tensor({shown})
    """,
    )


FUNCTIONS |= {name: _family(name) for name in _FAMILIES}
FUNCTIONS |= {"zeta": zeta, "polygamma": polygamma}

__all__ = ["FUNCTIONS", "polygamma", "polygamma_of", "zeta"]
