"""How Sphinx builds the documentation (`make docs`), and the directive that writes the reference from docstrings.

    ```{reference} cuprous.linalg
    ```

lists what the module's `__all__` names, in the groups that its source files are. Docstrings are Markdown.
"""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import cuprous
from cuprous._common.naming import split_sections
from cuprous._tools import completions
from cuprous._ufuncs.two_outputs import TwoOutputs
from cuprous._unsupported import Unsupported
from cuprous.scipy.special import SpecialFunction

sys.path.insert(0, str(Path(__file__).parents[1]))

from docs import accessible

project = "Cuprous"
author = copyright = "the Cuprous developers"
version = release = cuprous.__version__
extensions = ["myst_parser", "sphinx_copybutton"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # not copied
copybutton_prompt_is_regexp = True
myst_enable_extensions = ["colon_fence", "deflist"]
exclude_patterns = ["*.py", "*.ipynb"]
html_theme = "furo"
html_title = f"Cuprous {version}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_theme_options = {  # the pencil beside a page's title
    "source_repository": "https://github.com/cuprous/cuprous/",
    "source_branch": "main",
    "source_directory": "docs/",
}
nitpicky = True  # a reference to what is not there is a warning, and warnings are errors
myst_heading_anchors = 3
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def markdown(doc: str, module: str) -> str:
    """A docstring of a module with its sections as Markdown's."""
    head, found = split_sections(doc)
    parts = [head]
    for title, text in found.items():
        body = text
        if title == "See Also":
            body = ", ".join(linked(name, module) for name in re.split(r",\s+", text.strip()))
        elif title == "Examples":
            body = f"```pycon\n{text.strip()}\n```"
        elif title != "Notes":
            body = "\n\n".join(definition(entry, title) for entry in re.split(r"\n(?=\S)", text))
        parts.append(f"**{title}**\n\n{body}")
    return "\n\n".join(parts) + "\n"


def definition(entry: str, title: str) -> str:
    """An entry of a section as an item of a definition list, without a description as a paragraph."""
    first, _, text = entry.partition("\n")
    names, _, kind = first.partition(" : ")
    term = f"*{names}*" if title in ("Returns", "Yields") else f"`{names}`" + (f" : *{kind}*" if kind else "")
    body = inspect.cleandoc(text).replace("\n", "\n  ")
    return f"{term}\n: {body}" if body else term


def linked(name: str, module: str) -> str:
    """A related name as a link, if a page of the reference has it."""
    path = related(name, module)
    return f"{{py:obj}}`{name} <{path}>`" if path in described_names() else f"`{name}`"


def related(name: str, module: str) -> str:
    """The full path of a name in a section See Also: one of the module's own, or of Cuprous's."""
    own = f"{module}.{name}"
    return own if own in described_names() else f"cuprous.{name.removeprefix('cuprous.')}"


@cache
def described_names() -> frozenset[str]:
    """The functions and classes that the pages of the reference describe, with their modules."""
    pages = (Path(__file__).parent / "reference").glob("*.md")
    paths = [m for page in pages for m in re.findall(r"^```{reference} (\S+)", page.read_text(), re.MULTILINE)]
    found = ((m, name, getattr(m, name)) for m in map(import_module, paths) for name in names(m))
    return frozenset(f"{m.__name__}.{n}" for m, n, v in found if callable(v) and not isinstance(v, Unsupported))


#: Sections of differences.md: the library that they are about, and the module whose functions their rows name.
LIBRARIES = {
    "From NumPy": ("NumPy", "cuprous"),
    "Functions of arrays": ("NumPy", "cuprous"),
    "Random numbers": ("NumPy", "cuprous.random"),
    "`cuprous.scipy`": ("SciPy", "cuprous.scipy"),
    "From PyTorch": ("PyTorch", "cuprous.torch"),
}


