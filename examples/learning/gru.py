"""A bidirectional GRU over packed sequences of different lengths, which learns which of two marks comes first."""

import numpy as np
from common import Setting, descend, nn, optim, run


class Tagger(nn.Module):
    def __init__(self, marks, width):
        super().__init__()
        self.table = nn.Embedding(marks, 8, padding_idx=0)
        self.gru = nn.GRU(8, width, bidirectional=True, batch_first=True)
        self.out = nn.Sequential(nn.Dropout(0.0), nn.Linear(2 * width, 2))

    def forward(self, marks, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.table(marks), lengths, batch_first=True, enforce_sorted=False)
        _, state = self.gru(packed)
        return self.out(state.transpose(0, 1).flatten(1))


def train(setting: Setting) -> list[float]:
    """Returns the losses."""
    rng = np.random.RandomState(0)
    lengths = rng.randint(4, 13, 32)
    marks, labels = np.zeros((32, 12), int), rng.randint(0, 2, 32)
    for k, n in enumerate(lengths):
        marks[k, :n] = rng.randint(3, 8, n)
        first, second = sorted(rng.choice(n, 2, replace=False))
        marks[k, first], marks[k, second] = (1, 2) if labels[k] else (2, 1)
    x, y = setting.whole(marks), setting.whole(labels)
    model = setting.model(Tagger(8, 12))
    optimizer = optim.AdamW(model.parameters(), lr=0.005)
    return descend(setting, optimizer, lambda _: nn.functional.cross_entropy(model(x, lengths.tolist()), y))


if __name__ == "__main__":
    run(train, 100, 0.3)
