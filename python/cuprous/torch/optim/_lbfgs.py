"""L-BFGS with a line search by the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._joining import cat
from cuprous.torch.autograd._modes import enable_grad, no_grad
from cuprous.torch.optim._optimizer import Optimizer

#: A point on the search line: its distance, the loss, the gradient, and the slope along the line.
Point = tuple[float, float, Tensor, float]


class LBFGS(Optimizer):
    """An optimizer with quasi-Newton steps from the latest changes of parameters and gradient (Nocedal and Wright,
    2006, algorithm 7.4).

    `step(closure)` runs several iterations, each of which reads the loss. All parameters form one group.

    Parameters
    ----------
    params : iterable of Tensors
        The parameters.
    lr : float, default 1
        The length of a step, relative to the quasi-Newton step.
    max_iter : int, default 20
        The number of iterations of a step.
    max_eval : int, optional
        The number of evaluations of the loss of a step, by default 1.25 times `max_iter`.
    tolerance_grad : float, default 1e-07
        The largest element of the gradient at which iterations end.
    tolerance_change : float, default 1e-09
        The change of the loss or of the parameters at which iterations end.
    history_size : int, default 100
        The number of changes that are stored.
    line_search_fn : str, optional
        "strong_wolfe" for a line search, or None.

    Raises
    ------
    ValueError
        For several groups of parameters.

    See Also
    --------
    torch.optim.Muon, torch.optim.SGD, torch.optim.ASGD, torch.optim.Rprop

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (x * x).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> bool(x.detach().abs() < 1e-3)
    True
    """

    def __init__(self, params: Any, lr: float = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:  # fmt: skip
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        super().__init__(params, {"lr": lr, "max_iter": max_iter,
                                  "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def _gradient(self) -> Tensor:
        parts = []
        for p in self.param_groups[0]["params"]:
            grad = p.grad
            parts.append(_core.t_full([p.numel()], 0, p.dtype_name, p.device_name) if grad is None
                         else grad.detach().reshape(-1))  # fmt: skip
        return cat(parts) if len(parts) > 1 else parts[0].clone()

    def _move(self, start: list[Tensor], direction: Tensor, distance: float) -> None:
        """Moves the parameters to `distance` along the direction from the start."""
        at = 0
        for p, origin in zip(self.param_groups[0]["params"], start, strict=True):
            part = direction[at : at + p.numel()].reshape(p.dims)
            _core.t_update(p.detach(), _core.t_map("add", origin, _core.t_map("multiply", part, distance)))
            at += p.numel()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Runs up to `max_iter` iterations.

        Parameters
        ----------
        closure : callable, optional
            A function that computes the loss and its gradients, and returns the loss.

        Returns
        -------
        Tensor
            The first loss.

        Raises
        ------
        RuntimeError
            Without a closure.

        Examples
        --------
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> optimizer = torch.optim.LBFGS([x])
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (x * x).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).detach()
        tensor(9.)
        """
        if closure is None:
            raise RuntimeError("LBFGS needs a closure that computes the loss and its gradients")
        for hook in list(self._pre_hooks.values()):
            hook(self, (closure,), {})
        self._opt_called = True
        with no_grad():
            loss = self._iterate(closure)
        _core.flush()
        for hook in list(self._step_hooks.values()):
            hook(self, (closure,), {})
        return loss

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        params, lr = group["params"], float(group["lr"])
        state = self.state[params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> tuple[Any, float, Tensor]:
            with enable_grad():
                loss = closure()
            state["func_evals"] += 1
            return loss, float(loss), self._gradient()

        first, value, gradient = evaluate()
        calls = 1
        if float(gradient.abs().max()) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = gradient, value
            slope = float((gradient * direction).sum())
            distance = min(1.0, 1.0 / float(gradient.abs().sum())) * lr if state["n_iter"] == 1 else lr
            if slope > -group["tolerance_change"]:
                break
            start = [p.detach().clone() for p in params]
            old, used = value, 0
            if group["line_search_fn"] is None:
                self._move(start, direction, distance)
                if iteration < group["max_iter"]:
                    _, value, gradient = evaluate()
                    used = 1
            else:

                def along(t: float, start: list[Tensor] = start, direction: Tensor = direction) -> Point:
                    self._move(start, direction, t)
                    _, f, g = evaluate()
                    return t, f, g, float((g * direction).sum())

                reach = float(direction.abs().max())
                (distance, value, gradient, _), used = strong_wolfe(
                    along, (0.0, value, gradient, slope), distance, reach, group["tolerance_change"]
                )
                self._move(start, direction, distance)
            state["d"], state["t"] = direction, distance
            calls += used
            if (calls >= group["max_eval"]
                    or float(gradient.abs().max()) <= group["tolerance_grad"]
                    or float(direction.abs().max()) * distance <= group["tolerance_change"]
                    or abs(value - old) < group["tolerance_change"]):  # fmt: skip
                break
        return first

    @staticmethod
    def _direction(state: dict[str, Any], gradient: Tensor, history: int) -> Tensor:
        """Returns the negative product of the estimated inverse Hessian and the gradient, by the two-loop recursion."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"] = [], [], [], 1.0
            return -gradient
        changes, steps, weights = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        ys = float((y * s).sum())
        if ys > 1e-10:
            if len(changes) == history:
                for column in (changes, steps, weights):
                    column.pop(0)
            changes.append(y)
            steps.append(s)
            weights.append(1.0 / ys)
            state["H_diag"] = ys / float((y * y).sum())
        q, factors = -gradient, []
        for y, s, weight in zip(reversed(changes), reversed(steps), reversed(weights), strict=True):
            factors.append((s * q).sum() * weight)
            q = q - y * factors[-1]
            _core.flush()  # so that each pair is the same program, whatever their number
        q = q * state["H_diag"]
        for y, s, weight, factor in zip(changes, steps, weights, reversed(factors), strict=True):
            q = q + s * (factor - (y * q).sum() * weight)
            _core.flush()
        return q


def _cubic(a: tuple[float, float, float], b: tuple[float, float, float], low: float, high: float) -> float:
    """Returns the minimum of the cubic through two points (position, value, slope), clamped to bounds; otherwise their
    midpoint."""
    (x1, f1, g1), (x2, f2, g2) = (a, b) if a[0] <= b[0] else (b, a)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    root = d1 * d1 - g1 * g2
    if not root >= 0:
        return (low + high) / 2
    d2 = math.sqrt(root)
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)), low), high)


def strong_wolfe(along: Callable[[float], Point], start: Point, t: float, reach: float, tolerance: float,
                 c1: float = 1e-4, c2: float = 0.9, most: int = 25) -> tuple[Point, int]:  # fmt: skip
    """Returns a point on the line that satisfies the strong Wolfe conditions, and the number of evaluations of the
    loss.

    A bracket is extended until it contains such a point, and then narrowed by cubic interpolation (Nocedal and Wright,
    2006, algorithms 3.5 and 3.6). `reach` is the largest element of the direction. The search ends when the bracket
    moves no parameter by more than `tolerance`.
    """
    _, value, _, slope = start

    def too_high(point: Point) -> bool:
        return point[1] > value + c1 * point[0] * slope

    def flat(point: Point) -> bool:
        return abs(point[3]) <= -c2 * slope

    def position(point: Point) -> tuple[float, float, float]:
        return point[0], point[1], point[3]

    before, point, calls = start, along(t), 1
    bracket = [start, point]
    while calls < most:
        passed = too_high(point) or (calls > 1 and point[1] >= before[1])
        if flat(point) and not passed:
            return point, calls
        if passed or point[3] >= 0:
            bracket = [before, point]
            break
        low, high = point[0] + 0.01 * (point[0] - before[0]), point[0] * 10
        before, point = point, along(_cubic(position(before), position(point), low, high))
        bracket = [start, point]
        calls += 1
    at_edge = False
    while calls < most:
        bracket.sort(key=lambda p: p[1])
        best, worst = bracket
        if abs(worst[0] - best[0]) * reach < tolerance:
            break
        low, high = sorted((best[0], worst[0]))
        t = _cubic(position(best), position(worst), low, high)
        # A trial point at the edge of the bracket twice in a row, or outside of it, would not narrow it.
        edge, width = min(high - t, t - low), high - low
        near = edge < 0.1 * width
        if near and (at_edge or edge <= 0):
            t = high - 0.1 * width if abs(t - high) < abs(t - low) else low + 0.1 * width
            near = False
        at_edge = near
        point = along(t)
        calls += 1
        if too_high(point) or point[1] >= best[1]:
            bracket = [best, point]
            continue
        if flat(point):
            return point, calls
        bracket = [point, best if point[3] * (worst[0] - best[0]) >= 0 else worst]
    return min(bracket, key=lambda p: p[1]), calls