@cache
def differences() -> dict[str, list[str]]:
    """Notes about functions by their paths: the rows of differences.md that begin with their names."""
    found: dict[str, list[str]] = {}
    text = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8").replace("](", "](../")
    for part in text.split("\n## ")[1:]:
        library, module = LIBRARIES.get(part.partition("\n")[0], ("", ""))
        for row in re.findall(r"^\| (?!\|)(.*) \|$", part, re.MULTILINE) if library else ():
            what, theirs, ours, *_ = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row))
            about = what.partition(" other than ")[0] if what.startswith("`") else ""
            named = re.findall(r"`([a-z_][\w.]*)[`(]", about)
            for name in named:
                home = named[0].rpartition(".")[0] or named[0]
                for path in (f"{module}.{name}", f"{module}.{home}.{name}"):
                    if path in described_names():
                        both = "; ".join(
                            f"{who}: {cell}" for who, cell in ((library, theirs), ("Cuprous", ours)) if cell
                        )
                        found.setdefault(path, []).append(f"{what}. {both}.")
    return found


def signature(value: Any) -> str:
    """The arguments of a callable, without their types."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=found.empty))
    text = re.sub(r"<object object at \w+>", "<not given>", text)
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)  # a member of an enumeration
    return re.sub(r"<(?:class|function) '?([\w.]+)'?[^>]*>", r"\1", text)


def constructor(cls: type) -> str:
    """The arguments of a class, or nothing if they are unknown or say nothing, as those of an enumeration."""
    found = "" if issubclass(cls, enum.Enum) else signature(cls)
    return "" if found in ("(...)", "(*args, **kwargs)", "(args, kwargs)") else found


def entry(kind: str, module: str, name: str, value: Any, arguments: str = "", inner: str = "") -> str:
    """One description of a module's; `inner` are those of a class's members."""
    fence = ":" * (4 if inner else 3)
    doc = inspect.getdoc(value) or ""
    if isinstance(value, (cuprous.ufunc, TwoOutputs, SpecialFunction)):
        doc = doc.partition("\n\n")[2]  # it begins with the signature
    rows = "".join(f"- {row}\n" for row in differences().get(f"{module}.{name}", ()))
    notes = f"**[Differences](../differences.md)**\n\n{rows}\n" if rows else ""
    return f"{fence}{{py:{kind}}} {name}{arguments}\n\n{markdown(doc, module)}\n{notes}{inner}{fence}\n\n"


def members(module: str, cls: type) -> Iterator[str]:
    """The public methods and attributes of a class that say what they are, unless a base says the same."""
    for name, value in sorted(vars(cls).items()):
        if (
            name.startswith("_")
            or not inspect.getdoc(value)
            or not (callable(value) or inspect.isdatadescriptor(value))
            or any(getattr(vars(base).get(name), "__doc__", None) == value.__doc__ for base in cls.__mro__[1:])
        ):
            continue
        if inspect.isdatadescriptor(value):
            yield entry("attribute", module, f"{cls.__name__}.{name}", value)
        else:
            plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            arguments = re.sub(r"^\((\$?self)(, )?", "(", signature(plain))
            yield entry("method", module, f"{cls.__name__}.{name}", plain, arguments)


def described(module: str, name: str, value: Any) -> str:
    """The description of one name."""
    if isinstance(value, type):
        return entry("class", module, name, value, constructor(value), inner="".join(members(module, value)))
    if callable(value):
        return entry("function", module, name, value, signature(value))
    return f":::{{py:data}} {name}\n\n`{value!r}`\n:::\n\n" if isinstance(value, (int, float, str, type(None))) else ""


def home(module: ModuleType, value: Any) -> str:
    """The source file of a value: what it says in its first sentence is the title of the group."""
    if value in (cuprous.ndarray, cuprous.ufunc):
        return "cuprous._core"
    if isinstance(value, cuprous.ufunc):
        return "cuprous._ufuncs.one_output"
    found = getattr(value, "__module__", None) or type(value).__module__
    return found if str(found).startswith(module.__name__ + ".") or str(found).startswith("cuprous._") else ""


def names(module: ModuleType) -> list[str]:
    """The public names of a module. Those of PyTorch's are also what can be called and is defined in its package."""
    listed = list(getattr(module, "__all__", ()))
    if not module.__name__.startswith("cuprous.torch"):
        return listed
    homes = (module.__name__, "cuprous.torch._", "cuprous._core")

    def own(value: Any) -> bool:
        return callable(value) and str(getattr(value, "__module__", None) or module.__name__).startswith(homes)

    return list({*listed, *(n for n in dir(module) if not n.startswith("_") and own(getattr(module, n)))})


