"""Jacobians, Hessians and their products with vectors: `torch.autograd.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining
from cuprous.torch._args import unsupported, zeros_like
from cuprous.torch.autograd._modes import enable_grad


def _tuple(given: Any, what: str) -> tuple[bool, list[Tensor]]:
    many = isinstance(given, (tuple, list))
    tensors = list(given) if many else [given]
    for k, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"The {what} must be either a Tensor or a tuple of Tensors but the value at index {k} has "
                            f"type {type(t)}.")  # fmt: skip
    return many, tensors


def _requiring_grad(inputs: list[Tensor], create_graph: bool) -> list[Tensor]:
    """Returns inputs as tensors that require gradients."""
    if create_graph:
        return [x.clone() if x.requires_grad else x.detach().requires_grad_() for x in inputs]
    return [x.detach().requires_grad_() for x in inputs]


def _grads(outputs: list[Tensor], inputs: list[Tensor], seeds: list[Any], create_graph: bool, strict: bool = False,
           retain: bool = True) -> list[Tensor]:  # fmt: skip
    pairs = [(y, g) for y, g in zip(outputs, seeds, strict=True) if y.requires_grad]
    found: list[Any] = [None] * len(inputs)
    if pairs:
        found = _core.t_grad([y for y, _ in pairs], inputs, [g for _, g in pairs], retain, create_graph)
    if strict and any(g is None for g in found):
        raise RuntimeError("The output of the user-provided function is independent of one of the inputs. This is not "
                           "allowed in strict mode.")  # fmt: skip
    return [zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def _call(func: Callable[..., Any], inputs: list[Tensor]) -> tuple[bool, list[Tensor]]:
    with enable_grad():
        return _tuple(func(*inputs), "outputs of the user-provided function")


def rows_of(output: Tensor, inputs: list[Tensor], create_graph: bool, strict: bool = False) -> list[Tensor]:
    """Returns the Jacobian of one output with respect to each input, of shape (output's shape, input's shape)."""
    flat = output.reshape(-1)
    rows = [
        _grads([flat[k]], inputs, [None], create_graph, strict)
        if output.requires_grad
        else [zeros_like(x) for x in inputs]
        for k in range(flat.numel())
    ]
    return [
        _joining.stack([row[k] for row in rows]).reshape([*output.dims, *x.dims])
        if rows
        else _core.t_full([*output.dims, *x.dims], 0, x.dtype_name, x.device_name)
        for k, x in enumerate(inputs)
    ]


def _packed(values: list[Any], many: bool) -> Any:
    return tuple(values) if many else values[0]


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:  # fmt: skip
    """Returns the Jacobian of the outputs with respect to the inputs.

    Parameters
    ----------
    func : callable
        The function; it takes and returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments, a tensor or a tuple of tensors.
    create_graph : bool, default False
        Whether the result can be differentiated.
    strict : bool, default False
        Whether an output that does not depend on an input is an error.
    vectorize : bool, default False
        Has no effect; rows are recorded one by one and fused.
    strategy : str, default "reverse-mode"
        "reverse-mode".

    Returns
    -------
    Tensor
        A tensor of the output's shape followed by the input's. For tuples it is a tuple (over outputs) of tuples (over
        inputs).

    See Also
    --------
    torch.autograd.functional.hessian

    Examples
    --------
    >>> torch.autograd.functional.jacobian(torch.square, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    unsupported("jacobian", strategy=(strategy, "reverse-mode"))
    many, given = _tuple(inputs, "inputs given to jacobian")
    xs = _requiring_grad(given, create_graph)
    several, outputs = _call(func, xs)
    found = [_packed(rows_of(y, xs, create_graph, strict), many) for y in outputs]
    return _packed(found, several)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:  # fmt: skip
    """Returns the second derivatives of a scalar function.

    Parameters
    ----------
    func : callable
        The function; it takes and returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments, a tensor or a tuple of tensors.
    create_graph : bool, default False
        Whether the result can be differentiated.
    strict : bool, default False
        Whether an output that does not depend on an input is an error.
    vectorize : bool, default False
        Has no effect.
    outer_jacobian_strategy : str, default "reverse-mode"
        "reverse-mode".

    Returns
    -------
    Tensor
        A tensor of the input's shape twice; for a tuple of inputs, a tuple of tuples.

    See Also
    --------
    torch.autograd.functional.jacobian

    Examples
    --------
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many, given = _tuple(inputs, "inputs given to hessian")

    def slope(*xs: Tensor) -> Any:
        _, outputs = _call(func, list(xs))
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return tuple(_grads([outputs[0].reshape(())], list(xs), [None], True, strict))

    found = jacobian(slope, tuple(given), create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many else found[0][0]


def _vector(v: Any, like: list[Tensor], what: str) -> list[Any]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {what} contains a single element.")
        return [None]
    _, vectors = _tuple(v, "vector")
    for x, t in zip(like, vectors, strict=True):
        if x.dims != t.dims:
            raise RuntimeError(f"v has invalid size: should be {x.shape} but got {t.shape}.")
    return vectors


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """Returns the outputs, and the product of a vector with the Jacobian.

    Parameters
    ----------
    func : callable
        The function; it takes and returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments, a tensor or a tuple of tensors.
    v : Tensor or tuple of Tensors, optional
        The vector, of the outputs' shape; it may be left out for one element.
    create_graph : bool, default False
        Whether the result can be differentiated.
    strict : bool, default False
        Whether an output that does not depend on an input is an error.

    Returns
    -------
    tuple
        The pair of both.

    See Also
    --------
    torch.autograd.functional.hvp, torch.autograd.functional.vhp, torch.autograd.functional.jvp

    Examples
    --------
    >>> torch.autograd.functional.vjp(torch.square, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    many, given = _tuple(inputs, "inputs given to vjp")
    xs = _requiring_grad(given, create_graph)
    several, outputs = _call(func, xs)
    found = _grads(outputs, xs, _vector(v, outputs, "the user-provided function returns"), create_graph, strict)
    outputs = outputs if create_graph else [y.detach() for y in outputs]
    return _packed(outputs, several), _packed(found, many)


def pushed(outputs: list[Tensor], xs: list[Tensor], vectors: list[Tensor], create_graph: bool,
           strict: bool = False) -> list[Tensor]:  # fmt: skip
    """Returns the product of the Jacobian with a vector. The vector-Jacobian product is linear in its vector, and its
    derivative with respect to that vector gives the result."""
    seeds = [zeros_like(y).requires_grad_() for y in outputs]
    back = _grads(outputs, xs, list(seeds), True, strict)
    return _grads(back, seeds, list(vectors), create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """Returns the outputs, and the product of the Jacobian with a vector.

    Parameters
    ----------
    func : callable
        The function; it takes and returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments, a tensor or a tuple of tensors.
    v : Tensor or tuple of Tensors, optional
        The vector, of the inputs' shape; it may be left out for one element.
    create_graph : bool, default False
        Whether the result can be differentiated.
    strict : bool, default False
        Whether an output that does not depend on an input is an error.

    Returns
    -------
    tuple
        The pair of both.

    Raises
    ------
    RuntimeError
        With `strict`, if the outputs do not depend on an input.

    See Also
    --------
    torch.autograd.functional.vjp, torch.autograd.functional.hvp, torch.autograd.functional.vhp

    Examples
    --------
    >>> torch.autograd.functional.jvp(torch.square, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    _, given = _tuple(inputs, "inputs given to jvp")
    xs = _requiring_grad(given, create_graph)
    several, outputs = _call(func, xs)
    vectors = [zeros_like(x) + 1 if t is None else t for x, t in zip(xs, _vector(v, xs, "the input"), strict=True)]
    found = pushed(outputs, xs, vectors, create_graph, strict)
    outputs = outputs if create_graph else [y.detach() for y in outputs]
    return _packed(outputs, several), _packed(found, several)


def _slopes(func: Callable[..., Any], xs: list[Tensor], name: str) -> tuple[Tensor, list[Tensor]]:
    _, outputs = _call(func, xs)
    if len(outputs) != 1 or outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs[0], _grads([outputs[0].reshape(())], xs, [None], True)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """Returns the output, and the product of a vector with the Hessian.

    Parameters
    ----------
    func : callable
        The function; it takes and returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments, a tensor or a tuple of tensors.
    v : Tensor or tuple of Tensors, optional
        The vector; it may be left out for one element.
    create_graph : bool, default False
        Whether the result can be differentiated.
    strict : bool, default False
        Whether an output that does not depend on an input is an error.

    Returns
    -------
    tuple
        The pair of both.

    See Also
    --------
    torch.autograd.functional.jvp, torch.autograd.functional.vjp, torch.autograd.functional.hvp

    Examples
    --------
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    many, given = _tuple(inputs, "inputs given to vhp")
    xs = _requiring_grad(given, create_graph)
    output, slopes = _slopes(func, xs, "vhp")
    found = _grads(slopes, xs, _vector(v, xs, "the input"), create_graph, strict)
    return output if create_graph else output.detach(), _packed(found, many)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """Returns the output, and the product of the Hessian with a vector.

    Parameters
    ----------
    func : callable
        The function; it takes and returns a tensor or a tuple of tensors.
    inputs : Tensor or sequence of Tensors
        Its arguments, a tensor or a tuple of tensors.
    v : Tensor or tuple of Tensors, optional
        The vector; it may be left out for one element.
    create_graph : bool, default False
        Whether the result can be differentiated.
    strict : bool, default False
        Whether an output that does not depend on an input is an error.

    Returns
    -------
    tuple
        The pair of both.

    See Also
    --------
    torch.autograd.functional.vhp, torch.autograd.functional.jvp, torch.autograd.functional.vjp

    Examples
    --------
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return vhp(func, inputs, v, create_graph, strict)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
