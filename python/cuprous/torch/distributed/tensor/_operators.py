"""The operations of DTensors: by name, functions of PyTorch that accept them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import getdoc, signature
from typing import Any

from cuprous import _core, torch
from cuprous._common.naming import REQUIRED, join_sections, split_entries, split_sections, with_default
from cuprous._core import Tensor
from cuprous.torch import _pointwise
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed._options import ReduceOp
from cuprous.torch.distributed.tensor import _norms, _random, _views
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor._layout import part_sizes
from cuprous.torch.distributed.tensor._operands import common_mesh, elementwise, part, refuse, wrapped
from cuprous.torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from cuprous.torch.nn import functional as F
from cuprous.torch.nn._dropout import check_probability, scaled_where

#: Elementwise functions beside the tables of `_pointwise`.
_ACTIVATIONS = ("relu", "gelu", "silu", "sigmoid", "softplus", "leaky_relu", "elu", "mish", "hardtanh", "relu6",
                "logsigmoid", "tanh")  # fmt: skip
_MORE = ("add", "sub", "subtract", "div", "divide", "where", "clamp", "lerp", "addcmul", "addcdiv", "clone", "rsub",
         "masked_fill", "nan_to_num")  # fmt: skip
#: Reductions: how parts along a sharded dimension are combined.
_REDUCTIONS = {"sum": "sum", "mean": "avg", "prod": "product", "amax": "max", "amin": "min", "max": "max", "min": "min"}


def _pointwise_function(name: str, local: Callable[..., Any]) -> Callable[..., DTensor]:
    def function(*args: Any, **kwargs: Any) -> DTensor:
        if kwargs.pop("inplace", False) or kwargs.pop("out", None) is not None:
            raise NotImplementedError(f"[{name}] out= and inplace=True do not support DTensor")
        names = [key for key, value in kwargs.items() if isinstance(value, Tensor)]
        parts, mesh, placements, shape = elementwise(name, [*args, *(kwargs[key] for key in names)])
        kwargs.update(zip(names, parts[len(args) :], strict=True))
        return wrapped(local(*parts[: len(args)], **kwargs), mesh, placements, shape)

    return function


def _in_place(name: str, function: str) -> Callable[..., DTensor]:
    def write(self: DTensor, *args: Any, **kwargs: Any) -> DTensor:
        parts, _, placements, shape = elementwise(function, [self, *args])
        if tuple(placements) != self.placements or tuple(shape) != self.dims:
            refuse(name, [self, *args], f"the result would have placements {tuple(placements)} and shape {shape}")
        getattr(self._local, name)(*parts[1:], **kwargs)
        return self

    return write


def _copy_(self: DTensor, other: Any, non_blocking: bool = False) -> DTensor:
    self._same(other, "copy_")
    self._local.copy_(other._local, non_blocking=non_blocking)
    return self


def _fill_(name: str) -> Callable[..., DTensor]:
    def write(self: DTensor, *args: Any) -> DTensor:
        if any(isinstance(p, Partial) for p in self.placements) and name == "fill_":
            refuse(name, [self], "each part would get the value")
        getattr(self._local, name)(*args)
        return self

    return write


def _dims(dim: Any, ndim: int) -> list[int]:
    if dim is None or dim == ():
        return list(range(ndim))
    return [d % ndim for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]


def _reduction(name: str, combine: str, local: Callable[..., Any]) -> Callable[..., DTensor]:
    def function(input: DTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> DTensor:
        if name in ("max", "min") and dim is not None:
            raise NotImplementedError(f"[{name}] with dim does not support DTensor: use a{name} for the values")
        dims, mesh = _dims(dim, input.ndim), input.device_mesh
        placements: list[Placement] = []
        for p in input.placements:
            if isinstance(p, Shard) and p.dim in dims:
                if combine in ("max", "min") and 0 in part_sizes(input.dims[p.dim], mesh, input.placements, p.dim):
                    refuse(name, [input], "some ranks have no elements")
                placements.append(Partial(combine))
            elif isinstance(p, Shard):
                placements.append(Shard(p.dim if keepdim else p.dim - sum(d < p.dim for d in dims)))
            elif isinstance(p, Partial) and not (combine in ("sum", "avg") and p.reduce_op in ("sum", "avg")):
                refuse(name, [input], f"the reduction of a {p!r} is not that of its parts")
            else:
                placements.append(p)
        if len({p.reduce_op for p in placements if isinstance(p, Partial)}) > 1 and combine not in ("sum", "avg"):
            refuse(name, [input], "different reductions would be pending")
        shape = [1 if d in dims else n for d, n in enumerate(input.dims) if keepdim or d not in dims]
        operand = part(input, input.placements, placements)
        weight = _weight(input, dims) if combine == "avg" else 1.0
        compute = local if weight else _LOCAL["sum"]  # the mean of no elements is not a number
        whole = dim is None and not keepdim
        result = (compute(operand, **kwargs) if whole else compute(operand, dims, keepdim, **kwargs) if name != "prod"
                  else local(operand, dims[0], keepdim, **kwargs))  # fmt: skip
        return wrapped(result if weight in (0, 1) else result * weight, mesh, placements, shape)

    return function


def _weight(input: DTensor, dims: list[int]) -> float:
    """Returns how many elements along `dims` this rank has, relative to the average over the ranks."""
    local, mesh = input._local.dims, input.device_mesh
    weight = 1.0
    for d in dims:
        for k, p in enumerate(input.placements):
            weight *= mesh.size(k) if p == Shard(d) else 1
        weight *= local[d] / input.dims[d] if input.dims[d] else 1
    return weight


def _along(name: str, local: Callable[..., Any]) -> Callable[..., DTensor]:
    """Returns a function that computes along one dimension, which each rank must have whole."""

    def function(input: DTensor, dim: Any = None, *args: Any, **kwargs: Any) -> DTensor:
        if dim is None:
            raise NotImplementedError(f"[{name}] needs dim for a DTensor")
        return _rowwise(name, input, [dim % input.ndim], lambda x: local(x, dim, *args, **kwargs))

    return function


def _rowwise(name: str, input: DTensor, dims: list[int], compute: Callable[[Tensor], Tensor]) -> DTensor:
    for p in input.placements:
        if isinstance(p, Partial) or (isinstance(p, Shard) and p.dim in dims):
            refuse(name, [input], f"each rank needs whole rows along {dims}")
    return wrapped(compute(input._local), input.device_mesh, input.placements, input.dims)


def _normalized(name: str, local: Callable[..., Any]) -> Callable[..., DTensor]:
    def function(input: DTensor, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
                 eps: Any = None) -> DTensor:  # fmt: skip
        common_mesh(name, [input, weight, bias])
        dims = list(range(input.ndim - len(normalized_shape), input.ndim))
        for x in (weight, bias):
            if x is not None and not all(isinstance(p, Replicate) for p in x.placements):
                refuse(name, [x], "weight and bias must be replicas")
        own = [None if x is None else part(x, x.placements, input.placements) for x in (weight, bias)]
        own = own if name == "layer_norm" else own[:1]
        more = own + ([] if eps is None else [eps])
        return _rowwise(name, input, dims, lambda x: local(x, normalized_shape, *more))

    return function


def _product_rule(name: str, a: DTensor, b: DTensor, k: int) -> tuple[Placement, Placement, Placement]:
    """Returns the placements of the operands `a[..., m, k] @ b[..., k, n]` and of the result in a dimension of the
    mesh."""
    p, q = a.placements[k], b.placements[k]
    inner, row, n = a.ndim - 1, b.ndim - 2, b.ndim - 1
    last = max(a.ndim, b.ndim) - 1
    match p, q:
        case Replicate(), Replicate():
            return p, q, Replicate()
        case (Shard(dim), Replicate()) if dim == inner:
            return p, Shard(row), Partial()
        case (Replicate(), Shard(dim)) if dim == row:
            return Shard(inner), q, Partial()
        case (Shard(dim), Shard(other)) if dim == inner and other == row:
            return p, q, Partial()
        case (Shard(dim), Replicate()):
            return p, (q if b.ndim == 2 or dim == inner - 1 else Shard(dim)), p
        case (Replicate(), Shard(dim)) if dim == n:
            return p, q, Shard(last)
        case (Replicate(), Shard(dim)):
            return Shard(dim), q, q
        case (Shard(dim), Shard(other)) if dim == other and dim < inner - 1:
            return p, q, p
        case (Partial("sum" | "avg"), Replicate()):
            return p, q, p
        case (Replicate(), Partial("sum" | "avg")):
            return p, q, q
    refuse(name, [a, b], f"{p!r} @ {q!r} has no result without communication")


def _product(name: str, a: Any, b: Any, bias: Any, compute: Callable[..., Tensor]) -> DTensor:
    mesh = common_mesh(name, [a, b, bias])
    if a.ndim < 2 or b.ndim < 2 or (b.ndim > 2 and a.dims[:-2] != b.dims[:-2]):
        raise NotImplementedError(
            f"[{name}] shapes {list(a.dims)} and {list(b.dims)} do not support DTensor: pass matrices or batches of "
            "the same shape"
        )
    if a.dims[-1] != b.dims[-2]:
        raise RuntimeError(f"[{name}] mat1 and mat2 shapes cannot be multiplied ({list(a.dims)} and {list(b.dims)})")
    rules = [_product_rule(name, a, b, k) for k in range(mesh.ndim)]
    result = [rule[2] for rule in rules]
    shape = [*a.dims[:-1], b.dims[-1]]
    own = [part(x, [rule[at] for rule in rules], result) for at, x in enumerate((a, b))]
    if bias is None:
        return wrapped(compute(*own, None), mesh, result, shape)
    targets: list[Placement] = []
    for p, out in zip(bias.placements, result, strict=True):
        wanted: Placement = Shard(0) if isinstance(out, Shard) and out.dim == len(shape) - 1 else Replicate()
        wanted = out if isinstance(out, Partial) else wanted
        if p != wanted and not isinstance(p, Replicate):
            refuse(name, [a, b, bias], f"the bias of a result with {out!r} must be {wanted!r} or a replica")
        targets.append(wanted)
    return wrapped(compute(*own, part(bias, targets, result)), mesh, result, shape)


def _matmul(name: str) -> Callable[..., DTensor]:
    def function(input: Any, other: Any) -> DTensor:
        return _product(name, input, other, None, lambda a, b, _: _core.t_matmul(a, b))

    return function


def _linear(input: Any, weight: Any, bias: Any = None) -> DTensor:
    common_mesh("linear", [input, weight, bias])
    columns = _views.FUNCTIONS["t"](weight)
    return _product("linear", input, columns, bias, lambda a, b, c: _core.t_linear(a, b.t(), c))


def _embedding(input: Any, weight: Any, padding_idx: int | None = None, max_norm: Any = None, norm_type: float = 2.0,
               scale_grad_by_freq: bool = False, sparse: bool = False) -> DTensor:  # fmt: skip
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError("[embedding] max_norm, scale_grad_by_freq and sparse do not support DTensor")
    mesh = common_mesh("embedding", [input, weight])
    placements: list[Placement] = []
    offset = None
    for p, q in zip(input.placements, weight.placements, strict=True):
        if isinstance(p, Partial) or isinstance(q, Partial) or (isinstance(p, Shard) and isinstance(q, Shard)):
            refuse("embedding", [input, weight], "one of indices and table must be a replica")
        if q == Shard(0):
            if offset is not None:
                refuse("embedding", [input, weight], "the rows of the table are divided twice")
            offset = _views.local_part(weight.dims, mesh, weight.placements)[1][0]
        placements.append(p if isinstance(p, Shard) else Partial() if q == Shard(0)
                          else Shard(input.ndim) if isinstance(q, Shard) else Replicate())  # fmt: skip
    indices, table = input._local, part(weight, weight.placements, placements)
    shape = [*input.dims, weight.dims[1]]
    if offset is None:
        return wrapped(_LOCAL["embedding"](indices, table, padding_idx), mesh, placements, shape)
    # Rows of other ranks are zero here, and the sum over the ranks has each row once.
    rows = int(table.dims[0])
    is_own = (indices >= offset) & (indices < offset + rows)
    if padding_idx is not None:
        padding_idx = padding_idx % weight.dims[0] - offset
        padding_idx = padding_idx if 0 <= padding_idx < rows else None
    if not rows:
        zeros = _core.t_full([*indices.dims, shape[-1]], 0, table.dtype_name, table.device_name)
        return wrapped(zeros + table.sum(), mesh, placements, shape)
    found = _LOCAL["embedding"](torch.where(is_own, indices - offset, 0), table, padding_idx)
    return wrapped(torch.where(is_own.unsqueeze(-1), found, 0.0), mesh, placements, shape)


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
               scale: Any = None, enable_gqa: bool = False) -> DTensor:  # fmt: skip
    mesh = common_mesh("scaled_dot_product_attention", [query, key, value])
    if attn_mask is not None or dropout_p:
        raise NotImplementedError("[scaled_dot_product_attention] attn_mask and dropout_p do not support DTensor")
    if not query.placements == key.placements == value.placements or any(
        isinstance(p, Partial) or (isinstance(p, Shard) and p.dim >= query.ndim - 2) for p in query.placements
    ):
        refuse("scaled_dot_product_attention", [query, key, value],
               "queries, keys and values must be sharded alike, along batches or heads")  # fmt: skip
    local = _LOCAL["scaled_dot_product_attention"](query._local, key._local, value._local, is_causal=is_causal,
                                                   scale=scale, enable_gqa=enable_gqa)  # fmt: skip
    return wrapped(local, mesh, query.placements, [*query.dims[:-1], value.dims[-1]])


def _mse_loss(input: Any, target: Any, reduction: str = "mean") -> DTensor:
    error = METHODS["square"](FUNCTIONS["sub"](input, target))
    return error if reduction == "none" else FUNCTIONS[reduction](error)


def _cross_entropy(input: Any, target: Any, *, reduction: str = "mean", **kwargs: Any) -> DTensor:
    if any(value is not None for value in kwargs.values()):
        raise NotImplementedError(f"[cross_entropy] {', '.join(kwargs)} do not support DTensor")
    mesh = common_mesh("cross_entropy", [input, target])
    placements: list[Placement] = []
    for p, q in zip(input.placements, target.placements, strict=True):
        if p != q or isinstance(p, Partial) or (isinstance(p, Shard) and p.dim != 0):
            refuse("cross_entropy", [input, target], "logits and targets must be sharded alike, along batches")
        sharded = p if reduction == "none" else Partial("avg" if reduction == "mean" else "sum")
        placements.append(sharded if isinstance(p, Shard) else p)
    is_mean = reduction == "mean" and placements != list(input.placements)
    local = _LOCAL["cross_entropy"](input._local, target._local, reduction="sum" if is_mean else reduction)
    if is_mean:
        local = local / _average_count(target, is_classes=target.ndim < input.ndim)
    return wrapped(local, mesh, placements, target.dims if reduction == "none" else [])


#: The class of targets that do not count, PyTorch's default.
_IGNORED = -100


def _average_count(target: DTensor, is_classes: bool) -> Tensor:
    """Returns how many targets count on a rank, on average: ranks may have different numbers of them."""
    own = target._local.detach()
    counted = (own != _IGNORED).double() if is_classes else _LOCAL["ones_like"](own.narrow(1, 0, 1)).double()
    count = counted.sum().reshape(1)
    for k, p in enumerate(target.placements):
        if isinstance(p, Shard):
            _collectives.all_reduce(count, ReduceOp.AVG, target.device_mesh.get_group(k))
    return count.reshape(())


def _dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> DTensor:
    check_probability(p)
    if not (training and p):
        return input if inplace else FUNCTIONS["clone"](input)
    if any(isinstance(placement, Partial) for placement in input.placements):
        refuse("dropout", [input], "the parts of a Partial are not a value")
    dropped = scaled_where(_random.draw_unit(input) >= p, input._local, p)
    if not inplace:
        return input.like(dropped)
    input._local.copy_(dropped)
    return input


def _to(self: DTensor, *args: Any, **kwargs: Any) -> DTensor:
    return self.like(self._local.to(*args, **kwargs))


def _ones_like(name: str) -> Callable[..., DTensor]:
    def function(input: DTensor, **kwargs: Any) -> DTensor:
        if any(isinstance(p, Partial) for p in input.placements):
            refuse(name, [input], "the parts of a Partial are not a value")
        return input.like(_LOCAL[name](input._local, **kwargs))

    return function


#: The functions of plain tensors, before `_dispatch` replaces them.
_LOCAL: dict[str, Callable[..., Any]] = {}
for _space in (torch, F):
    _LOCAL.update({name: f for name, f in vars(_space).items() if callable(f) and not isinstance(f, type)})
_LOCAL["clone"] = lambda x: x.clone()
_LOCAL["masked_fill"] = lambda x, mask, value: x.masked_fill(mask, value)
_UNARY_AND_BINARY = {**_pointwise.UNARY, **_pointwise.BINARY}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: _pointwise_function(name, _LOCAL[name])
    for name in (*_UNARY_AND_BINARY, *_MORE, *_ACTIVATIONS) if name in _LOCAL
} | {
    name: _reduction(name, combine, _LOCAL[name]) for name, combine in _REDUCTIONS.items()
} | {
    name: _along(name, _LOCAL[name]) for name in ("softmax", "log_softmax", "cumsum", "cumprod")
} | {
    name: _normalized(name, _LOCAL[name]) for name in ("layer_norm", "rms_norm") if name in _LOCAL
} | {
    name: _ones_like(name) for name in ("zeros_like", "ones_like", "empty_like", "full_like")
} | {
    "matmul": _matmul("matmul"), "mm": _matmul("mm"), "bmm": _matmul("bmm"), "linear": _linear,
    "embedding": _embedding, "scaled_dot_product_attention": _attention, "mse_loss": _mse_loss,
    "cross_entropy": _cross_entropy, "dropout": _dropout,
} | _views.FUNCTIONS  # fmt: skip

METHODS: dict[str, Callable[..., Any]] = {
    name: f for name, f in FUNCTIONS.items() if hasattr(Tensor, name)
} | {
    f"{name}_": _in_place(f"{name}_", name) for name in FUNCTIONS if hasattr(Tensor, f"{name}_") and (
        name in _UNARY_AND_BINARY or name in ("add", "sub", "div", "clamp", "lerp", "addcmul", "addcdiv"))
} | _views.METHODS | {
    "copy_": _copy_, "zero_": _fill_("zero_"), "fill_": _fill_("fill_"), "to": _to, "type_as": _to,
    "float": lambda self: self.like(self._local.float()), "double": lambda self: self.like(self._local.double()),
    "half": lambda self: self.like(self._local.half()), "bfloat16": lambda self: self.like(self._local.bfloat16()),
    "cpu": lambda self: self, "contiguous": lambda self: self.like(self._local.contiguous()),
}  # fmt: skip

#: Operators: the function, and whether the operands change places.
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "matmul", "mod": "remainder",
    "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def _documentation(name: str, method: Any) -> str:
    """Returns the docstring of a method that does what that of `Tensor` does, with those parameters that it has."""
    head, sections = split_sections(getdoc(getattr(Tensor, name, None)) or "")
    described = split_entries(sections.get("Parameters", ""))
    own = ((p.name, REQUIRED if p.default is p.empty else p.default) for p in signature(method).parameters.values())
    kept = [with_default(described[parameter], default) for parameter, default in own if parameter in described]
    sections["Parameters"] = "\n".join(kept)
    return join_sections(f"Performs `Tensor.{name}` on the whole tensor.\n\n{head}".strip(), sections)


def attach() -> None:
    """Gives `DTensor` its methods and operators, once."""
    for name, method in METHODS.items():
        method.__doc__ = method.__doc__ or _documentation(name, method)
        setattr(DTensor, name, method)
    for name, function in (_OPERATORS | _COMPARISONS).items():
        setattr(DTensor, f"__{name}__", functools.partialmethod(_operator, function, False))
        if name in _OPERATORS:
            setattr(DTensor, f"__r{name}__", functools.partialmethod(_operator, function, True))
            if hasattr(DTensor, f"{function}_"):
                setattr(DTensor, f"__i{name}__", getattr(DTensor, f"{function}_"))
    more: dict[str, Callable[..., Any]] = {
        "__neg__": METHODS["neg"], "__invert__": METHODS["bitwise_not"], "__getitem__": _views.getitem,
        "joint_norm": _norms.joint_norm,
    }  # fmt: skip
    more |= {name: _random.filled(getattr(Tensor, name), is_random=True) for name in _random.FILLS}
    for name, method in more.items():
        setattr(DTensor, name, method)
    for name in ("T", "mT"):
        setattr(DTensor, name, property(_views.METHODS[name]))


def _operator(self: DTensor, function: str, is_reversed: bool, other: Any) -> Any:
    if not isinstance(other, (Tensor, bool, int, float, complex)):
        return NotImplemented
    return FUNCTIONS[function](other, self) if is_reversed else FUNCTIONS[function](self, other)
