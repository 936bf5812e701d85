"""Writes the stubs of packages whose names are imported on first use or come from tables: python -m tests.make_stubs

A name that a module defines in its source is imported from there, so that it has the types and the docstring of its
definition. Other functions are declared with their signatures.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from cuprous import _core
from cuprous._unsupported import Unsupported
from tests.torch import make_stub
from tests.torch.make_stub import PACKAGE, defined, signature_of, top_names

#: The packages and modules that have a stub, with private names that the rest of the project uses.
STUBS: dict[str, tuple[str, ...]] = {
    "cuprous": ("_core", "_exports", "_unsupported"),
    "cuprous.random": (),
    "cuprous.linalg": (),
    "cuprous.cuda": (),
    "cuprous.scipy": (),
    "cuprous.scipy.fft": (),
    "cuprous.scipy.interpolate": (),
    "cuprous.scipy.ndimage": (),
    "cuprous.scipy.signal": (),
    "cuprous.scipy.sparse": (),
    "cuprous.scipy.sparse.csgraph": (),
    "cuprous.scipy.sparse.linalg": (),
    "cuprous.scipy.special": (),
    "cuprous.scipy.stats": (),
    "cuprous.torch": (),
    "cuprous.torch.nn": (),
    "cuprous.torch.nn.functional": (),
    "cuprous.torch.nn.modules": (),
    "cuprous.torch.nn.utils": (),
    "cuprous.torch.cuda": (),
    "cuprous.torch.special": (),
    "cuprous.torch.utils": (),
    "cuprous.cuda.bf16": (),
    "cuprous.cuda.libdevice": (),
}
#: Modules whose `__all__` is not all of their public names.
LISTED = (
    "cuprous.cuda",
    "cuprous.cuda.bf16",
    "cuprous.cuda.libdevice",
    "cuprous.scipy",
    "cuprous.torch",
    "cuprous.torch.nn",
)


#: Modules whose names are not public where they are imported.
HIDDEN = ("typing", "types", "collections.abc", "__future__", "cuprous._exports")


def path_of(module: str) -> Path:
    """Returns the stub's file."""
    source = Path(inspect.getsourcefile(import_module(module)) or "")
    return source.with_suffix(".pyi")


def imported(module: ModuleType) -> set[str]:
    """Returns the names that a module imports or declares to have."""
    nodes = [n for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, (ast.Import, ast.ImportFrom))]
    found = {alias.asname or alias.name for node in nodes for alias in node.names}
    own = f"{module.__name__}."
    homes = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    found |= {home.removeprefix(own).split(".")[0] for home in homes if home.startswith(own)}  # submodules
    return found | {*getattr(module, "__all__", ()), *(vars(module).get("_EXPORTS") or ())} | {*STUBS[module.__name__]}


def native(name: str, value: Any) -> bool:
    """Returns True if the engine defines the name. Its classes do not say so."""
    files = PACKAGE.glob("_core*.pyi")
    return getattr(_core, name, None) is value and any(name in top_names(file) for file in files)


def names(module: ModuleType) -> list[str]:
    """Returns the public names of a module, and private ones that are used elsewhere."""
    own = getattr(module, "__all__", ())
    listed = dir(module) if module.__name__ in LISTED or not own else own
    exports = vars(module).get("_EXPORTS") or ()
    public = {name for name in (*own, *listed, *exports) if not name.startswith("_") and name != "annotations"}
    return sorted(public | set(own) | {"__version__"} & set(vars(module)) | set(STUBS[module.__name__]))


def tables(module: ModuleType) -> dict[str, str]:
    """Returns the modules of names that are imported on first use."""
    exports = vars(module).get("_EXPORTS")
    of = getattr(exports, "_module_of", {})
    return {name: (module.__name__ + home if home.startswith(".") else home) for name, home in of.items()}


def _body(cls: type, imports: set[str], taken: set[str]) -> str:
    """Returns the body of a class that is created at run time: its constructor and the `forward` of a layer."""
    lines = []
    given = inspect.signature(cls).parameters.values() if "__signature__" in vars(cls) else ()
    if "__init__" in vars(cls) and given:
        imports.add("from typing import Any")
        parameters = [f"{p.name}: Any" + ("" if p.default is p.empty else " = ...") for p in given]
        lines.append(f"    def __init__({', '.join(['self', *parameters])}) -> None: ...")
    if inspect.isfunction(forward := vars(cls).get("forward")):
        lines.append(f"    def forward{signature_of(forward, imports, taken, method=True)}: ...")
    return "\n" + "\n".join(lines) if lines else " ..."


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