def groups(module: ModuleType) -> dict[str, list[str]]:
    """Descriptions by title."""
    found: dict[str, list[str]] = {}
    for name in sorted(names(module), key=str.lower):
        value = getattr(module, name)
        if isinstance(value, (Unsupported, ModuleType)) or name.startswith("__"):
            continue
        file = home(module, value)
        first = (sys.modules[file].__doc__ or "").split("\n\n")[0] if file else "Functions"
        title = TITLES.get(file) or re.split(r"[:;.,](?:\s|$)", first.replace("\n", " "))[0]
        found.setdefault(title, []).append(described(module.__name__, name, value))
    return {title: [d for d in found[title] if d] for title in sorted(found)}


TITLES = {
    "cuprous._core": "The array and the universal function",
    "cuprous._common.convert": "Other libraries",
    "cuprous._common.dlpack": "Other libraries",
    "cuprous._common.masks": "Counts and positions of nonzero elements",
    "cuprous._functions.selection": "Picking and placing by index",
    "cuprous._functions.reductions": "Reductions",
    "cuprous._functions.quantiles": "Quantiles",
    "cuprous._common.device": "Devices, memory and explanations",
    "cuprous._tools.pacing": "Time and progress",
    "cuprous._tools.timing": "Time and progress",
    "cuprous._functions.calculus": "Differences, integrals, interpolation, convolution",
    "cuprous.linalg._decompositions": "Decompositions",
    "cuprous.linalg._svd": "Decompositions",
    "cuprous.linalg._solving": "Equations and inverses",
    "cuprous.linalg._products": "Products",
    "cuprous.linalg._norms": "Norms",
    "cuprous._functions.logic": "Comparisons and questions",
    "cuprous._functions.matrix_indices": "Diagonals and triangles",
    "cuprous._functions.index_tricks": "Grids and iterators of indices",
    "cuprous._functions.insertion": "Appending, inserting and deleting",
    "cuprous._functions.moments": "Averages and variances",
    "cuprous._ufuncs.one_output": "Universal functions",
    "cuprous._functions.broadcast": "Other names",
    "cuprous._functions.constants": "Other names",
    "cuprous._ufuncs.methods": "Universal functions of two results",
    "cuprous.scipy.special._function": "Functions of elements",
}


class Reference(SphinxDirective):
    """`{reference} module`: everything that a module offers."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module = import_module(self.arguments[0])
        parts = [f"```{{py:currentmodule}} {module.__name__}\n```\n"]
        for title, descriptions in groups(module).items():
            if descriptions:
                parts += [f"## {title}\n", *descriptions]
        text = "\n".join(parts)
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class Commands(SphinxDirective):
    """`{commands}`: every command with its options, from the commands' own help."""

    def run(self) -> list[nodes.Node]:
        parts = []
        for command in completions.commands():
            parts.append(f"## `cuprous {command.name}`\n\n{command.summary}.\n\n| option | |\n|---|---|")
            for option in command.options:
                names = ", ".join(f"`{name}`" for name in option.names)
                value = f" {' or '.join(f'`{c}`' for c in option.choices) or '…'}" if option.takes_value else ""
                summary = option.summary.replace("|", "\\|").replace("<", "\\<")
                parts.append(f"| {names}{value} | {summary} |")
            parts.append("")
        return self.parse_text_to_nodes("\n".join(parts), allow_section_headings=True)


class Results(SphinxDirective):
    """`{results} MACHINE` with names of rows as its content: these rows of the recorded benchmarks."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        text = (Path(__file__).parents[1] / "bench" / "RESULTS.md").read_text(encoding="utf-8")
        section = text.partition(f"\n## {self.arguments[0]}\n")[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))
        parts = ["| work | Cuprous | fastest other | ratio | date |", "|---|---|---|---|---|"]
        for name in " ".join(self.content).split():
            work, ours, other, ratio, _, _, _, date, *_ = rows[name].split(" | ")
            times = (time.replace(" ", "\N{NO-BREAK SPACE}") for time in (ours, other))
            dash = "\N{NON-BREAKING HYPHEN}"
            parts.append(f"| {work} | {' | '.join(times)} | {ratio} | {date.replace('-', dash)} |")
        return self.parse_text_to_nodes("\n".join(parts))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx. Pages can be read and written by several processes."""
    app.add_directive("reference", Reference)
    app.add_directive("commands", Commands)
    app.add_directive("results", Results)
    app.connect("build-finished", accessible.mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
