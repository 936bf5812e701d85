"""k-means of points, with a scatter plot of the clusters."""

import numpy as np
import matplotlib.pyplot as plt

rng = np.random.default_rng(5)
centers = np.array([[0, 0], [6, 1], [2, 7]], dtype=float)
points = np.concatenate([center + rng.normal(scale=0.7, size=(300, 2)) for center in centers])
found = points[[0, 300, 600]].copy()
for _ in range(20):
    distance = np.linalg.norm(points[:, None] - found[None], axis=2)
    label = distance.argmin(axis=1)
    new = np.array([points[label == k].mean(axis=0) for k in range(3)])
    if np.allclose(new, found):
        break
    found = new
found = found[np.lexsort(found.T)]
print("centers", np.round(found).astype(int).tolist())
print("sizes", np.bincount(label).tolist())
print("inside", bool((distance.min(axis=1) < 4).all()), f"{len(points):,} points")
plt.scatter(points[:, 0], points[:, 1], c=label, s=4)
plt.scatter(*found.T, marker="x", color="black")
plt.savefig("clusters.png")
