"""`cuprous doctor program.py`: lists what a program uses of other packages and Cuprous lacks, from its text alone."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from cuprous.runner._packages import DEFAULT, below, chosen, counterpart
from cuprous.runner.command import add_bind_options


@dataclass(frozen=True, order=True)
class Use:
    """A name of another package in a program's text."""

    file: str
    line: int
    name: str


@dataclass(frozen=True)
class Finding:
    """A use of a name that Cuprous lacks, or has only to say why."""

    use: Use
    #: Why it is unsupported and what to do instead; empty for a name that does not exist.
    reason: str = ""


class _Uses(ast.NodeVisitor):
    """Collects the uses of packages in one file."""

    def __init__(self, file: str, packages: Sequence[str]) -> None:
        self.file, self.packages = file, packages
        self.aliases: dict[str, str] = {}
        self.found: set[Use] = set()
        #: Modules of other packages that the file imports.
        self.imports: set[str] = set()

    def _is_bound(self, name: str) -> bool:
        return any(below(name, package) or below(package, name) for package in self.packages)

    def _use(self, node: ast.AST, name: str) -> None:
        if any(below(name, package) for package in self.packages):
            self.found.add(Use(self.file, getattr(node, "lineno", 0), name))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if self._is_bound(alias.name):
                self.aliases[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                self._use(node, alias.name)
            else:
                self.imports.add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if node.level == 0 and self._is_bound(module):
                name = module if alias.name == "*" else f"{module}.{alias.name}"
                self.aliases[alias.asname or alias.name] = name
                self._use(node, name)
            else:
                self.imports |= {
                    module,
                    f"{module.rstrip('.')}.{alias.name}" if module.strip(".") else module + alias.name,
                }

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts, owner = [node.attr], node.value
        while isinstance(owner, ast.Attribute):
            parts.append(owner.attr)
            owner = owner.value
        if isinstance(owner, ast.Name) and owner.id in self.aliases:
            self._use(node, ".".join([self.aliases[owner.id], *reversed(parts)]))
        else:
            self.visit(owner)


def uses(path: Path, packages: Sequence[str]) -> tuple[list[Use], int]:
    """Returns the uses of packages in a program and in its own modules beside it, and the number of files.

    Raises
    ------
    SyntaxError
        For a file that is not Python.
    """
    found: set[Use] = set()
    todo, seen = [path], set()
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        visitor = _Uses(str(file), packages)
        tree = ast.parse(file.read_bytes(), str(file))
        for kinds in ((ast.Import, ast.ImportFrom), (ast.Attribute,)):  # an import may stand below its use
            for node in ast.walk(tree):
                if isinstance(node, kinds):
                    visitor.visit(node)
        found |= visitor.found
        todo += [module for name in visitor.imports for module in _own_modules(name, file, path.parent)]
    return sorted(_longest(found)), len(seen)


def _longest(found: set[Use]) -> Iterator[Use]:
    """Yields uses without those that are a part of a longer one in the same line."""
    by_line: dict[tuple[str, int], list[str]] = {}
    for use in found:
        by_line.setdefault((use.file, use.line), []).append(use.name)
    for use in found:
        if not any(other.startswith(use.name + ".") for other in by_line[use.file, use.line]):
            yield use


def _own_modules(name: str, importer: Path, root: Path) -> Iterator[Path]:
    """Yields the files of a module of the program: it lies in the program's folder, or beside the importer."""
    level = len(name) - len(name.lstrip("."))
    folder = importer.parents[level - 1] if level else root
    path = folder.joinpath(*[part for part in name.lstrip(".").split(".") if part])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file() and path != folder:
            yield file


def examine(use: Use, packages: Sequence[str]) -> Finding | None:
    """Returns what is wrong with a use, or None if the name exists."""
    parts = use.name.split(".")
    package = next(p for p in packages if below(use.name, p))
    depth = len(package.split("."))
    try:
        owner: Any = importlib.import_module(counterpart(package, packages) or "")
    except ImportError as error:  # Keras, which is a package of its own
        return Finding(use, str(error))
    for end in range(depth, len(parts)):
        if not isinstance(owner, (ModuleType, type)):
            break  # attributes of values are not known from the text
        try:
            owner = _member(owner, ".".join(parts[: end + 1]), parts[end], packages)
        except NotImplementedError as error:
            return Finding(use, str(error))
        except (AttributeError, ImportError):
            return Finding(Use(use.file, use.line, ".".join(parts[: end + 1])))
    reason = getattr(owner, "unsupported", "")
    return Finding(use, reason) if isinstance(reason, str) and reason else None


def _member(owner: Any, path: str, name: str, packages: Sequence[str]) -> Any:
    try:
        return getattr(owner, name)
    except NotImplementedError:
        raise
    except AttributeError:
        if not isinstance(owner, ModuleType):
            raise
        return importlib.import_module(counterpart(path, packages) or "")


def main(argv: Sequence[str]) -> int:
    """Runs one command line. Returns the exit code: 1 if a name is missing."""
    parser = argparse.ArgumentParser(
        prog="cuprous doctor",
        usage="cuprous doctor PROGRAM.py ... [--bind NAMES] [--json]",
        description="Lists the names of other packages that a program and its own modules use and that Cuprous lacks. "
                    "Nothing of the program is run. Without a program it checks this machine.",
    )  # fmt: skip
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM.py")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_bind_options(parser)
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    packages = [name for name in chosen((*DEFAULT, *options.bind)) if name not in options.keep]
    findings: list[Finding] = []
    count = files = 0
    for program in options.programs:
        try:
            found, read = uses(program, packages)
        except FileNotFoundError:
            print(f"cuprous doctor: file {str(program)!r} does not exist", file=sys.stderr)
            return 2
        except (OSError, SyntaxError) as error:
            print(f"cuprous doctor: {error}", file=sys.stderr)
            return 2
        count, files = count + len({use.name for use in found}), files + read
        findings += filter(None, (examine(use, packages) for use in found))
    missing = [finding for finding in findings if not finding.reason]
    if options.json:
        rows = [{**asdict(finding.use), "reason": finding.reason} for finding in findings]
        print(json.dumps({"files": files, "names": count, "findings": rows}, indent=1))
    else:
        print(f"{count} names of {', '.join(packages)} in {files} file{'s' * (files > 1)}")
        _print("missing", missing)
        _print("raise an error when used", [finding for finding in findings if finding.reason])
        if not findings:
            print("All of them exist.")
    return 1 if missing else 0


def _print(title: str, findings: Sequence[Finding]) -> None:
    if findings:
        print(f"\n{title}:")
        for finding in findings:
            reason = f": {finding.reason}" if finding.reason else ""
            print(f"  {finding.use.file}:{finding.use.line}  {finding.use.name}{reason}")
