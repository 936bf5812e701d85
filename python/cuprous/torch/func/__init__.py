"""Function transformations: `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _pytree
from cuprous.torch._joining import stack
from cuprous.torch.autograd import functional
from cuprous.torch.func._vmap import vmap
from cuprous.torch.nn.utils.stateless import functional_call as call

#: The number of nested transformations that are running.
_level = [0]


class _Level:
    """Enables gradients within a transformation, whatever the mode outside."""

    def __enter__(self) -> None:
        _level[0] += 1
        self._previous = _core.set_grad_enabled(True)

    def __exit__(self, *_: Any) -> None:
        _level[0] -= 1
        _core.set_grad_enabled(self._previous)


def _alias(x: Any, what: str) -> Tensor:
    """Returns an alias of a tensor that requires gradients. If the tensor is part of a graph, so is the alias."""
    if not isinstance(x, Tensor) or not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{what}: expected tensors of floats as differentiated arguments, got {type(x).__name__}"
                           + (f" of {x.dtype_name}" if isinstance(x, Tensor) else ""))  # fmt: skip
    return x.clone() if x.requires_grad else x.detach().requires_grad_()


def _arguments(what: str, args: tuple[Any, ...], argnums: Any) -> tuple[list[Any], list[Any], list[Tensor]]:
    """Returns all arguments with those to differentiate replaced by aliases, these alone, and the tensors in them."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"{what}: argnums={argnums} but the function takes {len(args)} positional arguments")
    full = list(args)
    for n in numbers:
        full[n] = _pytree.tree_map(lambda x: _alias(x, what), args[n])
    chosen = [full[n] for n in numbers]
    return full, chosen, _pytree.leaves(chosen)


