"""Measures the cost of a profile and compares its totals with a clock: the CNN's training loop, alternately with and
without a profile.

`python -m bench.profiling [--device cuda]`
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import cuprous as cp

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "learning"))
sys.argv, ours = sys.argv[:1], sys.argv[1:]
from cnn import train  # type: ignore[import-not-found]  # noqa: E402
from common import Setting, torch  # type: ignore[import-not-found]  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=0, help="of one run (40; on a GPU 2,000)")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(ours)
    steps = options.steps or (2000 if options.device == "cuda" else 40)

    def run(count: int) -> float:
        cp.synchronize()
        start = time.perf_counter()
        train(Setting(count, options.device))
        cp.synchronize()
        return time.perf_counter() - start

    for _ in range(2):
        run(max(20, steps // 4))
    plain, noted, walls = [], [], []
    profile = cp.profile()
    for _ in range(options.rounds):
        plain.append(run(steps))
        start = time.perf_counter()
        with profile:
            noted.append(run(steps))
        walls.append(time.perf_counter() - start)
    total = profile.total
    off, on = statistics.median(plain), statistics.median(noted)
    ratio = statistics.median(b / a for a, b in zip(plain, noted, strict=True))
    print(f"CNN on {options.device}, {steps} steps, {options.rounds} rounds in turns")
    print(f"a step without a profile   {off / steps * 1e6:10.1f} us")
    print(f"a step with one            {on / steps * 1e6:10.1f} us   {100 * (ratio - 1):+.1f} % (median of rounds)")
    print(f"wall of the last round     {walls[-1]:10.4f} s, by the profile {total.wall:.4f} s")
    known = total.run_time + total.plan_time + total.copy_time + total.wait_time + total.python
    print(f"its parts together         {known:10.4f} s, device {total.device_time:.4f} s, {total.launches} launches")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("trace.json", "flame.svg"):
            start = time.perf_counter()
            profile.save(Path(folder) / name)
            size = (Path(folder) / name).stat().st_size
            print(f"{name:24}   {time.perf_counter() - start:10.3f} s, {size / 1e6:.1f} MB, {profile.events} events")
    # If nearly all time is device work, the device time must equal the clock's.
    x = torch.rand(*((8192, 8192) if options.device == "cuda" else (1024, 1024)), device=options.device)
    for _ in range(2):
        y = x
        with profile:
            start = time.perf_counter()
            for _ in range(50):
                y = (y @ x) * 1e-3
            float(y[0, 0])
            wall = time.perf_counter() - start
    share = profile.total.device_time / wall
    print(f"50 products: device {profile.total.device_time:.4f} s of {wall:.4f} s by the clock ({100 * share:.1f} %)")
    print(profile.table(8))


if __name__ == "__main__":
    main()
