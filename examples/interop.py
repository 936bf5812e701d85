"""Data exchange with NumPy, with DLPack and, if PyTorch is installed, with its tensors."""

import numpy as np

import cuprous as cp


def with_numpy() -> None:
    """Explicit copies, and NumPy's conversion, which shares memory on the CPU and copies on a GPU."""
    host = np.linspace(0.0, 1.0, 5)
    array = cp.asarray(host)
    np.testing.assert_array_equal(cp.asnumpy(array * 2), host * 2)
    np.testing.assert_array_equal((array * 2).get(), host * 2)
    np.testing.assert_array_equal(np.asarray(array), host)
    with cp.set_transfers("refuse"):
        try:
            np.asarray(array)
        except TypeError as error:
            print(f"refused: {error}")
    assert isinstance(np.sum(array), cp.ndarray)  # NumPy's functions work on Cuprous arrays and stay on the device
    print("numpy: copied in and out, np.sum stays on the device")


def with_dlpack() -> None:
    """Shared memory: a write to one array is visible in the other."""
    array = cp.arange(6, dtype=cp.float32).reshape(2, 3)
    twin = cp.from_dlpack(array)
    twin[0, 0] = 100.0
    assert float(array[0, 0]) == 100.0
    print("dlpack: one memory, two arrays")


def with_torch() -> None:
    """The same with a PyTorch tensor."""
    try:
        import torch
    except ImportError:
        print("torch: not installed")
        return
    array = cp.arange(4, dtype=cp.float32)
    tensor = torch.from_dlpack(array)
    tensor.mul_(10)
    assert cp.asnumpy(array).tolist() == [0.0, 10.0, 20.0, 30.0]
    print(f"torch: a tensor on {tensor.device}, one memory")


if __name__ == "__main__":
    with_numpy()
    with_dlpack()
    with_torch()
