"""Weight normalization and spectral normalization: as parametrizations, and by hooks as in older programs."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _random_numbers, _reductions
from cuprous.torch.nn._normalization import normalize
from cuprous.torch.nn.modules.conv import _ConvTranspose
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter
from cuprous.torch.nn.utils.parametrize import register_parametrization


def norm_except_dim(v: Tensor, pow: float = 2, dim: int | None = 0) -> Tensor:
    """Returns the norm over all dimensions but one, which keep their positions with extent 1; over all if `dim` is
    None."""
    if dim is None or dim == -1:
        return _reductions.norm(v, pow)
    return _reductions.norm(v, pow, [k for k in range(v.ndim) if k != dim % v.ndim], True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Returns the weight with length g and direction v."""
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Returns length and direction."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrizes a weight by its length along all dimensions but one and its direction (Salimans and Kingma, 2016).

    The state has `parametrizations.weight.original0`, the length, and `original1`.

    Parameters
    ----------
    module : Module
        The module.
    name : str, default "weight"
        The name of the parameter.
    dim : int or None, default 0
        The dimension that is left out; None for none.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.parametrizations.spectral_norm, torch.nn.utils.parametrize.register_parametrization,
    torch.nn.utils.weight_norm

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([2, 1])
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def _matrix(weight: Tensor, dim: int) -> Tensor:
    """Returns a weight as a matrix whose rows lie along a dimension."""
    return weight.movedim(dim, 0).reshape(weight.dims[dim], -1)


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")  # fmt: skip
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] "
                             f"but got {dim})")  # fmt: skip
        self.dim = dim % weight.ndim
        self.n_power_iterations, self.eps = n_power_iterations, eps
        if weight.ndim > 1:
            matrix = _matrix(weight.detach(), self.dim)
            for name, n in (("_u", matrix.dims[0]), ("_v", matrix.dims[1])):
                draw = _random_numbers.draw_floats("normal", [n], weight.dtype_name, weight.device_name)
                self.register_buffer(name, normalize(draw, dim=0, eps=eps))
            self._power(matrix, 15)

    def _power(self, matrix: Tensor, count: int) -> None:
        u, v = self._u.detach(), self._v.detach()
        for _ in range(count):
            u = normalize(matrix @ v, dim=0, eps=self.eps)
            v = normalize(matrix.T @ u, dim=0, eps=self.eps)
        self._u.copy_(u)
        self._v.copy_(v)

    def forward(self, weight: Tensor) -> Tensor:
        """Returns the weight divided by its spectral norm."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = _matrix(weight, self.dim)
        if self.training:
            self._power(matrix.detach(), self.n_power_iterations)
        sigma = (self._u.clone() * (matrix @ self._v.clone())).sum()
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        """Returns the value unchanged."""
        return value


def _usual_dim(module: Module, dim: int | None) -> int:
    return dim if dim is not None else 1 if isinstance(module, _ConvTranspose) else 0


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:  # fmt: skip
    """Parametrizes a weight so that it is divided by its largest singular value, found by power iteration (Miyato et
    al., 2018).

    Parameters
    ----------
    module : Module
        The module.
    name : str, default "weight"
        The name of the parameter.
    n_power_iterations : int, default 1
        The number of steps of power iteration in each forward pass in training.
    eps : float, default 1e-12
        The least norm that is divided by.
    dim : int, optional
        The dimension of the outputs, by default 0, or 1 for transposed convolutions.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.parametrizations.weight_norm, torch.nn.utils.parametrize.register_parametrization,
    torch.nn.utils.spectral_norm

    Examples
    --------
    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))
    >>> layer(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, _usual_dim(module, dim), eps)
    return register_parametrization(module, name, made)


# --- by hooks, as before parametrizations existed


class _RecomputedWeight:
    """Computes a weight before each `forward`, from parameters with other names."""

    def __init__(self, name: str) -> None:
        self.name = name

    def compute(self, module: Module) -> Tensor:
        raise NotImplementedError

    def __call__(self, module: Module, args: Any) -> None:
        setattr(module, self.name, self.compute(module))

    def attach(self, module: Module, **parts: Tensor) -> Module:
        for name, part in parts.items():
            if isinstance(part, Parameter):
                module.register_parameter(name, part)
            else:
                module.register_buffer(name, part)
        setattr(module, self.name, self.compute(module))
        handle = module.register_forward_pre_hook(self)
        module.__dict__.setdefault("_weight_hooks", {})[type(self), self.name] = (self, handle)
        return module

    @classmethod
    def remove(cls, module: Module, name: str, suffixes: tuple[str, ...]) -> Module:
        found = module.__dict__.get("_weight_hooks", {}).pop((cls, name), None)
        if found is None:
            raise ValueError(f"{cls._what} of '{name}' not found in {module}")
        hook, handle = found
        value = hook.compute(module).detach().clone()
        handle.remove()
        delattr(module, name)
        for suffix in suffixes:
            delattr(module, name + suffix)
        module.register_parameter(name, Parameter(value))
        return module

    _what = ""


