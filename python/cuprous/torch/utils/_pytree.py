"""Nested containers ("pytrees") under PyTorch's names: flattening, mapping, and registration of other containers."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

Context = Any
PyTree = Any


class MappingKey(NamedTuple):
    """A step of a path: a key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Returns the part of a container that the step leads to."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """A step of a path: an index of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Returns the part of a container that the step leads to."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """A step of a path: an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Returns the part of a container that the step leads to."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How a kind of container is taken apart and put together."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None


def _sequence_keys(parts: Iterable[Any]) -> list[tuple[Any, Any]]:
    return [(SequenceKey(i), part) for i, part in enumerate(parts)]


def _dict_flatten(d: Mapping[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: Mapping[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _default_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d.keys())]


def _default_keys(d: defaultdict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return _dict_flatten_with_keys(d)[0], _default_flatten(d)[1]


def _named_keys(t: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(name), part) for name, part in zip(t._fields, t, strict=True)], type(t)


SUPPORTED_NODES: dict[type, NodeDef] = {
    definition.type: definition
    for definition in (
        NodeDef(tuple, lambda t: (list(t), None), lambda v, c: tuple(v), lambda t: (_sequence_keys(t), None)),
        NodeDef(list, lambda t: (list(t), None), lambda v, c: list(v), lambda t: (_sequence_keys(t), None)),
        NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
        NodeDef(OrderedDict, _dict_flatten, lambda v, c: OrderedDict(zip(c, v, strict=True)), _dict_flatten_with_keys),
        NodeDef(defaultdict, _default_flatten, lambda v, c: defaultdict(c[0], zip(c[1], v, strict=True)),
        _default_keys),
        NodeDef(deque, lambda d: (list(d), d.maxlen), lambda v, c: deque(v, maxlen=c),
                lambda d: (_sequence_keys(d), d.maxlen)),
        NodeDef(namedtuple, lambda t: (list(t), type(t)), lambda v, c: c(*v), _named_keys),  # type: ignore[arg-type]
    )
}  # fmt: skip


class TreeSpec:
    """The form of a container: its kind, the context that puts it together, and the forms of its parts."""

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_children: int = len(children_specs)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in children_specs)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children_specs)

    def children(self) -> list[TreeSpec]:
        """Returns the forms of the parts."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """Returns the form of one part."""
        return self.children_specs[index]

    def is_leaf(self) -> bool:
        """Returns True if the form is a leaf's."""
        return self.type is None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.type, self.context, self.children_specs) == (
            other.type, other.context, other.children_specs
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({getattr(self.type, '__name__', self.type)}, {self.context}, {self.children_specs})"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Returns a container of this form with other leaves."""
        return tree_unflatten(leaves, self)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The form of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


treespec_leaf = LeafSpec


def treespec_tuple(children: Iterable[TreeSpec] = ()) -> TreeSpec:
    """Returns the form of a tuple of parts."""
    return TreeSpec(tuple, None, list(children))


def treespec_dict(mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), **more: TreeSpec) -> TreeSpec:
    """Returns the form of a dict of parts."""
    parts = dict(mapping, **more)
    return TreeSpec(dict, list(parts), list(parts.values()))


