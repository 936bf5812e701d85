"""Docstrings: every public name has one, functions that raise have a Raises section, and the examples are right.

The functions, classes and methods of arrays, SciPy, tensors and kernels document every parameter and what
they return, and have an example. Examples run on any device, with `cp` and `np` imported, those of tensors also with
`torch`, `nn` and `F`, those of kernels with `cuda`.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from inspect import ismodule
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda, torch, torchvision
from cuprous._common.naming import split_entries, split_sections, typed
from cuprous._unsupported import Unsupported
from cuprous.cuda import _intrinsic_docs, _intrinsics
from cuprous.torch import nn
from tests import documented_types
from tests.conftest import DEVICE

#: Modules of the NumPy, CuPy, SciPy and PyTorch APIs.
OURS = ["", "linalg", "fft", "fft.config", "random", "cuda", "cuda.memory", "lib.stride_tricks"]
SCIPY = ["fft", "fftpack", "interpolate", "linalg", "ndimage", "signal", "signal.windows", "sparse", "sparse.csgraph",
         "sparse.linalg", "spatial", "spatial.distance", "special", "stats"]  # fmt: skip
TORCH = ["torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.utils.data", "torch.serialization",
         "torch.safetensors", "torch.amp", "torch.cuda", "torch.accelerator", "torch.random", "torch.profiler",
         "torchvision.datasets", "torchvision.transforms", "torchvision.utils"]  # fmt: skip
MODULES = [f"cuprous.{name}".rstrip(".") for name in OURS] + [f"cuprous.scipy.{name}" for name in SCIPY]
MODULES += [f"cuprous.{name}" for name in TORCH]
#: Modules that are documented in full: those of arrays, of SciPy, of tensors and of kernels.
TENSORS = ["", "__config__", "accelerator", "amp", "autograd", "autograd.functional", "autograd.graph", "compiler",
           "cpu", "cuda", "cuda.amp", "cuda.nvtx", "distributions", "distributions.constraints", "fft", "func",
           "futures", "hub", "jit", "library", "linalg", "nn", "nn.attention", "nn.attention.flex_attention",
           "nn.functional", "nn.init", "nn.modules", "nn.utils", "nn.utils.fusion", "nn.utils.parametrizations",
           "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn", "nn.utils.stateless", "optim",
           "optim.lr_scheduler", "optim.swa_utils", "overrides", "profiler", "random", "safetensors", "serialization",
           "signal.windows", "sparse", "special", "storage", "testing", "torch_version", "utils.checkpoint",
           "utils.data", "utils.dlpack", "utils.flop_counter", "utils.hooks"]  # fmt: skip
KERNELS = ["cuda", "cuda.random", "cuda.nvtx", "cuda.runtime"]
COMPLETE = ["cuprous", *(f"cuprous.{name}" for name in ("linalg", "fft", "random", "lib.stride_tricks"))]
COMPLETE += [f"cuprous.scipy.{name}" for name in SCIPY]
COMPLETE += [f"cuprous.torch.{name}".rstrip(".") for name in TENSORS] + [f"cuprous.{name}" for name in KERNELS]

#: Other public modules: all names have docstrings, not all an example. With the names with which their examples run.
OTHERS: dict[str, dict[str, str]] = {
    "cuda.bf16": {"types": "cuda.types"},
    "cuda.cg": {},
    "cuda.errors": {},
    "cuda.memory": {},
    "cuda.types": {"types": "cuda.types"},
    "cupyx": {},
    "cupyx.jit": {"jit": "cupyx.jit"},
    "cupyx.profiler": {"profiler": "cupyx.profiler"},
    "dask": {},
    "frames": {},
    "lib.array_utils": {"array_utils": "lib.array_utils"},
    "sklearn": {},
    "torch.autograd.profiler": {},
    "torch.distributions.transforms": {},
    "torch.einops": {},
    "torch.multiprocessing": {},
    "torch.nn.parameter": {},
    "torch.return_types": {},
    "torch.utils.tensorboard": {},
}
PYCUDA = (
    "characterize",
    "compiler",
    "cumath",
    "curandom",
    "driver",
    "elementwise",
    "gpuarray",
    "reduction",
    "scan",
    "tools",
)
KERNELS_OF_C = {
    "SourceModule": "compiler.SourceModule",
    "ElementwiseKernel": "elementwise.ElementwiseKernel",
    "ReductionKernel": "reduction.ReductionKernel",
    "InclusiveScanKernel": "scan.InclusiveScanKernel",
    "ExclusiveScanKernel": "scan.ExclusiveScanKernel",
    "drv": "driver",
}
OTHERS |= {
    f"pycuda.{name}": {
        n: f"pycuda.{path}" for n, path in (KERNELS_OF_C | dict(zip(PYCUDA, PYCUDA, strict=True))).items()
    }
    for name in PYCUDA
}
VISION = ("datasets", "io", "models", "ops", "transforms", "utils")
OTHERS |= {
    f"torchvision.{name}": {"TF": "torchvision.transforms.functional", "v2": "torchvision.transforms.v2"}
    | {n: f"torchvision.{n}" for n in VISION}
    for name in (*VISION, "transforms.functional", "transforms.v2")
}
OTHERS |= {
    f"torch.{name}": {"dist": "torch.distributed", "Shard": "torch.distributed.tensor.Shard",
                      "functional": "torch.distributed.nn.functional"}
    for name in ("distributed", "distributed.device_mesh", "distributed.tensor", "distributed.tensor.parallel",
                 "distributed.nn.functional", "distributed.fsdp", "distributed.checkpoint",
                 "distributed.checkpoint.state_dict", "nn.parallel")
}  # fmt: skip
#: The libraries that modules need.
NEEDED = {"frames": "polars", "dask": "dask", "sklearn": "sklearn", "torchvision": "PIL", "torch.utils": "tensorboardX",
          "torch.einops": "einops"}  # fmt: skip

#: Modules that the build of the documentation cannot import: their libraries are not among its requirements.
UNDESCRIBED = {"cuprous.dask", "cuprous.torch.einops"}

#: The functions that create networks have one example, of which that of a small network of each kind is run.
NETWORKS = torchvision.models.list_models()
SMALL_NETWORKS = {"alexnet", "mnasnet0_75", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "resnet18",
                  "efficientnet_b0", "densenet121", "shufflenet_v2_x0_5", "squeezenet1_1"}  # fmt: skip

#: What has no example, and why.
WITHOUT_EXAMPLE = {
    "OutOfMemoryError": "it is caught, not called",
}
#: Functions and classes that have no related names, and why.
WITHOUT_RELATED = {
    **dict.fromkeys(
        ("Node", "OutOfMemoryError", "Tensor", "is_grad_enabled", "ndarray", "ufunc"),
        "the native module has its docstring",
    ),
    "TorchVersion": "its only object is torch.__version__, which has its docstring",
    "lambertw": "SciPy relates it to wrightomega, which is not supported",
    "vectorstrength": "nothing else measures it, in SciPy neither",
}
#: Classes of Python and of other libraries in the types of parameters.
OTHERS_CLASSES = {"Axes", "BytesIO", "Exception", "Image", "LazyFrame", "QueryOptFlags", "timedelta"}
#: The names with which examples run.
NAMES = {"cp": cp, "np": np, "torch": torch, "nn": nn, "F": nn.functional, "cuda": cuda}
#: How examples are compared. Exceptions are printed with the private module of their class.
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
#: What begins a section in Google's format.
GOOGLE = re.compile(
    r"^ *(Args|Arguments|Attributes|Examples?|Keyword Args|Notes?|Raises|References|Returns|See Also|Shapes|Yields):$",
    re.MULTILINE,
)


def public(module: str) -> Iterator[tuple[str, Any]]:
    """Returns the functions and classes of a module, and the public members of the classes."""
    found = import_module(module)
    assert found.__doc__
    names = exported(found)
    for name in names:
        value = getattr(found, name)
        if not callable(value) or isinstance(value, (Unsupported, torch._creation.legacy)):
            continue
        if not (getattr(value, "__module__", None) or "cuprous").startswith("cuprous"):  # such as NumPy's SeedSequence
            continue
        yield name, value
        if isinstance(value, type):
            for key, member in members(value, names):
                if not key.startswith("_") and (callable(member) or inspect.isdatadescriptor(member)):
                    yield f"{name}.{key}", member


def exported(module: Any) -> list[str]:
    """Returns the public names of a module. Those of `torch` are more than what `import *` imports."""
    if module is not torch and hasattr(module, "__all__"):
        return list(module.__all__)
    if module is torch:  # whatever the process has used of it by now
        for name in torch._EXPORTS:
            getattr(torch, name)
    found = [(name, value) for name, value in vars(module).items() if not name.startswith("_") and not ismodule(value)]
    return [name for name, value in found if module is torch or getattr(value, "__module__", "") == module.__name__]


def members(cls: type, public_names: list[str]) -> Iterator[tuple[str, Any]]:
    """Returns the members of a class, with those of its bases in private modules."""
    own = [c for c in cls.__mro__ if c is cls or (private(c.__module__) and c.__name__ not in public_names)]
    seen = set()
    for key, member in ((key, member) for c in own for key, member in vars(c).items()):
        if key not in seen:
            yield key, member
        seen.add(key)


def private(module: str) -> bool:
    """Returns True for a module of Cuprous whose name begins with an underscore."""
    return module.startswith("cuprous.torch") and module.rpartition(".")[2].startswith("_")


def section(doc: str, title: str) -> str:
    """Returns the text of a section of a docstring, or an empty one."""
    return split_sections(doc)[1].get(title, "")


@pytest.mark.parametrize("module", MODULES)
def test_everything_has_a_docstring(module: str) -> None:
    assert [name for name, value in public(module) if not inspect.getdoc(value)] == []


def raised(function: Any) -> set[str]:
    """Returns the error classes that a function's own code raises."""
    try:
        code = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):  # native, or generated
        return set()
    errors = [node.exc for node in ast.walk(code) if isinstance(node, ast.Raise) and node.exc is not None]
    return {ast.unparse(error.func if isinstance(error, ast.Call) else error) for error in errors}


