"""Heat conduction in a plate with a fixed rim: in each step a cell becomes the mean of its four neighbors.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import time

import numpy as np

from cuprous import cuda


@cuda.jit
def spread(old, new):
    """Each thread computes one cell; the rim does not change."""
    x, y = cuda.grid(2)
    if 0 < x < old.shape[1] - 1 and 0 < y < old.shape[0] - 1:
        new[y, x] = (old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1]) * np.float32(0.25)


def run(plate: np.ndarray, steps: int) -> np.ndarray:
    """Returns the plate after a number of steps."""
    old, new = cuda.to_device(plate), cuda.to_device(plate)
    blocks = (-(-plate.shape[1] // 32), -(-plate.shape[0] // 8))
    for _ in range(steps):
        spread[blocks, (32, 8)](old, new)
        old, new = new, old
    return old.copy_to_host()


def reference(plate: np.ndarray, steps: int) -> np.ndarray:
    """Returns the same result, computed by NumPy."""
    for _ in range(steps):
        new = plate.copy()
        new[1:-1, 1:-1] = (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]) * np.float32(0.25)
        plate = new
    return plate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    plate = np.zeros((options.size, options.size + 7), np.float32)
    plate[0] = 100  # one side is hot
    run(plate, 1)  # compiles
    start = time.perf_counter()
    warm = run(plate, options.steps)
    elapsed = time.perf_counter() - start
    np.testing.assert_allclose(warm, reference(plate, options.steps), rtol=1e-5, atol=1e-5)
    cells = plate.size * options.steps / elapsed
    print(f"{options.steps} steps of {plate.size:,} cells: {cells / 1e6:,.0f} million cells/s, mean {warm.mean():.3f}")


if __name__ == "__main__":
    main()
