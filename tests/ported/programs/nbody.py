"""Gravity of some bodies with a leapfrog step; energy must hardly change."""

import math
import numpy as np

n = 120
k = np.arange(n)
mass = (1 + 0.5 * np.sin(k)) / n
pos = 1.5 * np.array([np.cos(k * 2.4), np.sin(k * 2.4), np.cos(k * 0.7) / 3]).T * np.sqrt((k[:, None] + 0.5) / n)
vel = np.cross(pos, [0, 0, 1.0]) * 0.3


def acceleration(pos):
    away = pos[None, :, :] - pos[:, None, :]
    distance = (away**2).sum(axis=2) + 0.05**2
    return (away * (mass[None, :, None] * distance[:, :, None] ** -1.5)).sum(axis=1)


def energy(pos, vel):
    away = pos[None, :, :] - pos[:, None, :]
    distance = np.sqrt((away**2).sum(axis=2) + 0.05**2)
    pairs = mass[:, None] * mass[None, :] / distance
    return 0.5 * (mass * (vel**2).sum(axis=1)).sum() - 0.5 * (pairs.sum() - np.trace(pairs))


start = energy(pos, vel)
acc = acceleration(pos)
for step in range(50):
    vel += 0.005 * acc
    pos += 0.01 * vel
    acc = acceleration(pos)
    vel += 0.005 * acc
drift = (energy(pos, vel) - start) / abs(start)
print("energy", round(start, 6), "drift below 1 %:", bool(abs(drift) < 0.01))
print("center", [round(v, 5) for v in (mass[:, None] * pos).sum(axis=0)])
print("radius", math.sqrt((pos**2).sum() / n) > 1, f"{np.linalg.norm(vel, axis=1).max():.4f}")
