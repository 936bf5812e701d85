"""Adaptive softmax, in which rare classes form clusters with fewer features (Grave et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _extremes, _indexing, _joining, _reductions, _shape
from cuprous.torch._softmax import log_softmax
from cuprous.torch.nn.modules.container import ModuleList, Sequential
from cuprous.torch.nn.modules.linear import Linear
from cuprous.torch.nn.modules.module import Module


#: The layer's result: the log-probability of each target, and their negative mean.
class ASMoutput(NamedTuple):
    """The output of `AdaptiveLogSoftmaxWithLoss`."""

    output: Tensor
    loss: Tensor


_map = _core.t_map


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-softmax over many classes that are sorted from frequent to rare.

    In the head, each class below the first cutoff has a logit, and each cluster of the other classes has one. Cluster k
    projects the input to `in_features / div_value**(k + 1)` features. All log-probabilities are computed, without
    branches that depend on the targets.

    Parameters
    ----------
    in_features : int
        The number of features.
    n_classes : int
        The number of classes.
    cutoffs : sequence of ints
        The first class of each cluster, increasing.
    div_value : float, default 4.0
        The ratio of the features of successive clusters.
    head_bias : bool, default False
        Whether the head has a bias.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input_
        (N, in_features) or (in_features).
    target_
        int64 classes, (N) or ().
    result
        The named tuple `(output, loss)`: the log-probability of each target, and their negative mean.

    Raises
    ------
    ValueError
        For cutoffs that do not increase.

    See Also
    --------
    torch.nn.CrossEntropyLoss

    Examples
    --------
    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 6, cutoffs=[2, 4])
    >>> layer(torch.ones(3, 16), torch.tensor([0, 3, 5])).output.shape
    torch.Size([3])
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        marks = list(cutoffs)
        if not marks or marks != sorted(set(marks)) or marks[0] <= 0 or marks[-1] > n_classes - 1:
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                             f"where each value is between 1 and n_classes-1, not {marks}")  # fmt: skip
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*marks, n_classes]
        self.div_value, self.head_bias, self.shortlist_size = div_value, head_bias, marks[0]
        self.n_clusters = len(marks)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **options)
        self.tail = ModuleList()
        for k, (low, high) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (k + 1))
            self.tail.append(Sequential(Linear(in_features, width, False, **options),
                                        Linear(width, high - low, False, **options)))  # fmt: skip

    def reset_parameters(self) -> None:
        """Initializes the parameters at random.

        Examples
        --------
        >>> nn.AdaptiveLogSoftmaxWithLoss(16, 6, cutoffs=[2, 4]).reset_parameters()
        """
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """Returns the log-probability of each target, and their negative mean.

        Raises
        ------
        RuntimeError
            If the shapes of inputs (N, in_features) or (in_features,) and targets do not match.
        """
        if target_.dims != input_.dims[:-1]:
            raise RuntimeError(f"Input and target should have the same size in the batch dimension: input "
                               f"{list(input_.dims)}, target {list(target_.dims)}")  # fmt: skip
        logs = self.log_prob(input_ if input_.ndim == 2 else input_.unsqueeze(0))
        found = _indexing.gather(logs, 1, target_.reshape(-1, 1)).reshape(target_.dims)
        return ASMoutput(found, _map("negative", _reductions.mean(found)))

    def log_prob(self, input: Tensor) -> Tensor:
        """Returns the log-probabilities of all classes.

        Parameters
        ----------
        input : Tensor
            A tensor of shape (N, in_features).

        Returns
        -------
        Tensor
            A tensor of shape (N, n_classes).

        Examples
        --------
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 6, cutoffs=[2, 4])
        >>> layer.log_prob(torch.ones(3, 16)).shape
        torch.Size([3, 6])
        """
        head = log_softmax(self.head(input), 1)
        parts = [_shape.narrow(head, 1, 0, self.shortlist_size)]
        for k, cluster in enumerate(self.tail):
            own = _shape.narrow(head, 1, self.shortlist_size + k, 1)
            parts.append(_map("add", log_softmax(cluster(input), 1), own))
        return _joining.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Returns the most probable classes.

        Parameters
        ----------
        input : Tensor
            A tensor of shape (N, in_features).

        Returns
        -------
        Tensor
            An int64 tensor of shape (N).

        Examples
        --------
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 6, cutoffs=[2, 4])
        >>> layer.predict(torch.ones(3, 16)).shape
        torch.Size([3])
        """
        return _extremes.argmax(self.log_prob(input), 1)


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
