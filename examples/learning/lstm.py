"""An LSTM of two layers that learns to predict waves one step ahead."""

import numpy as np
from common import Setting, descend, nn, optim, run, torch


class LSTM(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super(LSTM, self).__init__()
        self.num_layers = num_layers
        self.hidden_size = hidden_size
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)

    def forward(self, x, h0, c0):
        ## x: batch_size x seq_len x input_size
        out, (h_n, c_n) = self.lstm(x, (h0, c0))
        ## out: batch_size x seq_len x hidden_size
        ## h_n: num_layers x batch_size x hidden_size
        ## c_n: num_layers x batch_size x hidden_size
        return out, h_n, c_n

    def init_hidden(self, batch_size):
        h0 = torch.zeros(self.num_layers, batch_size, self.hidden_size)
        c0 = torch.zeros(self.num_layers, batch_size, self.hidden_size)
        return h0, c0


def train(setting: Setting) -> list[float]:
    """Returns the losses."""
    rng = np.random.RandomState(0)
    waves = np.sin(np.arange(25) * rng.uniform(0.2, 0.6, (16, 1)) + rng.uniform(0, 6, (16, 1)))
    x, y = setting.floats(waves[:, :-1, None]), setting.floats(waves[:, 1:, None])
    model = setting.model(nn.ModuleDict({"lstm": LSTM(1, 16, 2), "head": nn.Linear(16, 1)}))
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def loss_of(_: int):
        h0, c0 = (state.to(x) for state in model["lstm"].init_hidden(len(x)))
        out, _h, _c = model["lstm"](x, h0, c0)
        return nn.functional.mse_loss(model["head"](out), y)

    return descend(setting, optimizer, loss_of)


if __name__ == "__main__":
    run(train, 100, 0.2)
