"""What computes the results: the engine, the threads of the CPU, and the CUDA device."""

from __future__ import annotations

from cuprous import __version__
from cuprous.torch import version
from cuprous.torch._settings import get_num_threads


def show() -> str:
    """Returns a description of what computes. PyTorch describes how it was compiled.

    Returns
    -------
    str
        A text of several lines, with settings in PyTorch's form such as `USE_MKL=OFF`.

    See Also
    --------
    torch.__config__.parallel_info

    Examples
    --------
    >>> "USE_CUDA=ON" in torch.__config__.show()
    True
    """
    return (
        f"Cuprous {__version__} with the API of PyTorch {version.__version__.partition('+')[0]}\n"
        f"  - CUDA {version.cuda}\n"
        "  - Build settings: USE_CUDA=ON, USE_CUDNN=OFF, USE_MKL=OFF, USE_MKLDNN=OFF, USE_OPENMP=OFF\n"
    )


def parallel_info() -> str:
    """Returns a description of how operations use the processor's cores.

    Returns
    -------
    str
        A text of several lines.

    See Also
    --------
    torch.__config__.show, torch.get_num_threads

    Examples
    --------
    >>> "get_num_threads" in torch.__config__.parallel_info()
    True
    """
    return f"Cuprous parallel info:\n\ttorch.get_num_threads() : {get_num_threads()}\n\tthreads of the engine : Rayon\n"


__all__ = ["parallel_info", "show"]
