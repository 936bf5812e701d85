"""Statistics of a table: groups, quantiles, regression, with pandas at the end."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(11)
group = np.arange(3000) % 4
hours = np.linspace(0, 10, 3000)
grade = 40 + 5 * hours + 3 * group + 4 * np.sin(np.arange(3000))
for g in np.unique(group):
    of = grade[group == g]
    print(g, of.size, round(of.mean(), 3), round(of.std(ddof=1), 3), np.round(np.quantile(of, [0.25, 0.75]), 2))
A = np.column_stack([np.ones_like(hours), hours, group])
solution, residual, rank, _ = np.linalg.lstsq(A, grade, rcond=None)
print("fit", [f"{v:.2f}" for v in solution], rank)
best = np.argsort(grade)[-3:][::-1]
print("best", best.tolist(), np.sum(grade[best]) > 250)
table = pd.DataFrame({"group": np.asarray(group), "grade": np.asarray(grade)})
print(table.groupby("group")["grade"].mean().round(3).to_dict())
order = rng.permutation(len(grade))
print(sorted(order[:5].tolist()) != [0, 1, 2, 3, 4], len(set(order.tolist())))