class _WeightNormBefore(_RecomputedWeight):
    _what = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.norm = _WeightNorm(dim)

    def compute(self, module: Module) -> Tensor:
        return self.norm(getattr(module, self.name + "_g"), getattr(module, self.name + "_v"))


class _SpectralNormBefore(_RecomputedWeight):
    _what = "spectral_norm"

    def __init__(self, name: str, dim: int, n_power_iterations: int, eps: float) -> None:
        super().__init__(name)
        self.dim, self.n_power_iterations, self.eps = dim, n_power_iterations, eps

    def compute(self, module: Module) -> Tensor:
        weight = getattr(module, self.name + "_orig")
        matrix = _matrix(weight, self.dim)
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        if module.training:
            new_u, fixed = u.detach(), matrix.detach()
            for _ in range(self.n_power_iterations):
                new_v = normalize(fixed.T @ new_u, dim=0, eps=self.eps)
                new_u = normalize(fixed @ new_v, dim=0, eps=self.eps)
            u.copy_(new_u)
            v.copy_(new_v)
        return weight / (u.clone() * (matrix @ v.clone())).sum()


def weight_norm_before(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Splits a weight into the parameters `weight_g` and `weight_v`, from which a hook computes it. It is
    `nn.utils.weight_norm`.

    Parameters
    ----------
    module : Module
        The module.
    name : str, default "weight"
        The name of the parameter.
    dim : int or None, default 0
        The dimension that is left out; None for none.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.remove_weight_norm, torch.nn.utils.spectral_norm, torch.nn.utils.remove_spectral_norm

    Examples
    --------
    >>> layer = nn.utils.weight_norm(nn.Linear(3, 2))
    >>> layer.weight_g.shape
    torch.Size([2, 1])
    """
    weight = module._parameters[name]
    del module._parameters[name]
    hook = _WeightNormBefore(name, dim)
    g, v = hook.norm.right_inverse(weight.detach())
    return hook.attach(module, **{name + "_g": Parameter(g.clone()), name + "_v": Parameter(v)})


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Removes weight normalization. The weight becomes an ordinary parameter.

    Parameters
    ----------
    module : Module
        The module.
    name : str, default "weight"
        The name of the parameter.

    Returns
    -------
    Module
        The module.

    Raises
    ------
    ValueError
        If there is none.

    See Also
    --------
    torch.nn.utils.spectral_norm, torch.nn.utils.remove_spectral_norm, torch.nn.utils.weight_norm

    Examples
    --------
    >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(3, 2)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    return _WeightNormBefore.remove(module, name, ("_g", "_v"))


def spectral_norm_before(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                         dim: int | None = None) -> Module:  # fmt: skip
    """Replaces a weight by a parameter `weight_orig`, from which a hook computes it, and buffers `weight_u` and
    `weight_v`. It is `nn.utils.spectral_norm`.

    Parameters
    ----------
    module : Module
        The module.
    name : str, default "weight"
        The name of the parameter.
    n_power_iterations : int, default 1
        The number of steps of power iteration in each forward pass in training.
    eps : float, default 1e-12
        The least norm that is divided by.
    dim : int, optional
        The dimension of the outputs, by default 0, or 1 for transposed convolutions.

    Returns
    -------
    Module
        The module.

    See Also
    --------
    torch.nn.utils.remove_spectral_norm, torch.nn.utils.weight_norm, torch.nn.utils.remove_weight_norm

    Examples
    --------
    >>> layer = nn.utils.spectral_norm(nn.Linear(3, 2))
    >>> layer.weight_orig.shape
    torch.Size([2, 3])
    """
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    weight = module._parameters[name]
    del module._parameters[name]
    axis = _usual_dim(module, dim)
    rows = weight.dims[axis]
    sizes = {name + "_u": rows, name + "_v": weight.numel() // max(rows, 1)}
    draws = {
        key: normalize(
            _random_numbers.draw_floats("normal", [n], weight.dtype_name, weight.device_name), dim=0, eps=eps
        )
        for key, n in sizes.items()
    }
    hook = _SpectralNormBefore(name, axis, n_power_iterations, eps)
    return hook.attach(module, **{name + "_orig": weight}, **draws)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Removes spectral normalization. The normalized weight becomes an ordinary parameter.

    Parameters
    ----------
    module : Module
        The module.
    name : str, default "weight"
        The name of the parameter.

    Returns
    -------
    Module
        The module.

    Raises
    ------
    ValueError
        If there is none.

    See Also
    --------
    torch.nn.utils.weight_norm, torch.nn.utils.remove_weight_norm, torch.nn.utils.spectral_norm

    Examples
    --------
    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 2)))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    return _SpectralNormBefore.remove(module, name, ("_orig", "_u", "_v"))


__all__ = ["spectral_norm", "weight_norm"]
