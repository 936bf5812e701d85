"""Resolves imports of a peer to Cuprous, and runs test modules in which single statements may fail."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from cuprous._unsupported import Unsupported


class Absent:
    """A stand-in for a name that a failed statement would have bound. Any use raises the statement's error."""

    def __init__(self, error: Exception) -> None:
        object.__setattr__(self, "_error", error)

    def _raise(self, *args: Any, **kwargs: Any) -> Any:
        # Without the traceback, which would grow with every use.
        raise object.__getattribute__(self, "_error").with_traceback(None)

    __getattr__ = __setattr__ = __call__ = __getitem__ = __iter__ = __bool__ = __mro_entries__ = __enter__ = _raise
    __len__ = __add__ = __radd__ = __mul__ = __lt__ = __gt__ = _raise


def stand_in(name: str, kind: str, error: Exception) -> Any:
    """Returns the stand-in for `name` after its statement failed: a failing test, or an absent name."""

    def failing(*args: Any) -> None:
        raise error.with_traceback(None)

    if kind == "function" and name.startswith("test"):
        return failing
    if kind == "class" and name.startswith("Test"):
        return type(name, (), {"test_class_body": failing})
    return Absent(error)


class _Tolerant(ast.NodeTransformer):
    """Wraps each statement of a module or class body, so that an error binds stand-ins instead of ending the import."""

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        start = 1 if body and isinstance(body[0], ast.Expr) else 0  # keep a docstring as the first statement
        return body[:start] + [self._wrapped(single) for statement in body[start:] for single in _single(statement)]

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = self._body(node.body)
        return node

    def _wrapped(self, statement: ast.stmt) -> ast.stmt:
        kind, names = _bound(statement)
        if isinstance(statement, ast.ClassDef):
            statement.body = self._body(statement.body)
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            return statement
        lines = "\n".join(f"    {n} = __stand_in__({n!r}, {kind!r}, __error)" for n in names) or "    pass"
        wrapped = ast.parse(f"try:\n    pass\nexcept Exception as __error:\n{lines}").body[0]
        assert isinstance(wrapped, ast.Try)
        wrapped.body = [statement]
        return wrapped


def _single(statement: ast.stmt) -> list[ast.stmt]:
    """Splits imports by name and package, so that a missing name does not affect the others."""
    if isinstance(statement, ast.ImportFrom) and len(statement.names) > 1 and statement.module != "__future__":
        module, level = statement.module, statement.level
        return [ast.copy_location(ast.ImportFrom(module, [name], level), statement) for name in statement.names]
    if isinstance(statement, ast.Import):
        parts = [a if a.asname else ast.alias(a.name.partition(".")[0]) for a in statement.names]
        parts += [a for a in statement.names if not a.asname and "." in a.name]
        return [ast.copy_location(ast.Import([part]), statement) for part in parts]
    return [statement]


