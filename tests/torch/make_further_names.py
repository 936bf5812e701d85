"""Writes `cuprous/torch/_further_names.py`: `python -m tests.torch.make_further_names`. It needs no PyTorch."""

from __future__ import annotations

import importlib
import textwrap
import warnings
from pathlib import Path

from cuprous.torch import _further_names

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "python/cuprous/torch/_further_names.py"


def public_names() -> dict[str, list[str]]:
    """Returns the public names of PyTorch's modules, by the path of the module below `torch`."""
    lines = HERE.joinpath("public_names.txt").read_text(encoding="utf-8").splitlines()
    return {path: names.split() for path, _, names in (line.partition(": ") for line in lines)}


def is_missing(path: str, name: str) -> bool:
    """Returns true if a module does not have a name, or a placeholder of `_further_names` for it."""
    full = f"cuprous.torch.{path}".rstrip(".")
    try:
        value = getattr(importlib.import_module(full), name)
    except (AttributeError, NotImplementedError):
        try:
            importlib.import_module(f"{full}.{name}")
        except ImportError:
            return True
        return False
    return getattr(value, "unsupported", None) == _further_names.REASON


def missing() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Returns the modules that do not exist, and the names that the others lack."""
    modules, names = {}, {}
    for path, public in public_names().items():
        try:
            is_absent = path in _further_names.MODULES or not importlib.import_module(
                f"cuprous.torch.{path}".rstrip(".")
            )
        except ImportError:
            is_absent = True
        if is_absent:
            modules[path] = public
        elif absent := [name for name in public if is_missing(path, name)]:
            names[path] = absent
    return modules, names


def _rows(table: dict[str, list[str]]) -> str:
    rows = ""
    for path, names in table.items():
        row = f'    "{path}": "{" ".join(names)}",\n'
        if len(row) <= 121:
            rows += row
            continue
        lines = textwrap.wrap(" ".join(names), 109, break_long_words=False, break_on_hyphens=False)
        ends = [" "] * (len(lines) - 1) + [""]
        text = "".join(f'        "{line}{end}"\n' for line, end in zip(lines, ends, strict=True))
        rows += f'    "{path}": (\n{text}    ),\n'
    return rows


def written(modules: dict[str, list[str]], names: dict[str, list[str]]) -> str:
    """Returns the text of the table."""
    before, _, rest = TARGET.read_text(encoding="utf-8").partition("MODULES: dict[str, str] = {\n")
    between = rest[rest.index("}\n\n#: Names") : rest.index("NAMES: dict")] + "NAMES: dict[str, str] = {\n"
    return (
        f"{before}MODULES: dict[str, str] = {{\n{_rows(modules)}{between}{_rows(names)}}}\n\n"
        '__all__ = ["MODULES", "NAMES", "REASON"]\n'
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    TARGET.write_text(written(*missing()), encoding="utf-8")