def register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, *, serialized_type_name: str | None = None,
                         to_dumpable_context: Any = None, from_dumpable_context: Any = None,
                         flatten_with_keys_fn: Any = None, register_fake_type: bool = True) -> None:  # fmt: skip
    """Makes a class a container. The arguments for serialization are for `treespec_dumps`, which is not supported.

    Parameters
    ----------
    cls : type
        The class.
    flatten_fn : callable
        Returns the parts of an instance, and a context.
    unflatten_fn : callable
        Returns an instance made from parts and a context.
    flatten_with_keys_fn : callable, optional
        Returns the parts with their steps, and a context.

    Raises
    ------
    ValueError
        If the class is a container already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def is_namedtuple_class(cls: type) -> bool:
    """Returns True for a class made by `namedtuple`."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj: object) -> bool:
    """Returns True for an instance of a class made by `namedtuple`."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Returns True for a class made by `namedtuple`, and for its instances."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: Any) -> Any:
    cls = type(tree)
    return namedtuple if cls not in SUPPORTED_NODES and is_namedtuple_class(cls) else cls


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns True if an object is no container, or a leaf by the given function."""
    return bool(is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Returns the leaves of a container, in order, and its form."""
    if tree_is_leaf(tree, is_leaf):
        return [tree], LeafSpec()
    kind = _get_node_type(tree)
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    found: list[Any] = []
    specs = []
    for part in parts:
        leaves, spec = tree_flatten(part, is_leaf)
        found += leaves
        specs.append(spec)
    return found, TreeSpec(kind, context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Returns a container of a form with the given leaves.

    Raises
    ------
    ValueError
        If the number of leaves is another than the form's.
    """
    values = list(leaves)
    if len(values) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(values)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    rest = iter(values)

    def build(spec: TreeSpec) -> Any:
        if spec.type is None:
            return next(rest)
        return SUPPORTED_NODES[spec.type].unflatten_fn([build(child) for child in spec.children_specs], spec.context)

    return build(treespec)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Returns the leaves of a container, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yields the leaves of a container, in order."""
    yield from tree_leaves(tree, is_leaf)


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Returns the form of a container."""
    return tree_flatten(tree, is_leaf)[1]


#: Dictionaries, which stand for each other.
_DICTS = {dict, OrderedDict, defaultdict}


def _flatten_up_to(spec: TreeSpec, tree: Any) -> list[Any]:
    """Returns the parts of a container at the leaves of a form."""
    if spec.type is None:
        return [tree]
    kind = _get_node_type(tree)
    if kind is not spec.type and not {kind, spec.type} <= _DICTS:
        raise ValueError(f"Type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(parts) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(parts)}.")
    if spec.type in _DICTS:  # parts belong together by their keys, whatever the order
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(tree) != set(keys):
            raise ValueError(f"Node keys mismatch; expected {keys!r}, but got {list(tree)!r}.")
        parts = [tree[key] for key in keys]
    elif spec.type is not deque and context != spec.context:
        raise ValueError(
            f"Node context mismatch for node type {spec.type!r}; expected {spec.context!r}, but got {context!r}."
        )
    return [
        leaf for child, part in zip(spec.children_specs, parts, strict=True) for leaf in _flatten_up_to(child, part)
    ]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Returns a container with a function applied to each leaf, and to the parts of other containers there."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_flatten_up_to(spec, rest) for rest in rests]
    return tree_unflatten([func(*parts) for parts in zip(leaves, *others, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Applies a function to each leaf, and returns the container."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kind: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    predicate = kind if callable(kind) and not isinstance(kind, type) else lambda leaf: isinstance(leaf, kind)
    return lambda leaf: func(leaf) if predicate(leaf) else leaf


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Returns a decorator for functions that leave all but leaves of some types as they are."""
    return functools.partial(_only, type_or_types_or_pred)


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> Any:  # fmt: skip
    """Returns a container with a function applied to the leaves of some types."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any,
                   is_leaf: Callable[[Any], bool] | None = None) -> Any:  # fmt: skip
    """Applies a function to the leaves of some types, and returns the container."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns True if a condition holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns True if a condition holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kind: Any, /, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> bool:  # fmt: skip
    """Returns True if a condition holds for all leaves of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, kind))


def tree_any_only(kind: Any, /, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> bool:  # fmt: skip
    """Returns True if a condition holds for a leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, kind))


def _with_paths(tree: Any, path: tuple[Any, ...], is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[Any, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    keyed = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if keyed is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn "
                         "argument to register_pytree_node.")  # fmt: skip
    for step, part in keyed(tree)[0]:
        yield from _with_paths(part, (*path, step), is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[Any, Any]]:
    """Returns the leaves of a container, each with its path."""
    return list(_with_paths(tree, (), is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Returns the leaves of a container, each with its path, and its form."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any,
                       is_leaf: Callable[[Any], bool] | None = None) -> Any:  # fmt: skip
    """Returns a container with a function applied to the path of each leaf and the leaf."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [_flatten_up_to(spec, rest) for rest in rests]
    values = [func(path, leaf, *more) for (path, leaf), *more in zip(found, *others, strict=True)]
    return tree_unflatten(values, spec)


def keystr(kp: Iterable[Any]) -> str:
    """Returns a path as text."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """Returns what a path leads to."""
    for step in kp:
        obj = step.get(obj)
    return obj


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Any = None) -> list[Any] | None:
    """Returns the leaves of a container that is as deep as a form or less deep: its leaves are repeated."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.type is None or _get_node_type(tree) is not treespec.type:
        return None
    parts, _ = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(parts) != treespec.num_children:
        return None
    found = [
        _broadcast_to_and_flatten(part, child, is_leaf)
        for part, child in zip(parts, treespec.children_specs, strict=True)
    ]
    return None if any(f is None for f in found) else [leaf for f in found for leaf in f or []]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Is not supported: pickle the form.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("[treespec_dumps] is not supported: pickle the TreeSpec")


__all__ = [
    "SUPPORTED_NODES", "Context", "GetAttrKey", "LeafSpec", "MappingKey", "NodeDef", "PyTree", "PyTreeSpec",
    "SequenceKey",
    "TreeSpec", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "key_get", "keystr", "map_only",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten",
    "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_",
    "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dumps",
]  # fmt: skip
