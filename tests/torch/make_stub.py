"""Writes the stubs of what Python gives the native `Tensor` and `ndarray`: python -m tests.torch.make_stub"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import cuprous as cp
from cuprous import torch
from cuprous._common import arguments

PACKAGE = Path(__file__).parents[2] / "python/cuprous"
#: The stubs by file: native type, class, docstring, and whether the methods write to the tensor (None: all methods).
FILES: dict[str, tuple[type, str, str, bool | None]] = {
    "_core_array_methods.pyi": (cp.ndarray, "ArrayMethods", "Methods and attributes written in Python.", None),
    "_core_tensor_methods.pyi": (
        torch.Tensor, "TensorMethods", "Methods and attributes that return something new.", False,
    ),
    "_core_tensor_writes.pyi": (torch.Tensor, "TensorWrites", "Methods that write to the tensor and return it.", True),
}  # fmt: skip
#: Where the types that most methods use are declared.
SOURCES = {
    "Any": "typing", "ModuleType": "types", "Tensor": "cuprous._core", "ndarray": "cuprous._core",
    **dict.fromkeys(("ArrayLike", "Axes", "Axis", "Shape"), arguments.__name__),
}  # fmt: skip
#: Functions of tensors whose result depends on their arguments: parameters after the tensor, and the result.
_REDUCED = (("", "Tensor"), ("dim: builtins.int, keepdim: builtins.bool = ..., *, out: Any = ...", "values_indices"))
OVERLOADS: dict[str, tuple[tuple[str, str], ...]] = {
    "max": (*_REDUCED, ("other: Tensor, *, out: Tensor | None = ...", "Tensor")),
    "min": (*_REDUCED, ("other: Tensor, *, out: Tensor | None = ...", "Tensor")),
    "median": _REDUCED,
    "nanmedian": _REDUCED,
    "size": (("", "Size"), ("dim: builtins.int", "builtins.int")),
    "stride": (("", "tuple[builtins.int, ...]"), ("dim: builtins.int", "builtins.int")),
    "nonzero": (
        ("*, as_tuple: Literal[False] = ...", "Tensor"), ("*, as_tuple: Literal[True]", "tuple[Tensor, ...]"),
    ),
}  # fmt: skip
_OVERLOAD_IMPORTS = {
    "import builtins", "from typing import Literal", "from typing import overload",
    "from cuprous.torch._extremes import values_indices", "from cuprous.torch._types import Size",
}  # fmt: skip
_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def defined(module: str) -> frozenset[str]:
    """Returns the names that the source of a module defines at the top."""
    path = getattr(sys.modules.get(module), "__file__", None)
    return top_names(Path(path)) if path is not None and path.endswith(".py") else frozenset()


@cache
def top_names(path: Path) -> frozenset[str]:
    """Returns the names of functions, classes and variables at the top of a file."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return frozenset(found)


def overloads(name: str, first: str, imports: set[str]) -> list[str]:
    """Returns the declarations of a function whose result depends on its arguments; `first` is the tensor."""
    imports |= _OVERLOAD_IMPORTS
    lines = []
    for parameters, result in OVERLOADS[name]:
        lines += ["@overload", f"def {name}({', '.join(filter(None, [first, parameters]))}) -> {result}: ..."]
    return lines


def _home(name: str, scope: dict[str, Any]) -> str:
    """Returns the module that defines a type or an alias."""
    value = scope[name]
    home = getattr(value, "__module__", None)
    if home in sys.modules and getattr(sys.modules[home], name, None) is value:
        return str(home)
    found = [scope["__name__"], *sorted(module for module in sys.modules if module.startswith("cuprous."))]
    return next(m for m in found if name in defined(m) and getattr(sys.modules[m], name, None) is value)


def _type(annotation: Any, scope: dict[str, Any], imports: set[str], taken: set[str]) -> str:
    """Returns the text of an annotation, and adds what it needs to the imports."""
    text = annotation if isinstance(annotation, str) else "Any"

    def qualified(found: re.Match[str]) -> str:
        name = found[0]
        if not {name.partition(".")[0]} & {*scope, *SOURCES, *vars(builtins)}:
            return name  # the text of a Literal
        if name in taken and hasattr(builtins, name):
            imports.add("import builtins")
            return f"builtins.{name}"
        if name in SOURCES:
            imports.add(f"from {SOURCES[name]} import {name}")
        elif "." in name:
            alias = name.partition(".")[0]
            imports.add(f"import {scope[alias].__name__} as {alias}")
        elif not hasattr(builtins, name):
            imports.add(f"from {_home(name, scope)} import {name}")
        return name

    return re.sub(r"[A-Za-z_][\w.]*", qualified, text)


def _method(name: str, function: Any, imports: set[str], taken: set[str]) -> str:
    if isinstance(function, type):  # an attribute that is an object of a class
        imports.add(f"from {function.__module__} import {function.__name__}")
        return f"    def {name}(self) -> {function.__name__}: ..."
    return f"    def {name}{signature_of(function, imports, taken, method=True)}: ..."


def signature_of(function: Any, imports: set[str], taken: set[str], method: bool = False) -> str:
    """Returns the parameters and the result of a function as text, and adds what they need to the imports."""
    plain = inspect.unwrap(function)
    signature, scope = inspect.signature(function), getattr(plain, "__func__", plain).__globals__
    parts, star = (["self"], False) if method else ([], False)
    for p in list(signature.parameters.values())[method:]:
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
        star |= p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        text = f"{_STARS.get(p.kind, '')}{p.name}: {_type(p.annotation, scope, imports, taken)}"
        simple = isinstance(p.default, (bool, int, float, str, type(None)))
        parts.append(text if p.default is p.empty else f"{text} = {p.default!r}" if simple else f"{text} = ...")
    result = _type(signature.return_annotation, scope, imports, taken)
    return f"({', '.join(parts)}) -> {result}"


def declared(file: str, cls: str) -> set[str]:
    """Returns the names that the body of a class declares in a stub."""
    tree = ast.parse((PACKAGE / file).read_text())
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls]
    targets = [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return {node.name for node in body if isinstance(node, ast.FunctionDef)} | {
        target.id for target in targets if isinstance(target, ast.Name)
    }


def stub(file: str) -> str:
    """Returns the stub, not formatted."""
    native, cls, doc, writes = FILES[file]
    added = {n: v for n, v in vars(native).items() if inspect.isfunction(v) or isinstance(v, property)}
    taken, imports, lines = set(vars(native)), {"from typing import Any"}, []
    by_hand = set() if native is torch.Tensor else declared("_core.pyi", native.__name__)
    for name, value in sorted(added.items()):
        in_file = writes is None or (name.endswith("_") and not name.endswith("__")) == writes
        in_file &= name not in by_hand
        if native is torch.Tensor and name in OVERLOADS and in_file:
            lines += [f"    {text}" for text in overloads(name, "self", imports)]
        elif name not in vars(object) and in_file:
            lines += ["    @property"] if isinstance(value, property) else []
            lines.append(_method(name, value.fget if isinstance(value, property) else value, imports, taken))
            if isinstance(value, property) and value.fset is not None:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
    head = '"""Generated by `python -m tests.torch.make_stub`."""'
    return "\n".join([head, "", *sorted(imports), "", f"class {cls}:", f'    """{doc}"""', "", *lines, ""])


def main() -> None:
    paths = [str(PACKAGE / file) for file in FILES]
    for file, path in zip(FILES, paths, strict=True):
        Path(path).write_text(stub(file))
    for command in (["check", "--fix", "--quiet", "--ignore=E501"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *paths], check=True)


if __name__ == "__main__":
    main()