def assigned(home: str, name: str, value: Any) -> bool:
    """Returns True for a function that another one returned, as `zeros = _constant(...)`: its type lacks parameters."""
    tree = ast.parse(inspect.getsource(sys.modules[home]))
    made = [one for one in tree.body if isinstance(one, ast.Assign) and any(map(_is_call, ast.walk(one)))]
    targets = [n for one in made for t in one.targets for n in ast.walk(t)]
    return inspect.isfunction(value) and name in {n.id for n in targets if isinstance(n, ast.Name)}


def line(module: ModuleType, name: str, imports: set[str], taken: set[str]) -> str | None:
    """Returns the declaration of a name, or None if it is imported."""
    value = getattr(module, name)
    if isinstance(value, Unsupported) or value is ModuleType or getattr(value, "__module__", None) in HIDDEN:
        return None
    if isinstance(value, ModuleType):
        if name not in imported(module):
            return None  # some other program imported it
        package, _, last = value.__name__.rpartition(".")
        if package == module.__name__ and last == name:
            imports.add(f"from . import {name} as {name}")
        elif value.__name__.startswith("cuprous"):
            imports.add(
                f"import {value.__name__} as {name}" if package == "" else f"from {package} import {last} as {name}"
            )
        return None
    if native(name, value):
        imports.add(f"from cuprous._core import {name} as {name}")
        return None
    table = tables(module).get(name)
    home = table or getattr(value, "__module__", None)
    if isinstance(home, str) and home != module.__name__ and home in sys.modules:
        static = home.split(".")[0] != "cuprous" or (name in defined(home) and not assigned(home, name, value))
        if static and getattr(sys.modules[home], name, None) is value:
            imports.add(f"from {home} import {name} as {name}")
            return None
    if module.__name__ == "cuprous.torch" and name in make_stub.OVERLOADS:
        return "\n".join(make_stub.overloads(name, "input: Tensor", imports))
    if inspect.isfunction(value) or inspect.ismethod(value):
        return f"def {name}{signature_of(value, imports, taken)}: ..."
    if isinstance(value, type):
        for cls in value.__mro__:
            if cls.__module__ != module.__name__ and cls.__name__ in (
                defined(cls.__module__) if cls.__module__.startswith("cuprous") else ()
            ):
                imports.add(f"from {cls.__module__} import {cls.__name__}")
                if cls is value:
                    return f"{name} = {cls.__name__}"
                return f"class {name}({cls.__name__}):{_body(value, imports, taken)}"
        return f"class {name}: ..."
    kind = type(value)
    if kind.__module__ == "builtins":
        imports.add("import builtins")
        return f"{name}: builtins.{kind.__name__}" if kind in (int, float, str, bool, bytes) else f"{name}: Any"
    if kind.__module__.startswith("cuprous"):
        kind = next((c for c in kind.__mro__ if c.__name__ in defined(c.__module__)), object)
    if kind is object or kind.__module__ == "builtins":
        return f"{name}: Any"
    imports.add(f"from {kind.__module__} import {kind.__name__} as _{kind.__name__}")
    return f"{name}: _{kind.__name__}"


def stub(name: str) -> str:
    """Returns the stub of a module, not formatted."""
    module = import_module(name)
    imports = {"from typing import Any"}
    found = names(module)
    taken = set(found)
    lines = [text for one in found if (text := line(module, one, imports, taken)) is not None]
    exported = [one for one in getattr(module, "__all__", ()) if not isinstance(getattr(module, one), Unsupported)]
    lines += [f"__all__ = {exported!r}"] if exported else []
    imports -= {text for text in imports if f"{text} as {text.rpartition(' ')[2]}" in imports}
    head = '"""Generated by `python -m tests.make_stubs`."""'
    return "\n".join([head, "", *sorted(imports), "", *lines, ""])


def write(paths: dict[Path, str]) -> None:
    """Writes and formats stubs."""
    for path, text in paths.items():
        path.write_text(text)
    files = [str(path) for path in paths]
    for command in (["check", "--fix", "--quiet", "--ignore=E501"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *files], check=True)


def main() -> None:
    make_stub.main()
    write({path_of(name): stub(name) for name in STUBS})


if __name__ == "__main__":
    main()
