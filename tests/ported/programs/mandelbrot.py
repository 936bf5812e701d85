"""The Mandelbrot set, with masks."""

import numpy as np
import matplotlib.pyplot as plt

re, im = np.meshgrid(np.linspace(-2, 0.6, 300), np.linspace(-1.2, 1.2, 240))
c = re + 1j * im
z = np.zeros_like(c)
count = np.zeros(c.shape, dtype=int)
for k in range(40):
    alive = np.abs(z) <= 2
    z[alive] = z[alive] ** 2 + c[alive]
    count += alive
print(count.sum(), count.max(), (count == 40).sum())
plt.imsave("set.png", count, cmap="magma")
