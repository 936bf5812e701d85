"""Profiles of a rank: its operations with other ranks, and how long it waits for them."""

from __future__ import annotations

from tests.distributed.jobs import run

_PROFILE = """
import json, os, tempfile
import cuprous as cp
text = open(__file__).read().splitlines()
def line_of(mark):
    return next(number for number, line in enumerate(text, 1) if line.endswith("# " + mark))
def events(p):
    path = os.path.join(tempfile.mkdtemp(), "trace.json")
    p.save(path)
    return json.load(open(path))["traceEvents"]
"""


def test_waits_for_late_ranks_do_not_count_as_python() -> None:
    """In the total, the line, the text, the timeline and the flame graph."""
    run(
        _PROFILE
        + """
    x, y = torch.ones(1000), torch.ones(500)
    dist.all_reduce(torch.ones(1000))  # plans, so that the ranks begin together
    with cp.profile() as p:
        for step in range(3):
            if rank == 1:
                time.sleep(0.25)
            dist.all_reduce(x)  # together
        if rank == 1:
            time.sleep(0.25)
        work = dist.all_reduce(y, async_op=True)  # begun
        work.wait()  # waited
        z = x[0].item() + y[0].item()
        if rank == 1:
            time.sleep(0.25)
            dist.send(y, 0)
        else:
            dist.recv(y, 1)
    assert z == 8 + 2
    total, rows = p.total, {row.line: row for row in p.rows if row.file == __file__}
    assert (total.collectives, total.collective_bytes) == (5, 3 * 4000 + 2000 + 2000), total
    together, begun, waited = (rows[line_of(mark)] for mark in ("together", "begun", "waited"))
    assert (together.collectives, together.collective_bytes, begun.collectives) == (3, 12000, 1)
    if rank == 0:
        assert 0.6 <= together.rank_wait_time and 0.6 <= together.collective_time
        assert 0.2 <= waited.rank_wait_time and 0.2 <= begun.collective_time and begun.rank_wait_time == 0
        assert 1.0 <= total.rank_wait_time <= total.wall and total.python < total.wall - 1.0
        assert "waiting for other ranks" in str(p) and "for ranks" in str(p)
    all_events = events(p)
    named = [e for e in all_events if e.get("cat") == "collective"]
    assert sorted(e["name"] for e in named) == sorted(["all_reduce"] * 4 + ["send" if rank else "recv"])
    assert all(e["args"]["line"].startswith("program.py:") for e in named), named
    track, = {(e["pid"], e["tid"]) for e in named}
    titles = [e["args"]["name"] for e in all_events if (e["name"], e["pid"], e.get("tid")) == ("thread_name", *track)]
    assert titles == ["other ranks"]
    path = os.path.join(tempfile.mkdtemp(), "flame.svg")
    p.save(path)
    assert rank or "[waiting for other ranks]" in open(path).read()
    """.replace("\n    ", "\n")
    )


def test_a_step_of_ddp_shows_its_buckets_and_its_wait() -> None:
    """The optimizer's step waits where nothing else is left to do."""
    run(
        _PROFILE
        + """
    model = DDP(torch.nn.Linear(100, 10))
    opt = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.randn(8, 100)
    for step in range(6):
        opt.zero_grad()
        with cp.profile() as p:
            if rank == 1:
                time.sleep(0.25)
            model(x).sum().backward()
            opt.step()
            model.module.bias[0].item()
        total = p.total
        assert (total.collectives, total.collective_bytes) == (1, 4 * 1010), total
        # However long planning takes on a busy machine: most of the rest of 250 ms is spent waiting.
        rest = total.wall - total.plan_time - total.run_time
        assert rank or rest / 2 - 0.05 <= total.rank_wait_time <= total.wall, (total, str(p))
    """.replace("\n    ", "\n")
    )