@pytest.mark.parametrize("module", [f"cuprous.{name}".rstrip(".") for name in OURS + TORCH])
def test_errors_are_documented(module: str) -> None:
    silent = []
    for name, value in public(module):
        doc = inspect.getdoc(value) or ""
        errors = raised(getattr(value, "__func__", value)) if inspect.isroutine(value) else set()
        if errors and "Raises" not in doc and not any(error in doc for error in errors):
            silent.append(name)
    assert silent == []


def parameters(value: Any) -> dict[str, Any]:
    """Returns the parameters of a function or class by name, without the object of a method."""
    try:
        found = inspect.signature(value).parameters
    except (TypeError, ValueError):  # an exception class
        return {}
    return {name: p for name, p in found.items() if name not in ("self", "cls") and not name.startswith("_")}


def undocumented(value: Any, layer: Any) -> list[str]:
    """Returns the parameters that no section names. The inputs of a layer are in the section Shapes of its class."""
    described = section(inspect.getdoc(value) or "", "Parameters"), section(inspect.getdoc(layer) or "", "Shapes")
    named = {name for text in described for name in split_entries(text)}
    plain = isinstance(value, type) and value is not nn.Module and value.__init__ is nn.Module.__init__
    if plain or (isinstance(value, type) and issubclass(value, Enum)):
        return []  # there are no parameters
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = parameters(value)
    return [name for name, p in found.items() if name not in named and not (layer and p.kind in several)]


