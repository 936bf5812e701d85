"""Text representation of tensors, as in PyTorch."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._array.display import THRESHOLD, about, first_block
from cuprous._common import markup
from cuprous._core import Tensor
from cuprous.torch import _joining

_options: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None,
                     sci_mode: bool | None = None) -> None:  # fmt: skip
    """Sets how tensors are printed.

    Parameters
    ----------
    precision : int, optional
        The digits after the decimal point, 4 by default.
    threshold : int, optional
        The number of elements above which some are left out, 1000 by default.
    edgeitems : int, optional
        How many elements are printed at each end of a dimension, 3 by default.
    linewidth : int, optional
        The characters of a line, 80 by default.
    profile : str, optional
        "default", "short" or "full", whose options are overridden by the others.
    sci_mode : bool, optional
        Whether numbers are printed with exponents; by default it depends on them.

    See Also
    --------
    torch.typename

    Examples
    --------
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3])
    tensor([0.33])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        sizes = {"default": (4, 1000, 3), "short": (2, 1000, 2), "full": (4, math.inf, 3)}[profile]
        _options.update(zip(("precision", "threshold", "edgeitems"), sizes, strict=True))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def option(name: str) -> Any:
    """Returns an option of `set_printoptions`.

    Raises
    ------
    KeyError
        If there is no such option.
    """
    return _options[name]


class _Formatter:
    """Formats all numbers of a tensor with one width and one notation."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating, self.whole, self.scientific, self.width = floating, True, False, 1
        if not floating:
            self.width = max((len(str(x)) for x in values), default=1)
            return
        finite = [abs(x) for x in values if math.isfinite(x) and x != 0]
        if finite:
            top, bottom = max(finite), min(finite)
            self.whole = all(x == math.ceil(x) for x in finite)
            spread = top / bottom > 1000.0 or top > 1e8
            self.scientific = spread or (not self.whole and bottom < 1e-4)
        if _options["sci_mode"] is not None:
            self.scientific = bool(_options["sci_mode"])
        self.width = max((len(self.text(x)) for x in values if x != 0 and math.isfinite(x)), default=1)

    def text(self, x: Any) -> str:
        if not self.floating:
            return str(x)
        if self.scientific:
            return f"{x:.{_options['precision']}e}"
        if self.whole:
            return f"{x:.0f}" + ("." if math.isfinite(x) else "")
        return f"{x:.{_options['precision']}f}"

    def __call__(self, x: Any) -> str:
        return self.text(x).rjust(self.width)


class _Complex:
    """Formats complex numbers, with one width for real parts and one for imaginary parts."""

    def __init__(self, values: list[complex], floating: bool) -> None:
        self.re, self.im = (_Formatter([getattr(z, part) for z in values], True) for part in ("real", "imag"))
        self.width = self.re.width + self.im.width + 1

    def __call__(self, z: complex) -> str:
        text = self.im.text(abs(z.imag) if not math.isnan(z.imag) else z.imag)
        sign = "-" if math.copysign(1, z.imag) < 0 and not math.isnan(z.imag) else "+"
        return f"{self.re(z.real)}{sign}{text}j"


def _edges(tensor: Tensor) -> Tensor:
    """Returns the edges of a tensor that is too large to be printed in full, so that only they are copied."""
    edge = int(_options["edgeitems"])
    for axis, n in enumerate(tensor.dims):
        if n > 2 * edge:
            ends = (tensor.narrow(axis, 0, edge), tensor.narrow(axis, n - edge, edge))
            tensor = _joining.cat(ends, axis)
    return tensor


def _lines(host: Any, shape: tuple[int, ...], form: Any, indent: int) -> str:
    """Returns the elements of a host array, which has the edges of an array of that shape, or all of it."""
    if host.ndim == 0:
        return form(host.item())
    edge = int(_options["edgeitems"])
    cut = host.shape[0] < shape[0]
    if host.ndim == 1:
        items = [form(element.item()) for element in host]
        if cut:
            items.insert(edge, " ...")
        a_line = max(1, (int(_options["linewidth"]) - indent) // (form.width + 2))
        rows = [", ".join(items[k : k + a_line]) for k in range(0, len(items), a_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(rows) + "]"
    parts = [_lines(part, shape[1:], form, indent + 1) for part in host]
    if cut:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (host.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def values(self: Tensor, prefix: str = "", threshold: float | None = None) -> str:
    """Returns the elements of a tensor that is not empty, as text. Of a large one only the edges are copied.

    Parameters
    ----------
    self : Tensor
        The tensor.
    prefix : str, default ""
        The text before it, after which further lines are aligned.
    threshold : float, optional
        The number of elements above which some are left out; by default that of `set_printoptions`.
    """
    plain = self.detach()
    short = self.numel() > (_options["threshold"] if threshold is None else threshold)
    host = (_edges(plain) if short else plain).to_numpy()
    if self.dtype_name == "bfloat16":
        host = host.astype("float32")
    form = (_Complex if self.is_complex() else _Formatter)(host.reshape(-1).tolist(), self.is_floating_point())
    return _lines(host, self.dims, form, len(prefix))


def _node(self: Tensor) -> str | None:
    """Returns the text of the node that computed a tensor, or None for a leaf."""
    try:
        return None if self.grad_fn is None else repr(self.grad_fn)
    except RuntimeError:  # a view of a value that has been written to since
        return "<Invalid>"


def html(self: Tensor) -> str | None:
    """Returns a tensor as HTML: shape, dtype, device, gradient and values. A number has no HTML but its text."""
    if not self.ndim:
        return None
    notes = [about(self, tuple(self.dims))]
    node = _node(self)
    if node is not None:
        notes.append(f"grad_fn={node}")
    elif self.requires_grad:
        notes.append("requires_grad=True")
    index, where = first_block(self.ndim, self.numel())
    part = self.detach()[index]
    shown = where + values(part, threshold=THRESHOLD) if self.numel() else "[]"
    title = "tensor" if type(self) is Tensor else type(self).__name__
    return "<div>" + markup.heading(title, ", ".join(notes)) + markup.preformatted(shown) + "</div>"


def text(self: Tensor, prefix: str = "tensor(", contents: str | None = None) -> str:
    """Returns the text of a tensor: `tensor([...], dtype, device, grad_fn)`. `contents` replaces its elements."""
    name = self.dtype_name
    suffixes = []
    if self.device_name != "cpu":
        suffixes.append(f"device='{self.device}'")
    default = _core.t_default_dtype()
    if not self.numel():
        body = "[]"
        suffixes += [f"size={tuple(self.dims)}"] if self.ndim != 1 else []
        suffixes += [f"dtype=torch.{name}"] if name != default else []
    else:
        if name not in (default, "int64", "bool", "complex128" if default == "float64" else "complex64"):
            suffixes.append(f"dtype=torch.{name}")
        body = values(self, prefix) if contents is None else contents
    node = _node(self)
    if node is not None:
        suffixes.append(f"grad_fn={node}")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    return joined(prefix + body, suffixes)


def joined(text: str, suffixes: list[str], indent: int = 7) -> str:
    """Returns the text with further parts, in lines of the set width, and the closing bracket."""
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > int(_options["linewidth"]):
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"
