"""Results, gradients and state of modules on the samples of PyTorch's own tests
(`torch.testing._internal.common_modules`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.torch.operators.encoding import Unencodable, decode, encode, tensors, weighted

DTYPES = ("float64", "float32")


def record(torch: Any) -> list[dict[str, Any]]:
    """Returns the calls of all modules; `torch` is PyTorch."""
    from torch.testing._internal.common_modules import module_db

    found = []
    for info in module_db:
        for dtype in DTYPES:
            for training in (True, False):
                options = {
                    "device": "cpu",
                    "dtype": getattr(torch, dtype),
                    "requires_grad": False,
                    "training": training,
                }
                for sample in info.module_inputs_func(info, **options):
                    made, given = sample.constructor_input, sample.forward_input
                    try:
                        case = {
                            "name": info.name, "class": info.module_cls.__name__, "dtype": dtype, "training": training,
                            "made": encode(torch, (tuple(made.args), dict(made.kwargs))),
                            "operands": encode(torch, (tuple(given.args), dict(given.kwargs)) if given else ((), {})),
                        }  # fmt: skip
                        torch.manual_seed(0)
                        found.append(case | run(torch, case, "cpu", None))
                    except Unencodable:
                        continue
    return found


def run(torch: Any, case: Any, device: str, state: Any) -> dict[str, Any]:
    """Runs a case. Returns the state before and after, results and gradients: encoded, but for those of Cuprous, which
    begins with a given state."""
    keep = (lambda x: x) if state is not None else (lambda x: encode(torch, x))
    args, kwargs = decode(torch, case["made"], device)
    try:
        module = getattr(torch.nn, case["class"])(*args, **kwargs).to(getattr(torch, case["dtype"])).to(device)
        module.train(case["training"])
        if state is not None:
            module.load_state_dict(decode(torch, state, device))
        before = keep(dict(module.state_dict()))
        args, kwargs = decode(torch, case["operands"], device)
        leaves = [leaf.requires_grad_() for leaf in tensors(torch, (args, kwargs))]
        result = module(*args, **kwargs)
        total, leaves = weighted(torch, result), [*leaves, *module.parameters()]
        slopes = [] if total is None else torch.autograd.grad(total, leaves, allow_unused=True)
        gradients = [None if g is None else keep(g.contiguous()) for g in slopes]
        return {
            "before": before,
            "result": keep(result),
            "gradients": gradients,
            "after": keep(dict(module.state_dict())),
        }
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        return {"error": (type(error).__name__, str(error)[:300])}


def differences(torch: Any, case: Any, device: str, unequal: Any) -> Iterator[tuple[str, str]]:
    """Yields how Cuprous's module differs: the kind and a text. `unequal` compares a value with an encoded one."""
    ours = run(torch, case, device, case.get("before", ("dict", {})))
    if "error" in case or "error" in ours:
        theirs, own = case.get("error", ("",))[0], ours.get("error", ("", ""))
        kind = "raises" if not theirs else "accepts" if not own[0] else "equal" if own[0] == theirs else "error"
        yield kind, f"{own} instead of {case.get('error')}"
        return
    text = unequal(ours["result"], case["result"])
    yield ("values", text) if text else ("equal", "")
    for k, (gradient, expected) in enumerate(zip(ours["gradients"], case["gradients"], strict=True)):
        if gradient is not None and expected is not None and (text := unequal(gradient, expected)):
            yield "gradient", f"leaf {k}: {text}"
            break
    for name, value in ours["after"].items():
        if text := unequal(value, case["after"][1][name]):
            yield "state", f"{name}: {text}"
            break
