"""The import hook: finds bound packages in Cuprous, and refuses extensions that are compiled against PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from types import ModuleType

from cuprous._common.same_module import SameModule, spec_of
from cuprous.runner._extensions import refuse_extension
from cuprous.runner._metadata import BoundDistribution
from cuprous.runner._packages import PACKAGES, below, counterpart

#: What stands for `numba` itself if it is not installed: `numba.cuda` has to lie in a package.
_PARENTS = {"numba": "cuprous.runner.numba_package"}


#: Packages whose module has their name while they are bound, because programs compare it.
NAMED = ("torch", "torchvision")


class _Named(SameModule):
    """Loads a module of Cuprous under a second name, which becomes its `__name__`."""

    def exec_module(self, module: ModuleType) -> None:
        """Replaces the new module by the existing one."""
        name = module.__name__
        super().exec_module(module)
        sys.modules[name].__name__ = name


class Finder(MetaPathFinder):
    """Finds the modules and the metadata of bound packages."""

    def __init__(self) -> None:
        #: The bound packages. `numpy` is not among them: whether it is bound depends on the importer (`_imports`).
        self.packages: tuple[str, ...] = ()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the specification of a module of a bound package.

        Raises
        ------
        ImportError
            For an extension module that is compiled against PyTorch.
        """
        ours = counterpart(name, self.packages)
        if ours is None and any(below(package, name) for package in self.packages):
            ours = None if _is_installed(name) else _PARENTS.get(name)
        if ours is None:
            if "torch" in self.packages:
                refuse_extension(name, path)
            return None
        spec = spec_of(name, ours)
        if spec is not None and name in NAMED:
            spec.loader = _Named(ours)
        return spec

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterator[Distribution]:
        """Yields the metadata of bound packages, before those of packages that are installed."""
        for package in self.packages:
            distribution = PACKAGES[package]
            if distribution.version and (context is None or context.name in (None, package)):
                yield BoundDistribution(package, distribution.version)


def _is_installed(name: str) -> bool:
    """Returns True if another finder finds a top-level module."""
    return any(
        finder.find_spec(name, None)
        for finder in sys.meta_path
        if not isinstance(finder, Finder) and hasattr(finder, "find_spec")
    )


def drop_modules(packages: Iterable[str]) -> dict[str, ModuleType]:
    """Takes the modules of packages out of `sys.modules` and returns them by their names."""
    names = [name for name in sys.modules if any(below(name, package) for package in packages)]
    return {name: sys.modules.pop(name) for name in names}


def is_ours(module: ModuleType) -> bool:
    """Returns True for a module of Cuprous, under whatever name."""
    spec = getattr(module, "__spec__", None)
    return below(getattr(module, "__name__", "") if spec is None else spec.name, "cuprous")


#: The hook of this process. It is in `sys.meta_path` while something is bound.
FINDER = Finder()
