"""Binding packages to Cuprous in this process, and in the Python processes that it starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from cuprous.runner import _keras, _real
from cuprous.runner._finder import FINDER, NAMED, drop_modules, is_ours
from cuprous.runner._imports import IMPORTS, RULES
from cuprous.runner._packages import DEFAULT, PACKAGES, chosen

#: The folder of `sitecustomize`, which Python imports when it starts.
SITE = str(Path(__file__).with_name("site"))
#: Names of bound packages in the environment, which processes that are started inherit.
VARIABLE = "CUPROUS_BIND"


def bound() -> tuple[str, ...]:
    """Returns the names of the packages that are bound in this process.

    Returns
    -------
    tuple of str

    See Also
    --------
    bind

    Examples
    --------
    >>> cp.bind("pycuda", quiet=True)
    >>> cp.bound()
    ('pycuda',)
    >>> cp.unbind()
    """
    by_importer = [name for name, rule in RULES.items() if rule in IMPORTS.rules]
    return chosen((*FINDER.packages, *by_importer, *(["keras"] if _keras.FINDER.is_bound else [])))


def bind(*names: str, quiet: bool = False) -> None:
    """Makes imports of other packages import Cuprous, in this process and in the Python processes that it starts.

    `import torch` then gives `cuprous.torch`, in libraries too, and `importlib.metadata.version("torch")` the version
    whose API it follows. Modules that have imported the real package before keep it.

    Parameters
    ----------
    *names : str
        Packages: torch, torchvision, keras, tensorflow, cupy, cupyx, numba.cuda, pycuda, numpy; without names all but
        numpy. `numpy` and `tensorflow` are bound for the program's own modules only. Of `tensorflow` there is only
        `tensorflow.keras`, and `keras` is the installed Keras 3, which then computes with Cuprous.
    quiet : bool, default False
        Without the line on the standard error that names what is bound.

    Raises
    ------
    ValueError
        For a package that cannot be bound.

    See Also
    --------
    unbind, bound, real_package

    Examples
    --------
    >>> cp.bind("pycuda", quiet=True)
    >>> import pycuda.gpuarray
    >>> pycuda.gpuarray.__name__
    'cuprous.pycuda.gpuarray'
    >>> cp.unbind()
    """
    packages = chosen((*bound(), *(names or DEFAULT)))
    FINDER.packages = tuple(name for name in packages if PACKAGES[name].for_all)
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
    for name in RULES.keys() & {*packages}:
        IMPORTS.add(RULES[name])
    if "keras" in packages:
        _keras.bind()
    before = drop_modules(FINDER.packages)
    _real.keep({name: module for name, module in before.items() if not is_ours(module)})
    os.environ.update(environment(packages))
    if not quiet:
        print(line(packages), file=sys.stderr)
        if "torch" in before and not is_ours(before["torch"]):
            print("cuprous: torch was imported before; modules that hold it keep it", file=sys.stderr)
        if "keras" in packages and (other := _keras.backend()) not in (None, "cuprous"):
            print(f"cuprous: keras was imported before and keeps its backend {other}", file=sys.stderr)


def unbind() -> None:
    """Undoes `bind`: imports lead to the real packages again. Modules that hold modules of Cuprous keep them.

    See Also
    --------
    bind

    Examples
    --------
    >>> cp.bind("pycuda", quiet=True)
    >>> cp.unbind()
    >>> cp.bound()
    ()
    """
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
    for name, module in drop_modules(FINDER.packages).items():
        if name in NAMED and is_ours(module):
            module.__name__ = PACKAGES[name].module
    FINDER.packages = ()
    for rule in RULES.values():
        IMPORTS.remove(rule)
    _keras.unbind()
    sys.modules.update(_real.give_back())
    if os.environ.pop(VARIABLE, None) is not None:
        os.environ["PYTHONPATH"] = os.pathsep.join(_python_path())
        if not os.environ["PYTHONPATH"]:
            del os.environ["PYTHONPATH"]


def line(packages: Iterable[str]) -> str:
    """Returns the line that names what is bound."""
    return f"cuprous: bound {', '.join(packages)} (cuprous.real_package(name) is the real one)"


def environment(packages: Iterable[str]) -> dict[str, str]:
    """Returns the variables with which a Python process binds packages when it starts."""
    return {VARIABLE: ",".join(packages), "PYTHONPATH": os.pathsep.join([SITE, *_python_path()])}


def _python_path() -> list[str]:
    """Returns the folders on PYTHONPATH, without `SITE`."""
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != SITE]
