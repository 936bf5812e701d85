"""Keras 3 on Cuprous: `import cuprous.keras as keras`.

The module is the installed Keras itself (`pip install 'cuprous[keras]'`), whose backend for PyTorch computes with
`cuprous.torch`. PyTorch and TensorFlow are neither needed nor imported. A program that says `import keras` or
`from tensorflow import keras` runs unchanged with `cuprous run program.py`.

Raises
------
ModuleNotFoundError
    If Keras is not installed.
ImportError
    If it is older than Keras 3, or was imported before with another backend.

Examples
--------
>>> import cuprous.keras as keras
>>> keras.layers.Dense(2)(keras.ops.ones((1, 3))).shape
torch.Size([1, 2])
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cuprous.runner._keras import load

if TYPE_CHECKING:
    from keras import *  # noqa: F403

sys.modules[__name__] = load()
