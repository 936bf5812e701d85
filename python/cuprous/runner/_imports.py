"""Imports that depend on the importer: of a real package's modules, and of NumPy and TensorFlow by the program."""

from __future__ import annotations

import builtins
import importlib
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from cuprous import _unsupported
from cuprous.runner._packages import below

#: Keras under TensorFlow's name, with the names that `tensorflow.keras` alone has.
TF_KERAS = "cuprous.keras._tf_keras.keras"
TF_ADVICE = (
    "of TensorFlow only keras is bound, with random.set_seed and config.list_physical_devices; use keras.ops and "
    "keras.utils, or run the program with --keep tensorflow,keras"
)

#: Answers an import for some importers: it gets the import's name, which begins with dots if it is relative, and the
#: importer's globals, and returns a function that imports in place of Python's, or None if the import is not its own.
#: Python's import takes another name, and the module that a statement such as `import a.b` binds if it is not the first
#: part of that name.
Rule = Callable[[str, Mapping[str, Any]], "Callable[[Callable[[], Any]], Any] | None"]


class Imports:
    """Replaces `import` statements and `importlib.import_module` while there are rules."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self._statement: Any = builtins.__import__
        self._function = importlib.import_module

    def add(self, rule: Rule) -> None:
        """Adds a rule, which is asked before the others."""
        if not self.rules:
            self._statement, self._function = builtins.__import__, importlib.import_module
            builtins.__import__, importlib.import_module = self.statement, self.function
        if rule not in self.rules:
            self.rules.insert(0, rule)

    def remove(self, rule: Rule) -> None:
        """Removes a rule."""
        if rule in self.rules:
            self.rules.remove(rule)
            if not self.rules:
                builtins.__import__, importlib.import_module = self._statement, self._function

    def statement(self, name: str, globals: Mapping[str, Any] | None = None, locals: Mapping[str, Any] | None = None,
                  fromlist: Sequence[str] | None = (), level: int = 0) -> Any:  # fmt: skip
        """Stands for `builtins.__import__`."""

        def plain(name: str = name, root: str = "") -> Any:
            found = self._statement(name, globals, locals, fromlist, level)
            return sys.modules[root] if root and not fromlist else found

        return self._answer("." * level + name, globals or {}, plain)

    def function(self, name: str, package: str | None = None) -> ModuleType:
        """Stands for `importlib.import_module`."""
        importer = sys._getframe(1).f_globals
        found: ModuleType = self._answer(name, importer, lambda name=name, *_: self._function(name, package))
        return found

    def _answer(self, name: str, importer: Mapping[str, Any], plain: Callable[..., Any]) -> Any:
        for rule in self.rules:
            answer = rule(name, importer)
            if answer is not None:
                return answer(plain)
        return plain()


IMPORTS = Imports()

_OTHERS_FOLDERS = tuple(
    {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {str(Path(__file__).parents[1])}
)


def is_program(importer: Mapping[str, Any]) -> bool:
    """Returns True for the globals of a module of the program: neither installed nor of Python itself."""
    file = importer.get("__file__")
    if file is None:  # a notebook, the prompt, or what the interpreter itself made
        return importer.get("__name__") == "__main__"
    return "site-packages" not in file and not file.startswith(_OTHERS_FOLDERS)


def numpy_rule(name: str, importer: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
    """Binds NumPy to Cuprous for the program's own modules. Libraries keep NumPy, against which most are compiled."""
    if name.partition(".")[0] != "numpy" or not is_program(importer):
        return None

    def bound(plain: Callable[..., Any]) -> Any:
        ours = "cuprous" + name[len("numpy") :]
        try:
            return plain(ours)
        except ModuleNotFoundError as error:
            if error.name != ours:
                raise
            advice = _unsupported.ABSENT.get(name.split(".")[1], "cuprous.real_package('numpy') has it")
            raise ModuleNotFoundError(f"No module named {name!r} in Cuprous: {advice}", name=name) from None

    return bound


def tensorflow_rule(name: str, importer: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
    """Binds TensorFlow for the program's own modules: `tensorflow.keras` is Keras on Cuprous."""
    if name.partition(".")[0] != "tensorflow" or not is_program(importer):
        return None

    def bound(plain: Callable[..., Any]) -> Any:
        root = "cuprous.runner.tensorflow_package"
        if name == "tensorflow":
            return plain(root, root)
        if below(name, "tensorflow.keras"):
            importlib.import_module(root)
            return plain(TF_KERAS + name[len("tensorflow.keras") :], root)
        raise ModuleNotFoundError(f"No module named {name!r} in Cuprous: {TF_ADVICE}", name=name)

    return bound


#: The rules of packages that are bound for the program's own modules only.
RULES: dict[str, Rule] = {"numpy": numpy_rule, "tensorflow": tensorflow_rule}