def callables(module: str) -> Iterator[tuple[str, Any, Any]]:
    """Returns names and functions, classes and methods of a module, with the class of a layer's `forward`."""
    found = dict(public(module))
    for name, value in found.items():
        if callable(value) and not isinstance(value, property):  # as properties of constraints are
            layer, _, method = name.rpartition(".")
            own = method == "forward" and layer != "Module"
            yield name, value, found.get(layer) if own else None


@pytest.mark.parametrize("module", COMPLETE)
def test_every_parameter_is_documented(module: str) -> None:
    missing = {name: undocumented(value, layer) for name, value, layer in callables(module)}
    assert {name: found for name, found in missing.items() if found} == {}


@pytest.mark.parametrize("module", COMPLETE)
def test_every_result_is_documented(module: str) -> None:
    silent = []
    for name, value, layer in callables(module):
        if layer is None and (inspect.isfunction(value) or inspect.ismethod(value)):
            nothing = inspect.signature(value).return_annotation in (None, "None")
            if not nothing and not section(inspect.getdoc(value) or "", "Returns"):
                silent.append(name)
    assert silent == []


def misdescribed(value: Any) -> list[str]:
    """Returns what the section Parameters of a docstring says otherwise than the signature, and what is not NumPy's."""
    doc = inspect.getdoc(value) or ""
    wrong = [f"{title}:" for title in GOOGLE.findall(doc)]
    if doc == inspect.getdoc(type(value)):  # an object that a class describes
        return wrong
    found = parameters(value)
    keywords = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found.values())
    for name, text in split_entries(section(doc, "Parameters")).items():
        names, _, kind = text.partition("\n")[0].partition(" : ")
        bare = re.split(", (?:optional$|default )", kind)[0]
        default = found[name].default if name in found else inspect.Parameter.empty
        kinds = [bare] if default is inspect.Parameter.empty else [f"{bare}, optional", typed(bare, default)]
        if default is ... and kind != bare:  # what native signatures have for a default that is not a literal
            kinds.append(kind)
        absent = bool(found) and name not in found and not keywords and not name.startswith("_")
        if not bare or absent or (name in found and kind not in kinds):
            wrong.append(f"{names} : {kind}")
    return wrong


