"""What programs of ever new shapes leave behind, by the engine's counters."""

from __future__ import annotations

import json
import os
import subprocess
import sys

#: Distinct shapes; with 100,000 it takes some seconds.
COUNT = int(os.environ.get("CUPROUS_TEST_SHAPES", "12000"))
#: Prints the counters, the peak of memory in KiB after half of the shapes, and that at the end.
RUN = """
import itertools, json, resource, sys
import cuprous as cp

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

count = int(sys.argv[1])
first = cp._core.stats()
for n, shape in enumerate(itertools.islice(itertools.product(range(1, 8), repeat=6), count)):
    a = cp.ones(shape, "float32")
    assert float((a.T + a.T * 2).sum()) == 3 * a.size
    if n == count // 2:
        half = peak()
last = cp._core.stats()
print(json.dumps([{name: last[name] - first[name] for name in ("planned", "keys_seen")} | {
    name: last[name] for name in ("programs_kept", "layouts_kept")}, half, peak()]))
"""


def test_new_shapes_leave_memory_and_look_ups_bounded() -> None:
    done = subprocess.run([sys.executable, "-c", RUN, str(COUNT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts, half, end = json.loads(done.stdout)
    assert counts["planned"] >= COUNT
    assert counts["programs_kept"] <= 1024, "programs are dropped"
    assert counts["layouts_kept"] <= 1 << 15 < 3 * COUNT, "layouts of dropped programs are swept"
    assert counts["keys_seen"] <= 6 * counts["planned"], "neither finding nor dropping a program looks at all of them"
    assert end - half < 8 << 10, "memory in KiB"
