"""A program of random collectives, whose results it compares with NumPy's."""

from __future__ import annotations

SEQUENCES = """
import ml_dtypes
rng = np.random.default_rng(int(os.environ["TEST_SEED"]))
names = ["float32", "float64", "int64", "uint8", "float16", "bfloat16", "bool", "complex64"]
pairs = [[a, b] for a in range(n) for b in range(a + 1, n)]
groups = [list(range(n))] + pairs[:2]
made = [None] + [dist.new_group(ranks) for ranks in groups[1:]]
pending = []

def data(step, who, size, name):
    own = np.random.default_rng([step, who, 7])
    if name == "bool":
        return own.integers(0, 2, size).astype(bool)
    if name == "complex64":
        return (own.integers(-8, 8, size) + 1j * own.integers(-8, 8, size)).astype(name)
    return own.integers(0, 5, size).astype(ml_dtypes.bfloat16 if name == "bfloat16" else name)

def same(t, expected, what):
    got = (t.to(torch.float32) if t.dtype_name == "bfloat16" else t).cpu().numpy()
    assert np.array_equal(got, np.asarray(expected).astype(got.dtype)), (what, got, expected)

def tensor(a):
    from cuprous import _core
    return _core.t_wrap(_core.from_numpy(a, os.environ.get("TEST_DEVICE", "cpu")))

for step in range(int(os.environ["TEST_STEPS"])):
    k = int(rng.integers(len(groups)))
    size = int(rng.choice([0, 1, 3, 17, 1000, 5000, 70_001, 300_000], p=[.05, .15, .15, .15, .2, .15, .1, .05]))
    name = str(rng.choice(names))
    op = str(rng.choice(["all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter",
                         "all_to_all", "barrier", "into", "single"]))
    kind = str(rng.choice(["SUM", "PRODUCT", "MIN", "MAX"])) if name not in ("bool", "complex64") else "SUM"
    is_async = bool(rng.integers(2))
    ranks, group = groups[k], made[k]
    root = int(rng.integers(len(ranks)))
    if rank not in ranks:
        continue
    me, m = ranks.index(rank), len(ranks)
    all_ = [data(step, who, size, name) for who in ranks]
    table = [[data(step, 100 * a + b, size, name) for b in range(m)] for a in range(m)]
    reduce_ = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum}[kind].reduce
    def total(parts):
        if name in ("float16", "bfloat16"):
            return reduce_([p.astype(np.float32) for p in parts]).astype(parts[0].dtype)
        return reduce_(parts).astype(parts[0].dtype)
    what = (step, op, name, size, kind, ranks, is_async)
    rop, own, kw = dist.ReduceOp[kind], tensor(all_[me]), {"group": group, "async_op": is_async}
    empty = lambda: tensor(np.zeros(size, all_[0].dtype))
    if op == "all_reduce":
        work, checks = dist.all_reduce(own, rop, **kw), [(own, total(all_))]
    elif op == "reduce":
        work = dist.reduce(own, group_dst=root, op=rop, **kw)
        checks = [(own, total(all_) if me == root else all_[me])]
    elif op == "broadcast":
        work, checks = dist.broadcast(own, src=ranks[root], **kw), [(own, all_[root])]
    elif op == "all_gather":
        outs = [empty() for _ in ranks]
        work, checks = dist.all_gather(outs, own, **kw), list(zip(outs, all_))
    elif op == "gather":
        outs = [empty() for _ in ranks] if me == root else None
        work, checks = dist.gather(own, outs, group_dst=root, **kw), list(zip(outs or [], all_))
    elif op == "scatter":
        out = empty()
        work = dist.scatter(out, [tensor(p) for p in table[me]] if me == root else None, group_src=root, **kw)
        checks = [(out, table[root][me])]
    elif op == "reduce_scatter":
        out = empty()
        work = dist.reduce_scatter(out, [tensor(p) for p in table[me]], rop, **kw)
        checks = [(out, total([row[me] for row in table]))]
    elif op == "all_to_all":
        outs = [empty() for _ in ranks]
        work = dist.all_to_all(outs, [tensor(p) for p in table[me]], **kw)
        checks = [(o, table[a][me]) for a, o in enumerate(outs)]
    elif op == "into":
        out = tensor(np.zeros(size * m, all_[0].dtype))
        work, checks = dist.all_gather_into_tensor(out, own, **kw), [(out, np.concatenate(all_))]
    elif op == "single":
        counts = [[(a + 2 * b + step) % 4 for b in range(m)] for a in range(m)]
        parts = [[data(step, 100 * a + b, counts[a][b] * 3, name) for b in range(m)] for a in range(m)]
        got = [counts[a][me] for a in range(m)]
        out = tensor(np.zeros((sum(got), 3), all_[0].dtype))
        given = tensor(np.concatenate(parts[me]).reshape(-1, 3))
        work = dist.all_to_all_single(out, given, got, counts[me], **kw)
        checks = [(out, np.concatenate([parts[a][me] for a in range(m)]).reshape(-1, 3))]
    else:
        work, checks = dist.barrier(**kw), []
    pending.append((work, checks, what))
    while len(pending) > 3 or (pending and not is_async):
        work, checks, what = pending.pop(0)
        # A read waits for the operation by itself.
        if work is not None and step % 2:
            work.wait()
        for t, expected in checks:
            same(t, expected, what)
dist.destroy_process_group()
"""