@pytest.mark.parametrize("module", [*COMPLETE, *(f"cuprous.{name}" for name in OTHERS)])
def test_docstrings_are_in_numpys_format(module: str) -> None:
    """Parameters are those of the signature, with a type, and "optional" or the default if there is one."""
    if missing(module) and module not in COMPLETE:
        pytest.skip("its library is not installed")
    wrong = {name: misdescribed(value) for name, value in public(module)}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_types_of_parameters_are_words_or_classes() -> None:
    """A type is written in the words that `documented_types` knows, and with names of classes that exist."""
    modules = [path for path in [*COMPLETE, *(f"cuprous.{name}" for name in OTHERS)] if not missing(path)]
    values = {f"{path}.{name}": value for path in modules for name, value in public(path)}
    owners = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("cuprous.")]
    classes = {name for owner in owners for name, value in list(owner.items()) if isinstance(value, type)}
    known = classes | OTHERS_CLASSES | {*documented_types.WORDS}
    unknown = {
        (path, name, word)
        for path, value in values.items()
        for name, kind in documented_types.described(value).items()
        for word in documented_types.words(kind)
        if not {word.rpartition(".")[2], f"{word}s"} & known
    }
    assert unknown == set()


def test_nearly_all_have_an_example() -> None:
    found = {id(value): (name, value) for module in COMPLETE for name, value, layer in callables(module) if not layer}
    without = {name for name, value in found.values() if ">>> " not in (inspect.getdoc(value) or "")}
    assert without == set(WITHOUT_EXAMPLE)
    assert len(without) < 0.05 * len(found)


