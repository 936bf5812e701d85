"""What is done with all gradients or parameters at once, sequences of different lengths, parametrised weights."""

from cuprous.torch.nn.utils import rnn
from cuprous.torch.nn.utils._gradients import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)  # fmt: skip

#: The names that old programs use.
clip_grad_norm, clip_grad_value = clip_grad_norm_, clip_grad_value_

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector", "rnn",
    "vector_to_parameters",
]  # fmt: skip
