"""The packages that can be bound, and the modules of Cuprous that stand for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A package that can be bound."""

    #: The name in import statements, and the module of Cuprous that it is bound to.
    name: str
    module: str
    #: The version that `importlib.metadata` reports: the newest whose API Cuprous follows. Empty for a package whose
    #: own metadata stays.
    version: str = ""
    #: Whether its modules are replaced by those of `module` for everybody. Otherwise who imports it matters.
    for_all: bool = True


#: By name. `numpy` is bound on request only. `numpy` and `tensorflow` are bound for the program's own modules only, and
#: `keras` is the installed Keras, whose modules alone get `cuprous.torch` for `torch`.
PACKAGES = {
    package.name: package
    for package in (
        Package("torch", "cuprous.torch", "2.11.0+cuprous"),
        Package("torchvision", "cuprous.torchvision", "0.26.0+cuprous"),
        Package("keras", "cuprous.keras", for_all=False),
        Package("tensorflow", "cuprous.runner.tensorflow_package", for_all=False),
        Package("cupy", "cuprous", "14.0.0+cuprous"),
        Package("cupyx", "cuprous.cupyx"),
        Package("numba.cuda", "cuprous.cuda"),
        Package("pycuda", "cuprous.pycuda", "2026.1+cuprous"),
        Package("numpy", "cuprous", for_all=False),
    )
}
#: What is bound if nothing else is named.
DEFAULT = tuple(name for name in PACKAGES if name != "numpy")
#: Modules of Cuprous that do not lie below their package's module.
ELSEWHERE = {"cupyx.scipy": "cuprous.scipy"}


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the names of packages in the order of the table.

    Raises
    ------
    ValueError
        For a package that cannot be bound.
    """
    given = set(names)
    if unknown := sorted(given - PACKAGES.keys()):
        raise ValueError(f"cannot bind {', '.join(unknown)}; choose from {', '.join(PACKAGES)}")
    return tuple(name for name in PACKAGES if name in given)


def below(name: str, package: str) -> bool:
    """Returns True if a module is a package or lies in it."""
    return name == package or name.startswith(package + ".")


def counterpart(name: str, packages: Iterable[str]) -> str | None:
    """Returns the name of the module of Cuprous that stands for a module of one of the packages.

    Examples
    --------
    >>> counterpart("torch.nn.functional", ["torch"])
    'cuprous.torch.nn.functional'
    """
    for package in packages:
        if below(name, package):
            for alias, module in ELSEWHERE.items():
                if below(name, alias):
                    return module + name[len(alias) :]
            return PACKAGES[package].module + name[len(package) :]
    return None
