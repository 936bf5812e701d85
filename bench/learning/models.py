"""The networks, written as for PyTorch."""

from __future__ import annotations

from typing import Any

from bench.learning.library import F, nn, torch


class SimpleNet(nn.Module):
    """One linear layer, as in examples/seeds/001_training.py."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(10, 2)

    def forward(self, x: Any) -> Any:
        return self.fc(x)


class CNN(nn.Module):
    """Two convolutions with pooling and two linear layers, for images of 3 x 28 x 28."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels=3, out_channels=16, kernel_size=3, stride=1, padding=1)
        self.pool1 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv2 = nn.Conv2d(in_channels=16, out_channels=32, kernel_size=3, stride=1, padding=1)
        self.pool2 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.fc1 = nn.Linear(in_features=32 * 7 * 7, out_features=128)
        self.fc2 = nn.Linear(in_features=128, out_features=10)

    def forward(self, x: Any) -> Any:
        x = self.pool1(nn.functional.relu(self.conv1(x)))
        x = self.pool2(nn.functional.relu(self.conv2(x)))
        x = x.view(-1, 32 * 7 * 7)
        x = nn.functional.relu(self.fc1(x))
        return self.fc2(x)


class Bottleneck(nn.Module):
    """Three convolutions with norms, added to the input."""

    def __init__(self, inputs: int, inner: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * inner
        self.conv1, self.norm1 = nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv2, self.norm2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv3, self.norm3 = nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu, self.down = nn.ReLU(inplace=True), nn.Identity()
        if inputs != outputs:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.norm3(self.conv3(self.relu(self.norm2(self.conv2(y)))))
        y += self.down(x)
        return self.relu(y)


class ResNet50(nn.Module):
    """He et al. 2015, with the stride in the 3 x 3 convolutions as in torchvision."""

    def __init__(self, kinds: int = 1000) -> None:
        super().__init__()
        blocks, width = [], 64
        for inner, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
            for k in range(count):
                blocks.append(Bottleneck(width, inner, 2 if k == 0 and inner > 64 else 1))
                width = 4 * inner
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        self.blocks, self.pool, self.out = nn.Sequential(*blocks), nn.AdaptiveAvgPool2d(1), nn.Linear(width, kinds)

    def forward(self, x: Any) -> Any:
        return self.out(self.pool(self.blocks(self.stem(x))).flatten(1))


class LanguageModel(nn.Module):
    """An embedding, two LSTM layers and a linear layer."""

    def __init__(self, tokens: int = 1000, width: int = 128, hidden: int = 256) -> None:
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.lstm = nn.LSTM(width, hidden, 2, batch_first=True)
        self.out = nn.Linear(hidden, tokens)

    def forward(self, x: Any) -> Any:
        return self.out(self.lstm(self.table(x))[0]).flatten(0, 1)


class Block(nn.Module):
    """A transformer block: causal attention and a two-layer network, each after a layer norm, with residual sums."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """A GPT-2 model: token and position embeddings, blocks, a layer norm, logits."""

    def __init__(self, tokens: int, width: int, heads: int, layers: int, length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, tokens, bias=False)

    def forward(self, x: Any) -> Any:
        return self.out(self.norm(self.blocks(self.table(x) + self.places))).flatten(0, 1)