def examples(modules: Iterable[str]) -> dict[int, tuple[str, bool]]:
    """Returns the public names of modules and whether they have an example, by the identity of their object.

    Exceptions, which programs catch, do not need one, nor methods that do what the docstring of their base class says.
    """
    found = {}
    for module in modules:
        for name, value, layer in callables(module):
            caught = isinstance(value, type) and issubclass(value, BaseException)
            if not (layer or caught or (value.__doc__ is None and not isinstance(value, type))):
                found[id(value)] = (f"{module}.{name}", ">>> " in (inspect.getdoc(value) or ""))
    return found


def missing(path: str) -> bool:
    """Returns true if a module needs a library that is not installed."""
    return any(path.startswith(f"cuprous.{prefix}") and not find_spec(needed) for prefix, needed in NEEDED.items())


def everything() -> dict[int, tuple[str, bool]]:
    """Returns what `examples` returns for all public modules whose libraries are installed."""
    others = [f"cuprous.{name}" for name in OTHERS if not missing(f"cuprous.{name}")]
    return examples([*COMPLETE, *others])


def test_nearly_everything_has_an_example() -> None:
    found = everything().values()
    assert sum(shown for _, shown in found) >= 0.95 * len(found)


def listed(module: Any) -> set[str]:
    """Returns the names that a part of the reference has: those of `__all__`, of PyTorch's modules others too."""
    others = dir(module) if module.__name__.startswith("cuprous.torch") else ()
    return {*getattr(module, "__all__", ()), *(name for name in others if not name.startswith("_"))}


def test_the_reference_describes_everything() -> None:
    """A name is on a page of the reference, in its module's part or in that of a module that has it too."""
    pages = (Path(__file__).parents[1] / "docs" / "reference").glob("*.md")
    paths = {m for page in pages for m in re.findall(r"^```{reference} (\S+)", page.read_text(), re.MULTILINE)}
    modules = [path for path in [*COMPLETE, *(f"cuprous.{name}" for name in OTHERS)] if path not in paths]
    there = [import_module(path) for path in paths if not missing(path)]
    shown = {id(getattr(module, name)) for module in there for name in listed(module)}
    absent = {
        path: names
        for path in modules
        if path not in UNDESCRIBED and not missing(path)
        if (names := [name for name, value in public(path) if "." not in name and id(value) not in shown])
    }
    assert absent == {}


def named(path: str) -> Any:
    """Returns the supported object of a path, or None."""
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError):
        return None
    return None if isinstance(found, Unsupported) else found


def unrelated(module: str, name: str, value: Any) -> list[str]:
    """Returns the related names that neither the module nor Cuprous has, or that are the function itself."""
    wrong = []
    for related in filter(None, re.split(r",\s+", section(inspect.getdoc(value) or "", "See Also").strip())):
        found = named(f"{module}.{related}")
        found = named(f"cuprous.{related.removeprefix('cuprous.')}") if found is None else found
        itself = "." not in name and inspect.getdoc(found) == inspect.getdoc(value)
        if found is None or itself:
            wrong.append(related)
    return wrong


def test_related_names_exist() -> None:
    """Names in a section See Also are those of the module or of Cuprous, and none is the function itself.

    Functions and classes have the section; methods need not.
    """
    values = [(module, name, value) for module in COMPLETE for name, value in public(module)]
    others = [f"cuprous.{name}" for name in OTHERS if not missing(f"cuprous.{name}")]
    more = [(module, name, value) for module in others for name, value in public(module)]
    more += [("cuprous.cuda", name, intrinsic(name)) for name in _intrinsic_docs.ROWS]
    wrong = {
        f"{module}.{name}": found for module, name, value in values + more if (found := unrelated(module, name, value))
    }
    assert wrong == {}
    without = [name for _, name, value in values if not section(inspect.getdoc(value) or "", "See Also").strip()]
    assert {name for name in without if "." not in name} == set(WITHOUT_RELATED)
    assert len(values) - len(without) > 3100


def intrinsic(name: str) -> Any:
    """Returns an intrinsic of kernels, such as "atomic.add"."""
    found: Any = cuda
    for part in name.split("."):
        found = getattr(found, part)
    return found


