"""The unpickler: it creates objects of allowed kinds and modifies only those."""

from __future__ import annotations

import collections
import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

from cuprous.torch.serialization._names import Allowed, added, checked_key

#: Number of elements that calls may copy per byte of the pickle: one list can be the argument of many calls.
_MAX_COPIES_PER_BYTE = 8


def _refuse(message: str) -> NoReturn:
    raise pickle.UnpicklingError(f"Weights only load failed: {message}")


class TrustingUnpickler(pickle.Unpickler):
    """Reads any pickle, and so runs what it says: for files that the user trusts. PyTorch's names are Cuprous's."""

    def __init__(self, content: bytes, known: Mapping[str, Any], storage: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self._known, self._storage = known, storage

    def find_class(self, module: str, name: str) -> Any:
        """Returns the object with a name."""
        found = self._known.get(f"{module}.{name}")
        if found is not None:
            return found
        ours = module == "torch" or module.startswith("torch.")
        return super().find_class(f"cuprous.{module}" if ours else module, name)

    def persistent_load(self, pid: Any) -> Any:
        """Returns the storage."""
        return self._storage(pid)


class Unpickler(pickle._Unpickler):
    """Reads a pickle of tensors and plain containers, and of classes that the user added.

    Names are resolved by `known` and `add_safe_globals`. Only these are called, and only objects that the pickle itself
    has created are modified: lists, dictionaries, sets, and instances of added classes. Python's unpickler in C has no
    hooks for that, and allocates sizes that the pickle only declares.
    """

    stack: list[Any]
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]
    read: Callable[[int], bytes]

    def __init__(self, content: bytes, known: Mapping[str, Any], storage: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self._known, self._storage = known, storage
        self._found: dict[int, Any] = {}
        self._copies = _MAX_COPIES_PER_BYTE * len(content) + 1000

    def find_class(self, module: str, name: str) -> Any:
        """Returns the object with a name."""
        full = f"{module}.{name}"
        found = added().get(full, self._known.get(full))
        if found is None:
            _refuse(
                f"the file uses {full}, which is not allowed. Only tensors and plain containers are read, because a "
                "pickle may run any code. Save a state_dict() instead of a whole object, or, if you trust the file, "
                f"load everything with weights_only=False, or allow the class: "
                f"torch.serialization.add_safe_globals([({name}, {full!r})])"
            )
        self._found[id(found)] = found
        return found

    def persistent_load(self, pid: Any) -> Any:
        """Returns the storage."""
        return self._storage(pid)

    def _is_own(self, obj: Any, *kinds: type) -> bool:
        """Returns true if an object was created by this pickle and is of one of the kinds, or of an added class."""
        return id(obj) not in self._found and (type(obj) in kinds or type(obj) in added().values())

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, Allowed):
            self._copies -= sum(len(arg) for arg in args if hasattr(arg, "__len__"))
            if self._copies < 0:
                _refuse("its calls copy far more elements than the file has")
        return function(*args, **kwargs)

    def _reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        if id(function) not in self._found or not callable(function):
            _refuse(f"the file calls a {type(function).__name__}")
        self.stack[-1] = self._call(function, *args)

    def _new(self) -> None:
        args = self.stack.pop()
        self._make(args, {})

    def _new_with_names(self) -> None:
        kwargs = self.stack.pop()
        args = self.stack.pop()
        self._make(args, kwargs)

    def _make(self, args: Any, kwargs: Any) -> None:
        kind = self.stack.pop()
        if id(kind) not in self._found or not isinstance(kind, type):
            _refuse(f"the file creates an instance of a {type(kind).__name__}")
        self.append(kind.__new__(kind, *args, **kwargs))

    def _build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if not self._is_own(target, collections.OrderedDict):
            _refuse(f"the file sets attributes of a {type(target).__name__}, which is not allowed")
        if type(target) is not collections.OrderedDict:
            self.append(state)
            pickle._Unpickler.load_build(self)  # type: ignore[attr-defined]
        elif isinstance(state, dict) and not any(hasattr(type(target), str(name)) for name in state):
            target.__dict__.update(state)
        else:
            _refuse("the file changes methods of a dictionary")

    def _append(self) -> None:
        value = self.stack.pop()
        self._extend([value])

    def _appends(self) -> None:
        self._extend(self.pop_mark())

    def _extend(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not self._is_own(target, list):
            _refuse(f"the file appends to a {type(target).__name__}")
        for value in values:
            target.append(value)

    def _set_item(self) -> None:
        value = self.stack.pop()
        self._set([self.stack.pop(), value])

    def _set_items(self) -> None:
        self._set(self.pop_mark())

    def _set(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not self._is_own(target, dict, collections.OrderedDict, collections.Counter):
            _refuse(f"the file sets items of a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[checked_key(key)] = value

    def _dictionary(self) -> None:
        items = self.pop_mark()
        self.append({})
        self._set(items)

    def _add_items(self) -> None:
        items = self.pop_mark()
        target = self.stack[-1]
        if not self._is_own(target, set):
            _refuse(f"the file adds to a {type(target).__name__}")
        for item in items:
            target.add(checked_key(item))

    def _frozenset(self) -> None:
        self.append(frozenset(map(checked_key, self.pop_mark())))

    def _bytearray(self) -> None:
        count = int.from_bytes(self.read(8), "little")
        content = self.read(count) if count < self._copies else b""
        if len(content) != count:
            raise pickle.UnpicklingError("pickle data was truncated")
        self.append(bytearray(content))

    def _unsupported(self) -> None:
        _refuse("the pickle uses an operation that torch.save does not")

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.REDUCE[0]: _reduce, pickle.NEWOBJ[0]: _new, pickle.NEWOBJ_EX[0]: _new_with_names,
        pickle.BUILD[0]: _build, pickle.APPEND[0]: _append, pickle.APPENDS[0]: _appends,
        pickle.SETITEM[0]: _set_item, pickle.SETITEMS[0]: _set_items, pickle.DICT[0]: _dictionary,
        pickle.ADDITEMS[0]: _add_items, pickle.FROZENSET[0]: _frozenset, pickle.BYTEARRAY8[0]: _bytearray,
    }  # fmt: skip
    for _code in (pickle.INST, pickle.OBJ, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.NEXT_BUFFER,
                  pickle.READONLY_BUFFER):  # fmt: skip
        dispatch[_code[0]] = _unsupported
