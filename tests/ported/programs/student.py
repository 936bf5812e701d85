"""Trains a network of two layers by hand, as in a course."""

import json
import numpy as np

np.random.seed(0)
X = np.random.randn(600, 2)
y = ((X[:, 0] * X[:, 1]) > 0).astype(int)
W1, b1 = np.random.randn(2, 24) * 0.7, np.zeros(24)
W2, b2 = np.random.randn(24, 2) * 0.3, np.zeros(2)
losses = []
for epoch in range(300):
    h = np.maximum(X @ W1 + b1, 0)
    scores = h @ W2 + b2
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(y)), y]).mean()
    if epoch % 100 == 0:
        losses.append(float(loss))
    g = p.copy()
    g[np.arange(len(y)), y] -= 1
    g /= len(y)
    dW2, db2 = h.T @ g, g.sum(0)
    dh = g @ W2.T
    dh[h <= 0] = 0
    W1 -= 1.0 * X.T @ dh
    b1 -= 1.0 * dh.sum(0)
    W2 -= 1.0 * dW2
    b2 -= 1.0 * db2
accuracy = (p.argmax(axis=1) == y).mean()
print("losses fall:", losses[0] > losses[1] > losses[2])
print(json.dumps({"accurate": bool(accuracy > 0.9), "rows": int(p.shape[0])}))
print(f"sums to one: {np.allclose(p.sum(axis=1), 1)}")
