"""One linear layer, fitted to random targets by Adam: a thousand steps that are replays of one program."""

import numpy as np
from common import Setting, descend, nn, optim, run


class SimpleNet(nn.Module):
    def __init__(self):
        super(SimpleNet, self).__init__()
        self.fc = nn.Linear(10, 2)  # Simple linear layer

    def forward(self, x):
        return self.fc(x)


def train(setting: Setting) -> list[float]:
    """Returns the losses."""
    rng = np.random.RandomState(0)
    input_tensor, target = setting.floats(rng.randn(100, 10)), setting.floats(rng.randn(100, 2))
    model = setting.model(SimpleNet())
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    return descend(setting, optimizer, lambda _: criterion(model(input_tensor), target))


if __name__ == "__main__":
    run(train, 1000, 0.8)
