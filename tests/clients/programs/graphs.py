"""Graph networks of torch_geometric, and a variational autoencoder: prints losses as JSON.

`python tests/clients/programs/graphs.py` where PyTorch is installed prints what graphs.json has. Data, first weights
and noise are NumPy's random numbers, so no library's generator plays a part.
"""

import json
import warnings
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric.nn as G
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import GCNNorm, ToUndirected
from torch_geometric.utils import add_self_loops, degree, to_dense_adj, to_undirected

warnings.simplefilter("ignore")


def numbers(seed, *shape):
    """Returns the same random numbers in every library."""
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape).astype("float32"))


def filled(model):
    """Gives parameters random numbers, in their order."""
    with torch.no_grad():
        for seed, parameter in enumerate(model.parameters()):
            parameter.copy_(numbers(seed, *parameter.shape) * 0.3)
    return model


def graph(seed=0, nodes=40, edges=120):
    """Returns a random graph whose nodes have features and one of three classes."""
    ends = torch.from_numpy(np.random.RandomState(seed).randint(0, nodes, (2, edges)))
    x = numbers(seed + 1, nodes, 8)
    return Data(x=x, edge_index=to_undirected(ends), y=x[:, :3].argmax(1))


class Network(torch.nn.Module):
    """Two layers of message passing."""

    def __init__(self, layer, **options):
        super().__init__()
        self.first = layer(8, 16, **options)
        self.second = layer(16, 3, **options)

    def forward(self, data):
        hidden = F.elu(self.first(data.x, data.edge_index))
        return F.log_softmax(self.second(hidden, data.edge_index), dim=1)


LAYERS = {
    "GCNConv": {}, "SAGEConv": {}, "GATConv": {}, "GATv2Conv": {}, "GraphConv": {}, "TAGConv": {}, "ChebConv": {"K": 2},
    "TransformerConv": {}, "ARMAConv": {}, "SGConv": {"K": 2}, "ClusterGCNConv": {}, "LEConv": {}, "FeaStConv": {},
}  # fmt: skip


def layers():
    """Ten steps of Adam with each layer."""
    data, found = graph(), {}
    for name, options in LAYERS.items():
        model = filled(Network(getattr(G, name), **options))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = F.nll_loss(model(data)[:30], data.y[:30])
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        found[name] = losses
    return found


def batches():
    """Classification of whole graphs in batches, with three kinds of pooling."""
    graphs = [graph(seed, 6 + seed, 12) for seed in range(8)]
    for item in graphs:
        item.y = item.y[:1]
    found = {}
    for name in ("global_mean_pool", "global_add_pool", "global_max_pool"):
        conv, head = filled(G.GINConv(torch.nn.Linear(8, 16))), filled(torch.nn.Linear(16, 3))
        optimizer = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.05)
        for _ in range(3):
            for data in DataLoader(graphs, batch_size=4):
                optimizer.zero_grad()
                hidden = conv(data.x, data.edge_index).relu()
                loss = F.cross_entropy(head(getattr(G, name)(hidden, data.batch)), data.y)
                loss.backward()
                optimizer.step()
        found[name] = float(loss)
    return found


def utilities():
    """Functions and transforms of graphs."""
    data = graph(3, 10, 15)
    joined = Batch.from_data_list([data, graph(4, 5, 6)])
    normal = GCNNorm()(data.clone())
    adjacency = torch.sparse_coo_tensor(data.edge_index, torch.ones(data.num_edges), (10, 10))
    return {
        "degree": degree(data.edge_index[0], 10).tolist(),
        "loops": add_self_loops(data.edge_index, num_nodes=10)[0].sum(1).tolist(),
        "dense": to_dense_adj(data.edge_index).sum(1)[0].tolist(),
        "graphs": joined.num_graphs,
        "starts": joined.ptr.tolist(),
        "second": joined[1].edge_index.flatten().tolist(),
        "norm": float(normal.edge_weight.sum()),
        "undirected": ToUndirected()(data.clone()).is_undirected(),
        "sparse": float((adjacency @ data.x).sum()),
    }


class Autoencoder(torch.nn.Module):
    """A convolutional variational autoencoder."""

    def __init__(self, latent=4):
        super().__init__()
        widths, blocks = [1, 8, 16], []
        for before, after in pairwise(widths):
            blocks.append(torch.nn.Sequential(
                torch.nn.Conv2d(before, after, 3, stride=2, padding=1), torch.nn.BatchNorm2d(after),
                torch.nn.LeakyReLU()))  # fmt: skip
        self.encoder = torch.nn.Sequential(*blocks)
        self.mean, self.log_variance = torch.nn.Linear(16 * 16, latent), torch.nn.Linear(16 * 16, latent)
        self.start = torch.nn.Linear(latent, 16 * 16)
        self.decoder = torch.nn.Sequential(
            torch.nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1), torch.nn.BatchNorm2d(8),
            torch.nn.LeakyReLU(), torch.nn.ConvTranspose2d(8, 1, 3, stride=2, padding=1, output_padding=1),
            torch.nn.Tanh())  # fmt: skip

    def forward(self, x, noise):
        hidden = torch.flatten(self.encoder(x), start_dim=1)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        latent = noise * torch.exp(0.5 * log_variance) + mean
        return self.decoder(self.start(latent).view(-1, 16, 4, 4)), mean, log_variance


def autoencoder():
    """Fifteen steps of a variational autoencoder."""
    model, losses = filled(Autoencoder()), []
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    for step in range(15):
        x = numbers(step % 4, 16, 1, 16, 16).tanh()
        output, mean, log_variance = model(x, numbers(100 + step, 16, 4))
        divergence = torch.mean(-0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp(), dim=1), dim=0)
        loss = F.mse_loss(output, x) + 0.00025 * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
    return losses


if __name__ == "__main__":
    parts = (layers, batches, utilities, autoencoder)
    print("RESULTS", json.dumps({part.__name__: part() for part in parts}))
