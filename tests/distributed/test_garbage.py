"""`dist.gc_every`: when garbage is collected."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from cuprous.torch import distributed as dist
from tests.distributed import jobs


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    yield
    gc.enable()


def test_garbage_is_collected_every_n_iterations_only() -> None:
    """Cycles that Python would have collected by itself wait until then."""
    alive: set[int] = set()

    class Cycle:
        def __init__(self, number: int) -> None:
            self.itself, self.number = self, number
            alive.add(number)

        def __del__(self) -> None:
            alive.discard(self.number)

    seen = []
    with dist.gc_every(3) as garbage:
        for iteration in range(7):
            Cycle(iteration)
            more = [[] for _ in range(5000)]  # type: ignore[var-annotated]
            del more
            garbage.step()
            seen.append(set(alive))
        assert not gc.isenabled()
    assert seen == [{0}, {0, 1}, set(), {3}, {3, 4}, set(), {6}]
    assert garbage.collections == 2 and gc.isenabled()


def test_python_collects_again_after_an_exception_and_not_where_it_did_not() -> None:
    """What the program has set before stays so."""
    with pytest.raises(KeyError), dist.gc_every(1):
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    with dist.gc_every(1) as garbage:
        garbage.step()
    assert not gc.isenabled()


def test_wrong_uses_are_errors() -> None:
    """With what to do."""
    with pytest.raises(ValueError, match="positive"):
        dist.gc_every(0)
    with pytest.raises(RuntimeError, match=r"with dist\.gc_every"):
        dist.gc_every(2).step()


def test_all_ranks_collect_in_the_same_iteration() -> None:
    """Also if one of them makes more garbage than the others."""
    ended = jobs.run("""
    import gc
    found, iteration = [], 0
    gc.callbacks.append(lambda phase, info: phase == "start" and found.append(iteration))
    with dist.gc_every(4) as garbage:
        found.clear()
        for iteration in range(1, 13):
            cycles = [[] for _ in range(20_000 * rank)]
            for each in cycles:
                each.append(each)
            dist.all_reduce(torch.ones(3))
            garbage.step()
    print("FOUND", found)
    """)
    assert all("FOUND [4, 8, 12]" in each.out for each in ended), ended
