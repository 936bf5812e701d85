"""Views that are created without gradient recording, and counts of writes in place: the answers are PyTorch 2.11's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cuprous.torch as torch
from cuprous.torch import nn

#: Functions that return a view, also of a tensor that requires gradients, and whether the view is a leaf then.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda t: t[:2], "index": lambda t: t[0], "view": lambda t: t.view(2, 2),
    "reshape": lambda t: t.reshape(2, 2),
    "expand": lambda t: t.expand(3, 4), "narrow": lambda t: t.narrow(0, 0, 2), "unbind": lambda t: t.unbind()[1],
    "split": lambda t: t.split(2)[0], "chunk": lambda t: t.chunk(2)[1], "unflatten": lambda t: t.unflatten(0, (2, 2)),
    "transpose": lambda t: t[None].transpose(0, 1), "unfold": lambda t: t.unfold(0, 2, 1),
    "as_strided": lambda t: t.as_strided((2,), (1,)), "broadcast_to": lambda t: t.broadcast_to(2, 4),
    "select": lambda t: t.select(0, 1), "atleast_2d": torch.atleast_2d, "movedim": lambda t: t[None].movedim(0, 1),
}  # fmt: skip
#: Functions that return a copy.
COPIES: dict[str, Callable[[Any], Any]] = {
    "clone": lambda t: t.clone(), "gather": lambda t: t[torch.tensor([0, 1])], "flip": lambda t: t.flip(0),
    "repeat": lambda t: t.repeat(2), "cat": lambda t: torch.cat([t[:1], t[1:]]), "stack": lambda t: torch.stack([t, t]),
    "detach": lambda t: t.detach(), "data": lambda t: t.data, "double": lambda t: t.double(),
}  # fmt: skip
AMBIGUOUS = "created in no_grad mode and is being modified inplace with grad mode enabled"
STALE = "A view was created in no_grad mode and its base or another view of its base has been modified inplace"


def _pair() -> tuple[Any, Any]:
    """Returns a leaf and a tensor that was computed."""
    x = torch.ones(4, requires_grad=True)
    return x, x * 2


@pytest.mark.parametrize("name", VIEWS)
def test_views_require_gradients_as_their_value_does(name: str) -> None:
    for value in _pair():
        with torch.no_grad():
            view = VIEWS[name](value)
            again = view[None]
        for found in (view, again):
            assert (found.requires_grad, found.is_leaf, found.grad_fn) == (True, True, None)
        assert view._base is not None and view._base.shape == value.shape
        assert not VIEWS[name](value).is_leaf
    assert not VIEWS[name](torch.ones(4)).requires_grad


@pytest.mark.parametrize("name", COPIES)
def test_copies_do_not(name: str) -> None:
    for value in _pair():
        with torch.no_grad():
            found = COPIES[name](value)
        assert (found.requires_grad, found.is_leaf, found.grad_fn) == (False, True, None)
        assert found._base is None or name == "repeat"  # which is a view of a copy here


def test_tensors_that_need_no_change_are_returned_as_they_are() -> None:
    x, y = _pair()
    with torch.no_grad():
        for t in (x, y):
            assert t.to(torch.float32).requires_grad and t.contiguous().requires_grad and t.float().requires_grad


def test_no_gradient_flows_through_them() -> None:
    x, y = _pair()
    with torch.no_grad():
        views = x[:2], y[:2]
    for view in views:
        result = (view * 3).sum()
        assert result.requires_grad
        result.backward()
        assert x.grad is None and view.grad is None
        with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
            torch.autograd.grad((view * 3).sum(), view)
        assert torch.autograd.grad((view * 3).sum(), [x], allow_unused=True) == (None,)
        with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
            view.backward(torch.ones(2))
    (views[0] * x[:2]).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_views_of_them_are_not_leaves() -> None:
    for value in _pair():
        with torch.no_grad():
            view = value[:2]
        part = view[:1]
        assert part.requires_grad and not part.is_leaf and part.grad_fn is not None
        with pytest.raises(RuntimeError, match="is a view of a view which was created in no_grad mode and is being"):
            part.mul_(2)


def test_writes_while_gradients_are_recorded_are_ambiguous() -> None:
    for value in _pair():
        with torch.no_grad():
            view = value[:2]
        for write in (lambda view=view: view.mul_(2), lambda view=view: view.__setitem__(0, 1.0)):
            with pytest.raises(RuntimeError, match=AMBIGUOUS):
                write()
        assert view.tolist() == value[:2].tolist()


def test_writes_without_recording_are_seen_by_all_and_make_the_position_undefined() -> None:
    for value in _pair():
        before = value.tolist()
        with torch.no_grad():
            view, other = value[:2], value[:1]
            view.mul_(2)
            assert value.tolist() == [2 * before[0], 2 * before[1], *before[2:]]
        for stale in (view, other):
            assert stale.requires_grad
            with pytest.raises(RuntimeError, match=STALE):
                stale.is_leaf  # noqa: B018 - it raises
            with pytest.raises(RuntimeError, match=STALE):
                stale.grad_fn  # noqa: B018 - it raises
        assert "grad_fn=<Invalid>" in repr(view)
        assert value.requires_grad and value._version == 1
        with torch.no_grad():
            fresh = value[:2]
        assert fresh.is_leaf


def test_flags_of_such_views() -> None:
    x, _ = _pair()
    with torch.no_grad():
        view = x[:2]
    assert view.requires_grad_(True).requires_grad and view.requires_grad_(False).requires_grad
    assert x.requires_grad and x.is_leaf
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        view.detach_()
    view.grad = torch.ones(2)
    assert view.grad.tolist() == [1.0, 1.0] and x.grad is None
    view.grad = None
    assert view.grad is None
    view.retain_grad()
    handle = view.register_hook(print)
    handle.remove()
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        view.numpy()
    with torch.no_grad():
        assert view.tolist() == [1.0, 1.0]


def test_a_parameter_made_of_one_is_a_leaf_of_its_own() -> None:
    x, _ = _pair()
    with torch.no_grad():
        p = nn.Parameter(x[:2])
    (p * 3).sum().backward()
    assert p.grad.tolist() == [3.0, 3.0] and x.grad is None
    torch.optim.SGD([p], lr=0.5).step()
    assert x.tolist() == [-0.5, -0.5, 1.0, 1.0]


def test_parameters_are_set_through_views() -> None:
    layer = nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight[:1] = 3
        layer.weight[1].fill_(4)
        layer.bias.zero_()
    assert layer(torch.ones(1, 2)).tolist() == [[6.0, 8.0]]
    layer(torch.ones(1, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def _versions(*tensors: Any) -> list[int]:
    return [t._version for t in tensors]


def test_views_and_detached_tensors_count_together() -> None:
    a = torch.zeros(3)
    b, d = a[:2], a.detach()
    a.add_(1)
    assert _versions(a, b, d) == [1, 1, 1]
    b[0] = 2
    assert _versions(a, b, d) == [2, 2, 2]
    d.zero_()
    assert _versions(a, b, d) == [3, 3, 3]
    k = a.data
    k.add_(1)
    assert _versions(a, b, k) == [3, 3, 1]
    a += 1
    torch.add(b, 1, out=b)
    assert _versions(a, b, k) == [5, 5, 1]
    a.data = torch.ones(3)
    a.zero_()
    assert a._version == 6


#: A write to a tensor of extents (1, 2), and by how much it changes the count.
WRITES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "unsqueeze_": (lambda z: z.unsqueeze_(0), 1), "squeeze_": (lambda z: z.squeeze_(), 1),
    "transpose_": (lambda z: z.transpose_(0, 1), 1), "t_": (lambda z: z.t_(), 1),
    "swapaxes_": (lambda z: z.swapaxes_(0, 1), 1), "as_strided_": (lambda z: z.as_strided_((1,), (1,)), 1),
    "index_add_": (lambda z: z.index_add_(0, torch.tensor([0]), torch.ones(1, 2)), 1),
    "set index": (lambda z: z.__setitem__(torch.tensor([0]), 1), 1), "set mask": (lambda z: z.__setitem__(z > 0, 1), 1),
    "masked_fill_": (lambda z: z.masked_fill_(z > 0, 1), 1), "uniform_": (lambda z: z.uniform_(), 1),
    "set all": (lambda z: z.__setitem__(..., 0), 1), "of a part": (lambda z: z[:1].add_(1), 1),
    "ones_": (nn.init.ones_, 1), "copy_": (lambda z: z.copy_(torch.ones(2)), 1), "relu": (lambda z: torch.relu_(z), 1),
    "foreach": (lambda z: torch._foreach_add_([z], 1), 1), "read": (lambda z: (z.clone(), z + 1, z[0], z.sum()), 0),
    "requires_grad_": (lambda z: z.requires_grad_(), 0), "detach_": (lambda z: z.detach_(), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_counted(name: str) -> None:
    write, count = WRITES[name]
    z = torch.zeros(1, 2)
    write(z)
    assert z._version == count


def test_a_part_that_is_changed_and_set_counts_twice() -> None:
    z = torch.zeros(2)
    z[0] += 1
    assert z._version == 2


@pytest.mark.parametrize("make", [
    lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9), lambda p: torch.optim.Adam([p], lr=0.1),
])  # fmt: skip
def test_steps_of_optimizers_are_counted(make: Callable[[Any], Any]) -> None:
    p = nn.Parameter(torch.ones(2))
    optimizer = make(p)
    p.sum().backward()
    optimizer.step()
    assert p._version == 1
    optimizer.step()
    assert p._version == 2
    p.sum().backward()
    assert p.grad._version >= 1


def test_counts_by_hand() -> None:
    a, b = torch.zeros(2), torch.zeros(2)
    torch.autograd.graph.increment_version(a)
    torch.autograd.graph.increment_version([a, b])
    assert _versions(a, b) == [2, 1]
    with pytest.raises(AttributeError):
        a._version = 3


def test_shapes_change_in_place_with_gradients() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.t_()
    y = x * 2
    y.t_()
    y.unsqueeze_(0)
    assert y.shape == (1, 3, 2) and not y.is_leaf
    (y * torch.arange(6.0).view(1, 3, 2)).sum().backward()
    assert x.grad.tolist() == [[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]]
    with torch.no_grad():
        x.t_()
    assert x.shape == (3, 2) and x.is_leaf and x.requires_grad
