"""Handwritten digits of 8 x 8 pixels, classified by a network of two layers.

digits.csv.gz, 57 KB, is the set that scikit-learn comes with: 1,797 images of the UCI repository's "Optical Recognition
of Handwritten Digits" (E. Alpaydin and C. Kaynak, 1998; CC BY 4.0), a line each, 64 points of 0 to 16 and the digit.
"""

from pathlib import Path

import numpy as np
from common import Setting, descend, nn, optim, run, torch


def digits():
    """Returns 1,797 images in [0, 1] with 64 pixels each, and their digits."""
    table = np.loadtxt(Path(__file__).with_name("digits.csv.gz"), delimiter=",", dtype=int)
    return table[:, :-1] / 16, table[:, -1]


def train(setting: Setting) -> list[float]:
    """Returns the losses of batches of 128 out of 1,536 images; the other images are classified at the end."""
    images, labels = digits()
    x, y = setting.floats(images), setting.whole(labels)
    model = setting.model(
        nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    )
    optimizer = optim.Adam(model.parameters(), lr=0.005)

    def loss_of(step: int):
        batch = slice(step % 12 * 128, step % 12 * 128 + 128)
        return nn.functional.cross_entropy(model(x[batch]), y[batch])

    losses = descend(setting, optimizer, loss_of)
    model.eval()
    with torch.no_grad():
        right = (model(x[1536:]).argmax(1) == y[1536:]).float().mean().item()
    print(f"{100 * right:.1f} % of {len(labels) - 1536} other images are classified correctly")
    return losses


if __name__ == "__main__":
    run(train, 240, 0.2)
