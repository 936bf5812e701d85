"""Sharpens frames of 1920 x 1080 pixels; the measured time includes the copies to the device and back.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import png

from cuprous import cuda


@cuda.jit
def sharpen(image, result):
    """Each thread computes one pixel: its value plus twice its difference from a 3 x 3 blur."""
    column, row = cuda.grid(2)
    height, width = image.shape[0], image.shape[1]
    if row < height and column < width:
        above, here, below = image[max(row - 1, 0)], image[row], image[min(row + 1, height - 1)]
        left, right = max(column - 1, 0), min(column + 1, width - 1)
        for k in range(3):  # colors
            corners = np.int32(above[left, k]) + above[right, k] + below[left, k] + below[right, k]
            sides = np.int32(above[column, k]) + below[column, k] + here[left, k] + here[right, k]
            value = np.int32(here[column, k])
            detail = 12 * value - 2 * sides - corners  # 16 times the difference
            result[row, column, k] = min(max(value + (detail >> 3), 0), 255)


def reference(image: np.ndarray) -> np.ndarray:
    """Returns the same result, computed by NumPy."""
    wide = np.pad(image.astype(np.int32), ((1, 1), (1, 1), (0, 0)), "edge")
    tall = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    blur = tall[:, :-2] + 2 * tall[:, 1:-1] + tall[:, 2:]
    return np.clip(image + (16 * image.astype(np.int32) - blur >> 3), 0, 255).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--to", default="sharpened.png")
    options = parser.parse_args()
    picture = png.read(str(Path(__file__).parent / "palace.png"))
    frame = picture.repeat(6, axis=0).repeat(6, axis=1)  # 1920 x 1080
    height, width, _ = frame.shape
    on_device, result = cuda.device_array_like(frame), cuda.device_array_like(frame)
    back = np.empty_like(frame)
    blocks = (-(-width // 32), -(-height // 8))

    def process() -> None:
        on_device.copy_to_device(frame)
        sharpen[blocks, (32, 8)](on_device, result)
        result.copy_to_host(back)

    process()  # compiles
    assert np.array_equal(back, reference(frame))
    start = time.perf_counter()
    for _ in range(options.frames):
        process()
    elapsed = time.perf_counter() - start
    small = cuda.to_device(np.zeros_like(picture))
    sharpen[(10, 23), (32, 8)](cuda.to_device(picture), small)
    png.write(options.to, small.copy_to_host())
    print(f"{width} x {height}: {options.frames / elapsed:,.0f} frames/s with copies, as NumPy's; see {options.to}")


if __name__ == "__main__":
    main()
