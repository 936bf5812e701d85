"""PageRank of a random web by the power method, with a bar chart, a file and a check by eigenvalues."""

import numpy as np
import matplotlib.pyplot as plt

n = 150
i, j = np.indices((n, n))
links = ((i * 7 + j * 13) % 11 == 0) & (i != j)
out = links.sum(axis=0)
transition = np.where(out > 0, links / np.where(out > 0, out, 1), 1 / n)
rank = np.full(n, 1 / n)
for step in range(100):
    new = 0.85 * transition @ rank + 0.15 / n
    change = np.abs(new - rank).sum()
    rank = new
    if change < 1e-12:
        break
top = np.argsort(-rank)[:5]
np.save("rank.npy", rank)
values = np.linalg.eigvals(0.85 * transition + 0.15 / n)
print("sum", round(float(rank.sum()), 12), "largest eigenvalue", round(float(np.max(np.abs(values))), 6))
print("converged", step < 99, "saved", np.array_equal(np.load("rank.npy"), rank))
print("top five", np.round(rank[top], 5).tolist(), rank.dtype)
plt.bar(range(5), rank[top])
plt.savefig("rank.png")
