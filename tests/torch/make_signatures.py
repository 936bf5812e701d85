"""Writes signatures.txt where PyTorch is installed: `python -m tests.torch.make_signatures`.

The names of parameters come from PyTorch itself: those of native functions from its stubs, which are made of the
signatures that its argument parser takes, or from the first lines of docstrings, and the parser has to accept each;
those of Python's functions and classes from `inspect`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import keyword
import re
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Modules with public functions and classes, below `torch`.
MODULES = (
    "", "Tensor", "accelerator", "amp", "autograd", "autograd.functional", "autograd.graph", "cuda", "distributions",
    "distributions.transforms", "fft", "func", "hub", "linalg", "multiprocessing", "nn", "nn.attention",
    "nn.functional", "nn.init", "nn.parallel", "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize",
    "nn.utils.prune", "nn.utils.rnn", "nn.utils.stateless", "optim", "optim.lr_scheduler", "optim.swa_utils", "random",
    "signal.windows", "sparse", "special", "testing", "utils.checkpoint", "utils.data", "utils.dlpack",
)  # fmt: skip
#: Classes whose methods are listed too.
CLASSES = ("nn.Module", "nn.ModuleList", "nn.ModuleDict", "nn.ParameterList", "nn.ParameterDict", "nn.Sequential",
           "optim.Optimizer", "amp.GradScaler", "Generator", "distributions.Distribution")  # fmt: skip
#: Functions that PyTorch's documentation does not have: of other libraries, of quantization, copies of views.
INTERNAL = re.compile(
    "cudnn_|miopen_|mkldnn_|fbgemm_|quantize|q_|fake_quantize|fused_|sym_|batch_norm_|native_|rnn_|gru|lstm|(?!index_).*_copy$"
    "|.*Storage|Sym|unsafe_|.*_backward|choose_qparams|grid_sampler|convolution$|int_repr|hash_tensor|prepare_multi"
    "|affine_grid_generator|alias|classproperty|conv_tbc|empty_quantized|is_inference|norm_except|slice_inverse"
)
#: NumPy's names, which the parser of native functions takes as well.
ALIASES = {"axis": "dim", "keepdims": "keepdim"}
#: Parameters of PyTorch's that its documentation does not have: of named tensors, of the compiler, of old versions.
UNDOCUMENTED = {"implicit", "names", "start_", "self_", "kwargs", "args", "orig_func", "outdim", "out_dim"}

#: What stubs have that PyTorch's parser or its documentation does not.
WRONG = {
    "Tensor.new": "cls device other size storage", "Tensor.requires_grad_": "mode", "flatten": "dims",
    "can_cast": "from",
    "Tensor.flatten": "dims", "Tensor.mul": "out", "Tensor.true_divide": "out", "Tensor.floor_divide": "out",
    "autograd.graph.RemovableHandle": "hooks_dict extra_dict", "nn.RNNCellBase": "num_chunks",
}  # fmt: skip


def stubs(path: Path) -> dict[str, list[ast.arguments]]:
    """Returns the arguments of the functions in a stub, methods with the name of their class."""
    found: dict[str, list[ast.arguments]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(prefix + node.name, []).append(node.args)
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{node.name}.")

    visit(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


def plain(name: str) -> str:
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def of_stub(overloads: list[ast.arguments]) -> Iterator[str]:
    for arguments in overloads:
        yield from (plain(a.arg) for a in (*arguments.args, *arguments.kwonlyargs) if a.arg != "self")


def of_docstring(function: Any, name: str) -> Iterator[str]:
    for line in (function.__doc__ or "").splitlines():
        if match := re.match(rf"\s*(?:[\w.]+\.)?{re.escape(name)}\((.*)\)\s*$", line.partition("->")[0]):
            arguments = re.sub(r"[\[(][^\[()\]]*[\])]", "0", match[1])
            words = (part.partition("=")[0].split()[-1:] for part in arguments.split(","))
            yield from (word for part in words for word in part if re.fullmatch(r"[A-Za-z]\w*", word))


def accepts(function: Any, name: str) -> bool:
    """Returns true unless PyTorch's parser refuses a keyword."""
    refusals = ("unexpected keyword", "no keyword arguments", "unrecognized keyword")
    tensor = importlib.import_module("torch").zeros(2, 2)
    for count in range(4):
        try:
            function(*[tensor] * count, **{name: object()})
        except Exception as error:
            message = str(error)
            listed = message.partition("expected one of")[2]
            if any(text in message for text in refusals) or (listed and not re.search(rf"\b{name}\b", listed)):
                return False
    return True


def takes_keywords(function: Any) -> bool:
    """Returns false for functions of C++ that take arguments by position alone."""
    try:
        function(**{"no such keyword": 0})
    except TypeError as error:
        return "takes no keyword arguments" not in str(error)
    except Exception:
        return True
    return True


def names(function: Any, name: str, native: dict[str, list[ast.arguments]], owner: str) -> list[str]:
    """Returns the names of the parameters that can be given by keyword."""
    if inspect.isclass(function):
        target = function.__init__ if "__init__" in vars(function) else function
        try:
            parameters = inspect.signature(target).parameters.values()
        except (ValueError, TypeError):
            return []
    else:
        prefix = "TensorBase." if owner == "Tensor" else ""
        candidates = [*of_stub(native.get(prefix + name, []))] if owner in ("", "Tensor") else []
        python = isinstance(function, types.FunctionType)
        if not candidates and not python:
            candidates = [*of_docstring(function, name)]
            if owner == "linalg":  # documents `A` for some functions whose parser takes `input`
                candidates += ["input"] if candidates and accepts(function, "input") else []
            else:
                candidates = [n for n in candidates if accepts(function, n)]
        if owner in ("", "Tensor") and not python:
            candidates = [n for n in candidates if takes_keywords(function)]
        if candidates and not python:
            candidates += [alias for alias, ours in ALIASES.items() if ours in candidates]
            return [n for n in dict.fromkeys(candidates) if n not in UNDOCUMENTED]
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):
            return []
        if [p.kind for p in parameters] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
            return [n for n in dict.fromkeys(of_docstring(function, name)) if n not in UNDOCUMENTED]
    keywords = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [
        p.name for p in parameters
        if p.kind in keywords and p.name != "self" and not p.name.startswith("_") and p.name not in UNDOCUMENTED
    ]  # fmt: skip


def table() -> Iterator[tuple[str, list[str]]]:
    torch = importlib.import_module("torch")
    folder = Path(str(torch.__file__)).parent / "_C"
    native = stubs(folder / "_VariableFunctions.pyi") | stubs(folder / "__init__.pyi")
    for place in (*MODULES, *CLASSES):
        owner = torch
        for part in filter(None, place.split(".")):
            owner = getattr(owner, part) if hasattr(owner, part) else importlib.import_module(f"torch.{place}")
        for name in sorted(dir(owner)):
            function = getattr(owner, name, None)
            origin = getattr(function, "__module__", None) or "torch"
            if name.startswith("_") or not callable(function) or not origin.startswith("torch"):
                continue
            if inspect.isclass(function) and (place in CLASSES or issubclass(function, BaseException)):
                continue
            path = f"{place}.{name}" if place else name
            found = names(function, name, native, place)
            found = [n for n in found if n not in WRONG.get(path, "").split()]
            if found and not INTERNAL.match(name) and (place not in CLASSES or name in vars(owner)):
                yield path, found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    lines = [f"{path}: {' '.join(found)}" for path, found in table()]
    target = Path(__file__).with_name("signatures.txt")
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(len(lines))
