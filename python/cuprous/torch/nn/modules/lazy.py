"""Lazy layers: they take the width of their input from the first input (or from a loaded state), and then become the
corresponding ordinary layers."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn.modules import batchnorm, conv
from cuprous.torch.nn.modules.linear import Linear
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter, UninitializedParameter


class LazyModule(Module):
    """Base class of lazy layers, which take the width of their input from the first input.

    Parameters are empty until the first call. Optimizers may already hold them.

    Parameters
    ----------
    *args : any
        The arguments of the ordinary layer after its first.
    **kwargs : any
        Its keywords.

    Examples
    --------
    >>> layer = nn.LazyLinear(5)
    >>> layer(torch.ones(2, 3)).shape
    torch.Size([2, 5])
    """

    _plain: type[Module]
    #: The name of the argument and attribute of the width, and its dimension in inputs and in weights.
    _width: tuple[str, int, int]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import inspect

        given = inspect.signature(self._plain.__init__).bind(self, 1, *args, **kwargs).arguments
        self._plain.__init__(self, given.get("groups", 1), *args, **kwargs)
        object.__setattr__(self, "_arguments", (args, kwargs))
        setattr(self, self._width[0], 0)
        for table in (self._parameters, self._buffers):
            for name, value in table.items():
                if value is not None and value.ndim:
                    table[name] = UninitializedParameter(device=value.device, dtype=value.dtype)

    def _materialize(self, width: int, like: Tensor) -> None:
        """Creates the parameters with the dtype and device of the empty ones, and changes the class to the ordinary
        layer."""
        args, kwargs = self._arguments
        fresh = self._plain(width, *args, **kwargs)
        for table, source in ((self._parameters, fresh._parameters), (self._buffers, fresh._buffers)):
            for name, value in source.items():
                old = table.get(name)
                if not isinstance(old, UninitializedParameter):
                    continue
                made = value.data.to(device=old.device, dtype=old.dtype)
                if table is self._parameters:
                    old.data = made
                    old.__class__ = Parameter  # type: ignore[assignment]
                else:
                    table[name] = made
        setattr(self, self._width[0], width)
        del self.__dict__["_arguments"]
        object.__setattr__(self, "__class__", self._plain)

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Runs the first call, after which the layer is an ordinary one."""
        self._materialize(input.dims[self._width[1]], input)
        return self(input, *args, **kwargs)

    def has_uninitialized_params(self) -> bool:
        """Returns True if the width is not known yet.

        Returns
        -------
        bool

        Examples
        --------
        >>> nn.LazyLinear(5).has_uninitialized_params()
        True
        """
        return True

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        weight = state.get(prefix + "weight", state.get(prefix + "running_mean"))
        if isinstance(weight, Tensor) and weight.numel():
            channels = weight.dims[self._width[2]]
            grouped = isinstance(self, conv._Conv)
            self._materialize(channels * getattr(self, "groups", 1) if grouped else channels, weight)
            self._before_load(state, prefix, version)  # that of the ordinary layer


#: Layers that have a lazy form: the name of the width, and its dimension in inputs and in weights.
_WIDTHS: dict[type[Module], tuple[str, int, int]] = {Linear: ("in_features", -1, 1)}
for _n in (1, 2, 3):
    _WIDTHS[getattr(conv, f"Conv{_n}d")] = ("in_channels", -1 - _n, 1)
    _WIDTHS[getattr(conv, f"ConvTranspose{_n}d")] = ("in_channels", -1 - _n, 0)
    _WIDTHS[getattr(batchnorm, f"BatchNorm{_n}d")] = ("num_features", 1, 0)
    _WIDTHS[getattr(batchnorm, f"InstanceNorm{_n}d")] = ("num_features", -1 - _n, 0)

#: PyTorch's name of the base class of lazy layers.
LazyModuleMixin = LazyModule

__all__ = ["UninitializedParameter"]
for _kind, _where in _WIDTHS.items():
    _name = f"Lazy{_kind.__name__}"
    _shape = "2, 3" + ", 4" * (0 if _kind is Linear else int(_kind.__name__[-2]))
    _call = f"{_name}({'' if 'Norm' in _name else '5' if _kind is Linear else '5, 2'})"
    _doc = f"""`{_kind.__name__}` without its first argument `{_where[0]}`, which is taken from the first input.

    Parameters
    ----------
    *args : any
        The arguments of `{_kind.__name__}` after the first.
    **kwargs : any
        Its keywords.

    Shapes
    ------
    input
        As of `{_kind.__name__}`.

    See Also
    --------
    torch.nn.{_kind.__name__}

    Examples
    --------
    >>> layer = nn.{_call}
    >>> result = layer(torch.ones({_shape}))
    >>> layer.{_where[0]}
    3
    """
    globals()[_name] = type(_name, (LazyModule, _kind), {"_plain": _kind, "_width": _where, "__doc__": _doc,
                                                         "__module__": __name__})  # fmt: skip
    __all__.append(_name)
