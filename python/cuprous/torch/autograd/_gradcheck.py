"""Comparison of gradients with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import unsupported


def _outputs(func: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    made = func(*inputs)
    made = list(made) if isinstance(made, (tuple, list)) else [made]
    return [y for y in made if isinstance(y, Tensor) and y.requires_grad]


def _analytical_jacobian(y: Tensor, inputs: list[Tensor]) -> list[list[Any]]:
    """Returns the gradients of each element of an output with respect to each input. Complex elements count as real and
    imaginary part."""
    import numpy as np  # imported here, because the rest of the package does not need it

    seeds = [1, 1j] if y.is_complex() else [1]
    rows = []
    for at in range(y.numel()):
        for seed in seeds:
            weights = np.zeros(y.numel(), y.dtype_name)
            weights[at] = seed
            g = _core.t_wrap(_core.from_numpy(weights.reshape(y.dims), y.device_name))
            found = _core.t_grad([y], inputs, [g], True, False)
            rows.append([None if d is None else d.detach().to_numpy() for d in found])
    return rows


def _parts(values: Any) -> Any:
    """Returns numbers as a vector of real numbers; complex ones become real and imaginary part."""
    import numpy as np

    flat = np.asarray(values).reshape(-1)
    return np.stack([flat.real, flat.imag], -1).reshape(-1) if np.iscomplexobj(flat) else flat


def _numerical_jacobian(func: Callable[..., Any], inputs: list[Any], k: int, eps: float) -> list[Any]:
    """Returns the derivatives of each output with respect to each real number in input k, by central differences, as
    arrays of shape (numbers, outputs)."""
    import numpy as np

    x = inputs[k]
    host = x.detach().to_numpy()
    columns = []
    for at in range(host.size):
        for step in (eps, 1j * eps) if x.is_complex() else (eps,):
            ends = []
            for sign in (1, -1):
                moved = host.reshape(-1).copy()
                moved[at] += sign * step
                shifted = list(inputs)
                shifted[k] = _core.t_wrap(_core.from_numpy(moved.reshape(x.dims), x.device_name))
                shifted[k].requires_grad = True  # for functions that compute derivatives themselves
                ends.append([_parts(y.detach().to_numpy()) for y in _outputs(func, shifted)])
            columns.append([(a - b) / (2 * eps) for a, b in zip(*ends, strict=True)])
    return (
        [np.array([column[position] for column in columns]) for position in range(len(columns[0]))] if columns else []
    )


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_forward_ad: bool = False,
              check_batched_forward_grad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:  # fmt: skip
    """Compares the gradients of a function of float64 (or complex128) tensors with central differences.

    Parameters
    ----------
    func : callable
        Returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments; those that require gradients are checked.
    eps : float, default 1e-06
        The step of the differences.
    atol : float, default 1e-05
        Absolute tolerance.
    rtol : float, default 0.001
        Relative tolerance.
    raise_exception : bool, default True
        Whether to raise an error rather than return False.
    nondet_tol : float, default 0.0
        How much the gradients of two backward passes may differ.
    check_undefined_grad : bool, default True
        Has no effect; each output is differentiated alone, without gradients of the others.
    check_grad_dtypes : bool, default False
        Has no effect; gradients always have the dtypes of their inputs.
    check_batched_grad : bool, default False
        For PyTorch's signature; only False.
    check_forward_ad : bool, default False
        For PyTorch's signature; only False.
    check_batched_forward_grad : bool, default False
        For PyTorch's signature; only False.
    check_backward_ad : bool, default True
        For PyTorch's signature; only True.
    fast_mode : bool, default False
        Has no effect; every element is checked.
    masked : bool, optional
        For PyTorch's signature; only None or False: tensors are dense.

    Returns
    -------
    bool
        True; False for gradients that differ with `raise_exception=False`.

    Raises
    ------
    RuntimeError
        If the gradients differ.
    ValueError
        If no input requires a gradient.

    See Also
    --------
    torch.autograd.gradgradcheck, torch.autograd.backward, torch.autograd.grad, torch.autograd.Function

    Examples
    --------
    >>> torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    import numpy as np

    unsupported("gradcheck", check_forward_ad=(check_forward_ad, False), check_batched_grad=(check_batched_grad, False),
                check_batched_forward_grad=(check_batched_forward_grad, False), masked=(masked or None, None),
                check_backward_ad=(check_backward_ad, True))  # fmt: skip
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    wanted = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")  # fmt: skip
    outputs = _outputs(func, inputs)
    # Computed now, so that the first backward pass is not fused with it and rounds as the second one does.
    _core.synchronize()
    rows, again = ([_analytical_jacobian(y, [inputs[k] for k in wanted]) for y in outputs] for _ in range(2))
    for position, (first, second) in enumerate(zip(rows, again, strict=True)):
        pairs = [(a, b) for ours, theirs in zip(first, second, strict=True) for a, b in zip(ours, theirs, strict=True)]
        if any(a is not None and (np.abs(a - b) > nondet_tol).any() for a, b in pairs):
            if not raise_exception:
                return False
            raise RuntimeError(
                f"Backward is not reentrant: two backward passes of output {position} differ by more than "
                f"nondet_tol={nondet_tol}"
            )
    for number, k in enumerate(wanted):
        for position, slopes in enumerate(_numerical_jacobian(func, inputs, k, eps)):
            size = len(slopes)
            exact = [np.zeros(size) if row[number] is None else _parts(row[number]) for row in rows[position]]
            found = np.array(exact).T.reshape(slopes.shape)
            bad = ~(np.abs(found - slopes) <= atol + rtol * np.abs(slopes))
            if bad.any():
                at, weight = (int(i) for i in np.argwhere(bad)[0])
                if not raise_exception:
                    return False
                raise RuntimeError(
                    f"Jacobian mismatch for output {position} with respect to input {k}: element {at} of the input and "
                    f"{weight} of the output: numerical {slopes[at, weight]}, analytical {found[at, weight]}"
                )
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True, **options: Any,
) -> bool:  # fmt: skip
    """Compares second derivatives with differences of first derivatives.

    Parameters
    ----------
    func : callable
        The function; it returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments; those that require gradients are checked.
    grad_outputs : Tensor or sequence of Tensors, optional
        The weights of the outputs, random by default.
    eps : float, default 1e-06
        The step of the differences.
    atol : float, default 1e-05
        The absolute tolerance.
    rtol : float, default 0.001
        The relative tolerance.
    raise_exception : bool, default True
        Whether to raise an error rather than return False.
    **options : any
        Further keywords of `gradcheck`.

    Returns
    -------
    bool
        True; False for derivatives that differ with `raise_exception=False`.

    See Also
    --------
    torch.autograd.backward, torch.autograd.grad, torch.autograd.gradcheck

    Examples
    --------
    >>> torch.autograd.gradgradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    wanted = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    import numpy as np

    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)

        def draw(y: Tensor) -> Tensor:
            values = rng.normal(size=y.dims) + (1j * rng.normal(size=y.dims) if y.is_complex() else 0)
            return _core.t_wrap(_core.from_numpy(np.asarray(values, y.dtype_name), y.device_name))

        weights = [draw(y) for y in outputs]
    else:
        weights = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    for g in weights:
        g.requires_grad = True
    count = len(inputs)

    def slopes(*everything: Any) -> Any:
        given, seeds = list(everything[:count]), list(everything[count:])
        found = _core.t_grad(_outputs(func, given), [given[k] for k in wanted], seeds, True, True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        slopes, [*inputs, *weights], eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, **options
    )
