"""Searches the best learning rate and width of a network: `python examples/cluster/search.py --engine dask`.

Trials are independent, so they are only spread over workers: one for each GPU, or for each core.
"""

import argparse
import itertools

RATES, WIDTHS = (0.003, 0.01, 0.03, 0.1), (8, 32)


def trial(rate: float, width: int, steps: int) -> tuple[float, float, int]:
    """Returns the loss of a network on data that it was not trained with, and the parameters of the trial."""
    import cuprous.torch as torch

    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 200).reshape(-1, 1)
    y = torch.sin(2 * x) + 0.1 * torch.randn(200, 1)
    train, test = slice(0, None, 2), slice(1, None, 2)
    net = torch.nn.Sequential(torch.nn.Linear(1, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x[train]), y[train]).backward()
        optimizer.step()
    with torch.no_grad():
        return torch.nn.functional.mse_loss(net(x[test]), y[test]).item(), rate, width


def by_dask(trials: list[tuple[float, int, int]], workers: int | None) -> list[tuple[float, float, int]]:
    """Runs the trials on the workers of a Dask cluster."""
    from distributed import Client

    from cuprous.dask import LocalCluster

    with LocalCluster(workers) as cluster, Client(cluster) as client:
        return client.gather(client.map(lambda given: trial(*given), trials))


def by_ray(trials: list[tuple[float, int, int]], workers: int | None) -> list[tuple[float, float, int]]:
    """Runs the trials as tasks of Ray, which gives each a GPU where there are some."""
    import ray

    ray.init(num_cpus=workers, include_dashboard=False)
    try:
        gpus = int(ray.cluster_resources().get("GPU", 0))
        remote = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0)(trial)
        return ray.get([remote.remote(*given) for given in trials])
    finally:
        ray.shutdown()


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--engine", choices=["dask", "ray"], default="dask")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    trials = [(rate, width, options.steps) for rate, width in itertools.product(RATES, WIDTHS)]
    results = sorted({"dask": by_dask, "ray": by_ray}[options.engine](trials, options.workers))
    for loss, rate, width in results:
        print(f"loss {loss:.4f}  learning rate {rate:5.3f}  width {width}")


if __name__ == "__main__":
    main()
