"""An encoder-decoder Transformer that learns to reverse sequences."""

import math

import numpy as np
from common import Setting, descend, nn, optim, run, torch


class Transformer(nn.Module):
    def __init__(self, input_size, output_size, num_layers, num_heads, hidden_size):
        super(Transformer, self).__init__()
        self.encoder = Encoder(input_size, num_layers, num_heads, hidden_size)
        self.decoder = Decoder(output_size, num_layers, num_heads, hidden_size)

    def forward(self, src, tgt):
        encoder_output = self.encoder(src)
        output = self.decoder(tgt, encoder_output)
        return output


class PositionalEmbedding(nn.Module):
    """Token embeddings with sinusoidal position encodings (Vaswani et al., 2017)."""

    def __init__(self, size, width, longest=64):
        super().__init__()
        self.table = nn.Embedding(size, width)
        place, feature = (torch.arange(0, n, s, dtype=torch.float64) for n, s in ((longest, 1), (width, 2)))
        angle = place.unsqueeze(1) * torch.exp(feature * (-math.log(1e4) / width))
        self.register_buffer("places", torch.stack([angle.sin(), angle.cos()], 2).flatten(1), persistent=False)

    def forward(self, x):
        return self.table(x) + self.places[: x.size(1)]


class Encoder(nn.Module):
    def __init__(self, input_size, num_layers, num_heads, hidden_size):
        super().__init__()
        self.input = PositionalEmbedding(input_size, hidden_size)
        layer = nn.TransformerEncoderLayer(hidden_size, num_heads, 2 * hidden_size, 0.0, "gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers)

    def forward(self, src):
        return self.layers(self.input(src))


class Decoder(nn.Module):
    def __init__(self, output_size, num_layers, num_heads, hidden_size):
        super().__init__()
        self.input = PositionalEmbedding(output_size, hidden_size)
        layer = nn.TransformerDecoderLayer(hidden_size, num_heads, 2 * hidden_size, 0.0, "gelu", batch_first=True)
        self.layers = nn.TransformerDecoder(layer, num_layers)
        self.output = nn.Linear(hidden_size, output_size)

    def forward(self, tgt, memory):
        later = nn.Transformer.generate_square_subsequent_mask(tgt.size(1), device=tgt.device, dtype=memory.dtype)
        return self.output(self.layers(self.input(tgt), memory, tgt_mask=later, tgt_is_causal=True))


def train(setting: Setting) -> list[float]:
    """Returns the losses of the next mark, given the previous ones (0 begins a sequence)."""
    marks = np.random.RandomState(0).randint(1, 12, (32, 8))
    src, backwards = setting.whole(marks), marks[:, ::-1]
    tgt = setting.whole(np.concatenate([np.zeros((32, 1), int), backwards[:, :-1]], 1))
    wanted = setting.whole(backwards.copy())
    model = setting.model(Transformer(12, 12, 2, 4, 32))
    optimizer = optim.Adam(model.parameters(), lr=0.003)

    def loss_of(_: int):
        return nn.functional.cross_entropy(model(src, tgt).flatten(0, 1), wanted.flatten())

    return descend(setting, optimizer, loss_of)


if __name__ == "__main__":
    run(train, 100, 0.6)
