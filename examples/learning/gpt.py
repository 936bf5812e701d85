"""A small GPT that learns a counting rhyme character by character and then continues it."""

import numpy as np
from common import Setting, descend, nn, optim, run, torch

F = nn.functional
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
TEXT = " ".join(f"{w} little bird{'s' if k else ''}," for k, w in enumerate(WORDS * 8))


class Block(nn.Module):
    """Causal self-attention and a network of two layers, each with normalization before it and a residual
    connection."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            for part in self.c_attn(self.ln_1(x)).split(c, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """Token and position embeddings, blocks, and logits of the next token; the output shares the token embeddings."""

    def __init__(self, tokens, length, width=48, heads=4, layers=2):
        super().__init__()
        self.length = length
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, tokens, bias=False)
        self.apply(self._start)
        self.lm_head.weight = self.wte.weight

    def _start(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.05)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))

    @torch.no_grad()
    def generate(self, tokens, count, temperature=0.5):
        for _ in range(count):
            logits = self(tokens[:, -self.length :])[:, -1] / temperature
            tokens = torch.cat((tokens, torch.multinomial(F.softmax(logits, dim=-1), 1)), 1)
        return tokens


def train(setting: Setting) -> list[float]:
    """Returns the losses of batches of 16 parts of the text."""
    letters = sorted(set(TEXT))
    numbers = np.array([letters.index(c) for c in TEXT])
    length = 32
    at = np.random.RandomState(0).randint(0, len(numbers) - length - 1, (setting.steps, 16))
    pieces = setting.whole(numbers[at[..., None] + np.arange(length + 1)])
    model = setting.model(GPT(len(letters), length))
    optimizer = optim.AdamW(model.parameters(), lr=0.003, betas=(0.9, 0.95), weight_decay=0.1)

    def loss_of(step: int):
        batch = pieces[step]
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        return loss

    losses = descend(setting, optimizer, loss_of)
    if setting.prepare is None:
        start = setting.whole([[letters.index(c) for c in "three little"]])
        print("".join(letters[k] for k in model.generate(start, 40)[0].tolist()))
    return losses


if __name__ == "__main__":
    run(train, 150, 0.3)
