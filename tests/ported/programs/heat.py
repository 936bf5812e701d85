"""Heat in a plate by finite differences, with a picture of the end."""

import numpy as np
import matplotlib.pyplot as plt

n, steps = 200, 400
plate = np.zeros((n, n))
plate[:, 0] = 100
plate[n // 3 : n // 2, n // 2] = 80
history = []
for step in range(steps):
    inner = plate[1:-1, 1:-1]
    inner += 0.2 * (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:] - 4 * inner)
    plate[:, 0] = 100
    if step % 100 == 99:
        history.append(round(plate.mean(), 4))
print(history)
print(plate.argmax(), round(plate[100, 5], 3), np.count_nonzero(plate > 50))

plt.imshow(plate, cmap="inferno")
plt.colorbar()
plt.savefig("plate.png")