def test_every_intrinsic_is_documented() -> None:
    groups = {"atomic": cuda.atomic, "fp16": cuda.fp16, "shared": cuda.shared, "local": cuda.local, "const": cuda.const}
    names = {f"{group}.{name}" for group, found in groups.items() for name in vars(found) if not name.startswith("_")}
    assert {*_intrinsics.FUNCTIONS, *names} <= set(_intrinsic_docs.ROWS)
    for name in _intrinsic_docs.ROWS:
        value = intrinsic(name)
        assert ">>> " in (inspect.getdoc(value) or "")
        assert not callable(value) or undocumented(value, None) == []


class Checker(doctest.OutputChecker):
    """Compares outputs without regard to the signs of zeros, which depend on the device."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(_without_signs(want), _without_signs(got), optionflags)


def _without_signs(text: str) -> str:
    """Returns the output with positive zeros and without the spaces that align columns."""
    text = re.sub(r"-(?=0\.0*j)", "+", text)
    text = re.sub(r"-(?=0\.0*(?!\d))", "", text)
    return re.sub(r"(?<=[\[(,]) +", "", text)


@contextmanager
def group_of_one() -> Iterator[None]:
    """Creates the default process group, of this process alone, for an example."""
    dist = import_module("cuprous.torch.distributed")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def run_examples(
    module: str, values: Iterable[tuple[str, Any]], names: dict[str, Any]
) -> tuple[doctest.TestResults, list[str]]:
    """Runs the examples of docstrings, but those that need a GPU where there is none.

    Also returns arguments that are not of the types that the docstrings of the module say.
    """
    values = list(values)
    with documented_types.watched(values) as wrong:
        return _run({inspect.getdoc(value) or "": name for name, value in values}, module, names), wrong


def _run(docs: dict[str, str], module: str, names: dict[str, Any]) -> doctest.TestResults:
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=FLAGS)
    for doc, name in docs.items():
        if ">>> # needs a GPU" not in doc or DEVICE != "cpu":
            with (
                group_of_one()
                if ">>> " in doc and "dist" in names and "init_process_group(" not in doc
                else nullcontext()
            ):
                runner.run(doctest.DocTestParser().get_doctest(doc, names, f"{module}.{name}", None, None))
    return runner.summarize(verbose=False)


@pytest.mark.parametrize("module", [*COMPLETE, "intrinsics"])
def test_examples_run(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    values = ((name, intrinsic(name)) for name in _intrinsic_docs.ROWS) if module == "intrinsics" else public(module)
    found, wrong = run_examples(module, values, NAMES)
    assert found.attempted > 0
    assert found.failed == 0, capsys.readouterr().out
    assert wrong == []


@pytest.mark.parametrize("module", OTHERS)
def test_examples_of_other_modules_run(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    needed = next((needs for prefix, needs in NEEDED.items() if module.startswith(prefix)), "numpy")
    pytest.importorskip(needed)
    names = NAMES | {name: resolve_name(f"cuprous.{found}") for name, found in OTHERS[module].items()}
    names |= {"pl": import_module("polars")} if module == "frames" else {}
    names |= {"Image": import_module("PIL.Image")} if module.startswith("torchvision") else {}
    values = dict(public(f"cuprous.{module}"))
    assert [name for name, value in values.items() if not inspect.getdoc(value)] == []
    if module == "torchvision.models":
        values = {name: value for name, value in values.items() if name not in NETWORKS or name in SMALL_NETWORKS}
    found, wrong = run_examples(module, values.items(), names)
    assert found.failed == 0, capsys.readouterr().out
    assert wrong == []


if __name__ == "__main__":  # python -m tests.test_docstrings
    counted = everything()
    without = sorted(name for name, shown in counted.values() if not shown)
    print(*without, sep="\n")
    print(f"{len(counted)} public names, all documented; {len(counted) - len(without)} have an example "
          f"({1 - len(without) / len(counted):.1%}); without one: those above")  # fmt: skip
