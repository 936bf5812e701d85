"""`torch.ops.aten`: PyTorch's operations by their names in its native library.

Libraries name them as keys of tables, such as those of `__torch_dispatch__`, and a few call them. An operation that has
a function in `torch`, or a method of tensors, calls it; an overload such as `aten.add.Tensor` is the same function.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from cuprous._core import Tensor
from cuprous.torch._placeholders import UnsupportedError

#: Native operations that libraries name and that have no function: they raise when they are called.
NAMED_ONLY = frozenset(
    ["_pin_memory", "_sparse_addmm", "_sparse_mm_reduce_impl", "_to_copy", "alias", "index", "slice", "unbind"]
)


class Operation:
    """An operation, or an overload of it, which attributes such as `default` and `Tensor` name."""

    def __init__(self, name: str, function: Any, overload: str = "") -> None:
        self.__name__, self._function, self._overload = name, function, overload
        self._overloads: dict[str, Operation] = {}

    def __getattr__(self, name: str) -> Operation:
        if name.startswith("_") or self._overload:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self._overloads.setdefault(name, Operation(self.__name__, self._function, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            raise UnsupportedError(f"[torch.ops.aten.{self.__name__}] is not supported: it has no public function; "
                                   "use the methods of tensors")  # fmt: skip
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.__name__}', overload='{self._overload}')>" if self._overload else (
            f"<OpOverloadPacket(op='aten.{self.__name__}')>")  # fmt: skip


@functools.cache
def operation(name: str) -> Operation:
    """Returns a native operation.

    Raises
    ------
    AttributeError
        If there is neither a function nor a method of this name.
    """
    found = vars(importlib.import_module("cuprous.torch")).get(name)
    if found is None or isinstance(found, type) or not callable(found):
        found = getattr(Tensor, name, None)
    if not callable(found) and name not in NAMED_ONLY:
        raise UnsupportedError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
    return Operation(name, found if name not in NAMED_ONLY else None)


__all__ = ["Operation", "operation"]