def _bound(statement: ast.stmt) -> tuple[str, list[str]]:
    if isinstance(statement, ast.FunctionDef):
        return "function", [statement.name]
    if isinstance(statement, ast.ClassDef):
        return "class", [statement.name]
    if isinstance(statement, ast.ImportFrom):
        names = [a.asname or a.name for a in statement.names]
        return "import", [] if statement.module == "__future__" or "*" in names else names
    if isinstance(statement, ast.Import):
        return "import", [a.asname or a.name for a in statement.names if a.asname or "." not in a.name]
    if isinstance(statement, ast.Assign):
        return "value", [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(statement, ast.If | ast.For | ast.With | ast.Try):
        inner = [_bound(s)[1] for s in ast.walk(statement) if isinstance(s, ast.stmt) and s is not statement]
        return "value", sorted({name for names in inner for name in names})
    return "other", []


def execute(path: Path, module: ModuleType, importer: Any = None) -> None:
    """Runs a peer's test module in `module`; `importer` replaces the `import` statement inside it."""
    tree = _Tolerant().visit(ast.parse(path.read_bytes(), str(path)))
    code = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
    scope = vars(module)
    scope["__stand_in__"] = stand_in
    if importer is not None:
        scope["__builtins__"] = {**vars(builtins), "__import__": importer}
    exec(code, scope)


class _Loader(importlib.abc.Loader):
    """Loads a peer's own Python file, or returns an existing module."""

    def __init__(self, path: Path | None, target: ModuleType | None) -> None:
        self.path, self.target = path, target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.target

    def exec_module(self, module: ModuleType) -> None:
        if self.path is not None:
            execute(self.path, module)


class _Itself(_Loader):
    """Loads an existing module under a second name."""

    def __init__(self, ours: ModuleType) -> None:
        super().__init__(None, None)
        self.ours = ours

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self.ours


class Finder(importlib.abc.MetaPathFinder):
    """Answers imports below `roots`: by an alias, by the peer's own file, else with ModuleNotFoundError.

    `aliases` names the module that stands for a package of the peer; a submodule is the submodule of that module.
    `own` maps packages of test helpers to their folders, `lent` has modules that are made for the tests. With `faces`
    an alias shows no private names; without, it is the module itself, by which kernels recognize their functions.
    """

    def __init__(
        self,
        aliases: Mapping[str, str],
        own: Mapping[str, Path],
        lent: Mapping[str, ModuleType],
        faces: bool = True,
    ) -> None:
        self.aliases, self.own, self.lent, self.faces = aliases, own, lent, faces
        self.roots = {name.split(".")[0] for name in (*aliases, *own, *lent)}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.split(".")[0] not in self.roots:
            return None
        if name in self.lent:
            return importlib.machinery.ModuleSpec(name, _Loader(None, self.lent[name]), is_package=True)
        for package, folder in self.own.items():
            if name == package or name.startswith(package + "."):
                return _own_spec(name, folder.joinpath(*name[len(package) :].split(".")))
        private = any(part.startswith("_") for part in name.split("."))
        for package in () if private else sorted(self.aliases, key=len, reverse=True):
            if name == package or name.startswith(package + "."):
                try:
                    ours = importlib.import_module(self.aliases[package] + name[len(package) :])
                except ModuleNotFoundError:
                    break
                loader = _Loader(None, Face(name, ours)) if self.faces else _Itself(ours)
                return importlib.machinery.ModuleSpec(name, loader, is_package=True)
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class Face(ModuleType):
    """A module of Cuprous under the peer's name. Private names are not shared, so that none is met by coincidence."""

    def __init__(self, name: str, ours: ModuleType) -> None:
        super().__init__(name)
        self.__dict__["__ours__"] = ours

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        value = getattr(self.__dict__["__ours__"], name)
        if isinstance(value, ModuleType) and value.__name__.startswith("cuprous."):
            return importlib.import_module(f"{self.__name__}.{name}")
        if isinstance(value, Unsupported):  # a class, because the peer's tests use isinstance
            return type(name, (), {"__new__": lambda cls, *args, **kwargs: value(*args, **kwargs)})
        if name == "get_array_module":
            ours = self.__dict__["__ours__"]
            return lambda *args: self if value(*args) is ours else value(*args)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setting = getattr(type(self.__dict__["__ours__"]), name, None)
        if isinstance(setting, property):  # a setting of the module, such as those of `fft.config`
            setattr(self.__dict__["__ours__"], name, value)
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__ours__"])


def package(name: str, **values: Any) -> ModuleType:
    """Returns a new module with these names. Other modules may lie in it."""
    module = ModuleType(name)
    module.__path__ = []
    vars(module).update(values)
    return module


def _own_spec(name: str, path: Path) -> importlib.machinery.ModuleSpec:
    is_package = path.is_dir()
    file = path / "__init__.py" if is_package else path.with_suffix(".py")
    if not file.exists():
        if not is_package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec = importlib.util.spec_from_file_location(
        name, file, loader=_Loader(file, None), submodule_search_locations=[str(path)] if is_package else None
    )
    assert spec is not None
    return spec
