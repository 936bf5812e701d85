"""`cuprous.cupyx.scipy`: the modules of `cuprous.scipy` under the names that CuPy's have."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from cuprous._common.same_module import spec_of

_NAME = "cuprous.cupyx.scipy"


class _Finder(MetaPathFinder):
    """Finds `cuprous.cupyx.scipy` and what lies below."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the specification of one of these modules."""
        if name != _NAME and not name.startswith(f"{_NAME}."):
            return None
        return spec_of(name, "cuprous.scipy" + name[len(_NAME) :])


def install() -> None:
    """Lets imports find these modules, before they look into folders."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
