"""Records operators where PyTorch is installed: `python -m tests.torch.operators.record FOLDER [--only REGEX]`."""

from __future__ import annotations

import argparse
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

from tests.torch.operators import modules
from tests.torch.operators.encoding import Unencodable, attribute, decode, encode, tensors, weighted

#: Operators whose results are random or uninitialized.
RANDOM = re.compile(
    r"(new_)?empty|rand|normal$|multinomial|bernoulli|cauchy|exponential$|geometric|log_normal|uniform|.*dropout|"
    r".*fractional_max_pool|.*gumbel_softmax|.*rrelu|.*lowrank"
)
DTYPES = "float32 float64 int64 bool complex64 bfloat16 float16 uint8 int32"
#: Dtypes for which the larger set of samples is recorded too, and those for which methods are called.
REFERENCES = ("float32", "int64", "bool", "complex64", "uint8")
METHODS = ("float32", "int64")
MOST = 40


def main() -> None:
    """Records the operators."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression for names")
    arguments = parser.parse_args()
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.filterwarnings("ignore")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for op in op_db:
        name = "/".join(filter(None, (op.name, op.variant_test_name)))
        if RANDOM.match(op.name) or not re.search(arguments.only, name):
            continue
        torch.manual_seed(0)
        found = {"name": name, "cases": cases(torch, op), "errors": errors(torch, op)}
        (arguments.folder / f"{name.replace('/', '__')}.pkl").write_bytes(pickle.dumps(found))
        print(name, len(found["cases"]), flush=True)
    if re.search(arguments.only, "modules"):
        (arguments.folder / "modules.pickle").write_bytes(pickle.dumps(modules.record(torch)))


def ways(torch: Any, op: Any, dtype: str, tensor: bool) -> list[tuple[str, str]]:
    """Returns how an operator is called: as a function and as methods."""
    found = []
    try:
        function = attribute(torch, op.name)
        if function is op.op or op.aten_name == op.name:
            found.append(("function", op.name))
    except AttributeError:
        pass
    names = [op.name * (op.method_variant is not None), f"{op.name}_" * (op.inplace_variant is not None)]
    if tensor and (dtype in METHODS or not found):
        found += [("method", name) for name in names if name and hasattr(torch.Tensor, name)]
    return found


def cases(torch: Any, op: Any) -> list[dict[str, Any]]:
    """Returns the operator's calls with their results and gradients."""
    found = []
    for dtype in DTYPES.split():
        kind = getattr(torch, dtype)
        if kind not in op.supported_dtypes("cpu"):
            continue
        try:
            samples = list(op.sample_inputs("cpu", kind))[:MOST]
            samples += list(op.reference_inputs("cpu", kind))[:MOST] if dtype in REFERENCES else []
        except Exception as error:  # samples of an operator need what is not installed
            print(f"{op.name} {dtype}: {error!r}"[:120])
            continue
        for sample in samples:
            operands = (sample.input, tuple(sample.args), dict(sample.kwargs))
            try:
                case: dict[str, Any] = {"dtype": dtype, "operands": encode(torch, operands), "calls": []}
            except Unencodable:
                continue
            for how, name in ways(torch, op, dtype, isinstance(sample.input, torch.Tensor)):
                outcome = call(torch, how, name, case["operands"])
                differentiable = how == "function" and dtype == "float64" and op.supports_autograd
                wanted = differentiable and outcome[0] == "result"
                slopes = gradients(torch, name, case["operands"]) if wanted else None
                case["calls"].append((how, name, outcome, slopes))
            found.append(case)
    return found


def errors(torch: Any, op: Any) -> list[dict[str, Any]]:
    """Returns the operator's calls that fail."""
    found = []
    for wrong in op.error_inputs("cpu") if op.error_inputs_func is not None else ():
        sample = wrong.sample_input
        operands = (sample.input, tuple(sample.args), dict(sample.kwargs))
        try:
            data = encode(torch, operands)
        except Unencodable:
            continue
        for how, name in ways(torch, op, "float32", isinstance(sample.input, torch.Tensor))[:1]:
            outcome = call(torch, how, name, data)
            if outcome[0] == "error":
                found.append({"dtype": "float32", "operands": data, "calls": [(how, name, outcome, None)]})
    return found


def call(torch: Any, how: str, name: str, operands: Any) -> tuple[Any, ...]:
    """Returns an operator's encoded result, or its error. Operands are encoded, so that both sides decode the same."""
    input, args, kwargs = decode(torch, operands, "cpu")
    try:
        function = attribute(torch, name) if how == "function" else getattr(type(input), name)
        result = function(input, *args, **kwargs)
    except Exception as error:
        return "error", type(error).__name__, str(error)[:300]
    try:
        return "result", encode(torch, result)
    except Unencodable as error:
        return "unknown", str(error)


def gradients(torch: Any, name: str, operands: Any) -> list[Any] | None:
    """Returns the encoded gradients of all floating tensors among the operands."""
    input, args, kwargs = decode(torch, operands, "cpu")
    leaves = [leaf.requires_grad_() for leaf in tensors(torch, (input, args, kwargs))]
    try:
        total = weighted(torch, attribute(torch, name)(input, *args, **kwargs))
        if total is None:
            return None
        found = torch.autograd.grad(total, leaves, allow_unused=True)
        return [None if g is None else encode(torch, g.contiguous()) for g in found]
    except (RuntimeError, NotImplementedError, Unencodable):
        return None


if __name__ == "__main__":
    main()
