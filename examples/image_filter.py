"""Detects edges in a noisy image: a median filter against the noise, a Gaussian filter, Sobel derivatives, a threshold.

The image is a bright disk; the detected edges must lie on its rim.
"""

import argparse
import time

import cuprous as cp
from cuprous.scipy import ndimage


def edges(image: cp.ndarray) -> cp.ndarray:
    """Returns a mask of the pixels where the smoothed image changes fast."""
    calm = ndimage.gaussian_filter(ndimage.median_filter(image, size=3), sigma=2.0)
    slope = cp.hypot(ndimage.sobel(calm, axis=0), ndimage.sobel(calm, axis=1))
    return slope > 0.5 * slope.max()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    size = parser.parse_args().size
    radius = size / 3

    y, x = cp.arange(size, dtype=cp.float32)[:, None], cp.arange(size, dtype=cp.float32)
    distance = cp.hypot(y - size / 2, x - size / 2)
    rng = cp.random.default_rng(3)
    image = (distance < radius).astype(cp.float32) + 0.1 * rng.standard_normal((size, size), dtype=cp.float32)
    image = cp.where(rng.random((size, size)) < 0.02, cp.float32(1.0), image)  # salt noise
    image[0, 0].item()  # waits until the image is computed

    start = time.perf_counter()
    found = edges(image)
    count = int(found.sum())
    elapsed = time.perf_counter() - start

    farthest = float(cp.where(found, cp.abs(distance - radius), 0).max())
    assert farthest < 5, farthest
    assert count > 2 * 3.14 * radius, count
    print(f"{size} x {size}: {count:,} edge pixels in {elapsed * 1e3:.1f} ms, all within {farthest:.1f} of the rim")


if __name__ == "__main__":
    main()
