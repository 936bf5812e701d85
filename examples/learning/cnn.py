"""A small convolutional network that classifies ten kinds of patterned images."""

import numpy as np
from common import Setting, descend, nn, optim, run


class CNN(nn.Module):
    def __init__(self):
        super(CNN, self).__init__()
        self.conv1 = nn.Conv2d(in_channels=3, out_channels=16, kernel_size=3, stride=1, padding=1)
        self.pool1 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv2 = nn.Conv2d(in_channels=16, out_channels=32, kernel_size=3, stride=1, padding=1)
        self.pool2 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.fc1 = nn.Linear(in_features=32 * 7 * 7, out_features=128)
        self.fc2 = nn.Linear(in_features=128, out_features=10)

    def forward(self, x):
        x = self.pool1(nn.functional.relu(self.conv1(x)))
        x = self.pool2(nn.functional.relu(self.conv2(x)))
        x = x.view(-1, 32 * 7 * 7)
        x = nn.functional.relu(self.fc1(x))
        x = self.fc2(x)
        return x


def train(setting: Setting) -> list[float]:
    """Returns the losses; steps use batches of 32 one after another."""
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 10, 512)
    waves = np.sin(np.arange(28) * (labels[:, None] + 1) / 5)  # each class has its own wave, with noise
    images = waves[:, None, :, None] * waves[:, None, None, :] + 0.3 * rng.randn(512, 3, 28, 28)
    inputs, targets = setting.floats(images), setting.whole(labels)
    model = setting.model(CNN())
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.7)

    def loss_of(step: int):
        batch = slice(step % 16 * 32, step % 16 * 32 + 32)
        return nn.functional.cross_entropy(model(inputs[batch]), targets[batch])

    return descend(setting, optimizer, loss_of)


if __name__ == "__main__":
    run(train, 100, 0.7)