def _detach_results(tree: Any, inputs: list[Tensor]) -> Any:
    """Returns results detached from the graph, unless they also depend on tensors outside the transformation."""
    tensors = [t for t in _pytree.leaves(tree) if isinstance(t, Tensor) and t.requires_grad]
    fresh = [x for x in inputs if x.is_leaf]
    if _level[0] or len(fresh) < len(inputs) or not tensors or _core.t_other_leaves(tensors, fresh):
        return tree
    return _pytree.tree_map(lambda t: t.detach() if isinstance(t, Tensor) else t, tree)


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that computes the gradient of a scalar function, and its value.

    Parameters
    ----------
    func : callable
        A function of tensors.
    argnums : int or sequence of ints, default 0
        The index of the argument to differentiate, or several.
    has_aux : bool, default False
        Whether the function returns a pair of its value and another object.

    Returns
    -------
    callable
        A function that returns the pair `(gradients, value)`, or `(gradients, (value, aux))` with `has_aux`.

    Raises
    ------
    RuntimeError
        When called, if the value has more than one element.

    See Also
    --------
    torch.func.vjp, torch.func.jvp, torch.func.grad

    Examples
    --------
    >>> torch.func.grad_and_value(lambda x: x**2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        with _Level():
            full, chosen, inputs = _arguments("grad", args, argnums)
            output = func(*full, **kwargs)
            value, aux = output if has_aux else (output, None)
            if not isinstance(value, Tensor):
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a tensor, got "
                                   f"{type(value).__name__}")  # fmt: skip
            if value.ndim:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor "
                                   f"with {value.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs "
                                   "instead?")  # fmt: skip
            found = functional._grads([value], inputs, [None], True)
            gradient = _pytree.unflatten(chosen, list(found))
        gradient = gradient[0] if isinstance(argnums, int) else tuple(gradient)
        gradient, value, aux = _detach_results((gradient, value, aux), inputs)
        return gradient, (value, aux) if has_aux else value

    return called


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that computes the gradient of a scalar function.

    Parameters
    ----------
    func : callable
        A function of tensors.
    argnums : int or sequence of ints, default 0
        The index of the argument to differentiate, or several.
    has_aux : bool, default False
        Whether the function returns a pair of its value and another object.

    Returns
    -------
    callable
        A function that returns the gradients, or `(gradients, aux)` with `has_aux`.

    See Also
    --------
    torch.vmap, torch.func.grad_and_value, torch.func.vjp, torch.func.jvp

    Examples
    --------
    >>> torch.func.grad(torch.sin)(torch.tensor(0.0))
    tensor(1.)
    """
    both = grad_and_value(func, argnums, has_aux)

    def called(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return called


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Returns the outputs of a function, and a function that multiplies vectors with its Jacobian from the left.

    Parameters
    ----------
    func : callable
        A function of tensors.
    *primals : any
        The arguments.
    has_aux : bool, default False
        Whether the function returns a pair of its value and another object.

    Returns
    -------
    tuple
        The pair `(outputs, vjp_fn)`, or `(outputs, vjp_fn, aux)` with `has_aux`.

    See Also
    --------
    torch.func.jvp, torch.func.grad, torch.func.grad_and_value

    Examples
    --------
    >>> out, vjp_fn = torch.func.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]))
    >>> vjp_fn(torch.ones(2))
    (tensor([2., 4.]),)
    """
    with _Level():
        full, chosen, inputs = _arguments("vjp", primals, range(len(primals)))
        output = func(*full)
        output, aux = output if has_aux else (output, None)
        outputs = _pytree.tensors("vjp", output)

    def back(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        seeds = _pytree.tensors("vjp", given)
        if len(seeds) != len(outputs):
            raise RuntimeError(f"vjp: expected {len(outputs)} vectors, got {len(seeds)}")
        with _Level():
            found = functional._grads(outputs, inputs, seeds, True, retain=retain_graph)
            found = found if create_graph is None or create_graph else [g.detach() for g in found]
            result = tuple(_pytree.unflatten(chosen, found))
        result = _detach_results(result, inputs)
        return result

    shown = _detach_results((output, aux), inputs)
    return (shown[0], back, shown[1]) if has_aux else (shown[0], back)


def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False,
        has_aux: bool = False) -> Any:  # fmt: skip
    """Returns the outputs of a function, and the product of its Jacobian with vectors.

    Parameters
    ----------
    func : callable
        A function of tensors.
    primals : tuple
        The arguments.
    tangents : tuple
        The vectors, of the arguments' shapes.
    strict : bool, default False
        Whether an output that does not depend on an argument is an error.
    has_aux : bool, default False
        Whether the function returns a pair of its value and another object.

    Returns
    -------
    tuple
        The pair `(outputs, products)`, or `(outputs, products, aux)` with `has_aux`.

    See Also
    --------
    torch.func.grad, torch.func.grad_and_value, torch.func.vjp

    Examples
    --------
    >>> torch.func.jvp(lambda x: x**2, (torch.tensor([1.0, 2.0]),), (torch.ones(2),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise RuntimeError("jvp: expected primals and tangents to be tuples of one length")
    with _Level():
        full, _, inputs = _arguments("jvp", primals, range(len(primals)))
        output = func(*full)
        output, aux = output if has_aux else (output, None)
        outputs = _pytree.tensors("jvp", output)
        vectors = _pytree.tensors("jvp", tangents)
        pushed = _pytree.unflatten(output, functional.pushed(outputs, inputs, vectors, True, strict))
    output, pushed, aux = _detach_results((output, pushed, aux), inputs)
    return (output, pushed, aux) if has_aux else (output, pushed)


def jacrev(func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Any:
    """Returns a function that computes the Jacobian of a function, row by row.

    Parameters
    ----------
    func : callable
        A function of tensors.
    argnums : int or sequence of ints, default 0
        The index of the argument to differentiate, or several.
    has_aux : bool, default False
        Whether the function returns a pair of its value and another object.
    chunk_size : int, optional
        PyTorch's limit on memory, which has no effect.

    Returns
    -------
    callable
        A function that returns tensors of the output's shape followed by the input's.

    See Also
    --------
    torch.func.hessian, torch.func.jacfwd

    Examples
    --------
    >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        with _Level():
            full, chosen, inputs = _arguments("jacrev", args, argnums)
            output = func(*full, **kwargs)
            output, aux = output if has_aux else (output, None)
            found = []
            for y in _pytree.tensors("jacrev", output):
                made = _pytree.unflatten(chosen, list(functional.rows_of(y, inputs, True)))
                found.append(made[0] if isinstance(argnums, int) else tuple(made))
            jacobian = _pytree.unflatten(output, found)
        jacobian, aux = _detach_results((jacobian, aux), inputs)
        return (jacobian, aux) if has_aux else jacobian

    return called


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *,
           randomness: str = "error") -> Callable[..., Any]:  # fmt: skip
    """Returns `jacrev`: Jacobians are computed row by row.

    Parameters
    ----------
    func : callable
        A function of tensors.
    argnums : int or sequence of ints, default 0
        The index of the argument to differentiate, or several.
    has_aux : bool, default False
        Whether the function returns a pair of its value and another object.
    randomness : str, default "error"
        For PyTorch's signature; it has no effect.

    Returns
    -------
    callable
        A function that returns tensors of the output's shape followed by the input's.

    See Also
    --------
    torch.func.jacrev, torch.func.hessian

    Examples
    --------
    >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    made: Callable[..., Any] = jacrev(func, argnums, has_aux=has_aux)
    return made


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """Returns a function that computes the second derivatives of a function.

    Parameters
    ----------
    func : callable
        A function of tensors.
    argnums : int or sequence of ints, default 0
        The index of the argument to differentiate, or several.

    Returns
    -------
    callable
        A function that returns tensors of the output's shape followed by the input's twice.

    See Also
    --------
    torch.func.jacfwd, torch.func.jacrev

    Examples
    --------
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:  # fmt: skip
    """Calls a module with other tensors in place of its parameters and buffers.

    Parameters
    ----------
    module : Module
        The module.
    parameter_and_buffer_dicts : dict of str to Tensor, or tuple of dicts
        The tensors by name, a dict or several.
    args : object, optional
        The argument, or a tuple of arguments.
    kwargs : dict, optional
        The keyword arguments.
    tie_weights : bool, default True
        Whether parameters that are one tensor get the same replacement.
    strict : bool, default False
        Whether all parameters and buffers have to be given.

    Returns
    -------
    Tensor
        The result of the module.

    See Also
    --------
    torch.func.stack_module_state

    Examples
    --------
    >>> layer = nn.Linear(2, 1)
    >>> weights = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, weights, torch.tensor([3.0, 4.0]))
    tensor([7.])
    """
    return call(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the parameters and buffers of modules of one class, stacked along a new first dimension for `vmap`.

    Parameters
    ----------
    models : sequence of Modules
        The modules.

    Returns
    -------
    pair of dicts
        The pair of dicts of stacked parameters and of stacked buffers, by name.

    Raises
    ------
    RuntimeError
        If there are no modules, if only some are in training mode, or if their classes differ.

    See Also
    --------
    torch.func.functional_call

    Examples
    --------
    >>> parameters, buffers = torch.func.stack_module_state([nn.Linear(3, 2), nn.Linear(3, 2)])
    >>> parameters["weight"].shape
    torch.Size([2, 2, 3])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(tables: list[dict[str, Any]]) -> dict[str, Any]:
        made = {}
        for name, first in tables[0].items():
            made[name] = stack([table[name].detach() for table in tables])
            made[name].requires_grad_(first.requires_grad)
        return made

    return stacked([dict(m.named_parameters()) for m in models]), stacked([dict(m.named_buffers()) for m in models])


__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "stack_module_state", "vjp",
    "vmap",
]  # fmt: skip
