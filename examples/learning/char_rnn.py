"""A recurrent network, written without nn.RNN, that learns to continue a sentence character by character."""

import numpy as np
from common import Setting, descend, nn, optim, run, torch

TEXT = "to be or not to be, that is the question"


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = self.i2h(combined)
        output = self.i2o(combined)
        output = self.softmax(output)
        return output, hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


def train(setting: Setting) -> list[float]:
    """Returns the losses, each the mean over the characters of the sentence."""
    letters = sorted(set(TEXT))
    numbers = [letters.index(c) for c in TEXT]
    inputs = setting.floats(np.eye(len(letters))[numbers[:-1]])
    targets = setting.whole(numbers[1:])
    model = setting.model(RNN(len(letters), 32, len(letters)))
    criterion = nn.NLLLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.005)

    def loss_of(_: int):
        hidden = model.initHidden().to(inputs)
        loss = 0
        for k in range(len(inputs)):
            output, hidden = model(inputs[k : k + 1], hidden)
            loss = loss + criterion(output, targets[k : k + 1])
        return loss / len(inputs)

    return descend(setting, optimizer, loss_of)


if __name__ == "__main__":
    run(train, 100, 0.5)
