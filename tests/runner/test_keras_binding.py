"""How `keras` and `tensorflow` are bound, with a package that stands for Keras; tests/clients has the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.programs import run, start, write

pytestmark = pytest.mark.slow

#: As Keras does, it selects its backend when it is imported, and imports `torch` at the top and in functions.
KERAS = {
    "keras/__init__": """
        import os
        from keras.src.backend.torch import core
        from keras import config, layers
        chosen = os.environ["KERAS_BACKEND"]
    """,
    "keras/config": "def backend(): return 'torch'",
    "keras/layers": "class Dense: pass",
    "keras/src/__init__": "",
    "keras/src/backend/__init__": "",
    "keras/src/backend/torch/__init__": "",
    "keras/src/backend/torch/core": """
        import torch
        import torch.nn.functional as F
        from torch.utils import data

        def later():
            import torch._dynamo as dynamo
            from torch import nn
            return torch.__name__, F.__name__, data.__name__, dynamo.__name__, nn.__name__
    """,
    "keras/_tf_keras/__init__": "",
    "keras/_tf_keras/keras/__init__": "from keras._tf_keras.keras import layers",
    "keras/_tf_keras/keras/layers": "from keras.layers import Dense",
}
NAMES = ["", ".nn.functional", ".utils.data", "._dynamo", ".nn"]


def install(folder: Path, version: str = "3.15.1") -> None:
    """Writes the package."""
    write(folder, KERAS)
    metadata = folder / f"keras-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: keras\nVersion: {version}\n")


def test_modules_of_keras_alone_see_cuprous_for_torch(tmp_path: Path) -> None:
    install(tmp_path)
    code = (
        "import sys, cuprous.keras as keras, keras as same\n"
        "import cuprous.keras.layers as layers\n"
        "assert keras is same and layers is keras.layers\n"
        "print(keras.chosen, *keras.src.backend.torch.core.later())\n"
        "try: import torch\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    write(tmp_path, {"nothing/torch": "raise ModuleNotFoundError('the real one')"})
    lines = start(tmp_path, "-c", code, path=f"{tmp_path}:{tmp_path}/nothing").stdout.splitlines()
    assert lines == [" ".join(["torch", *(f"cuprous.torch{name}" for name in NAMES)]), "the real one"]


def test_programs_import_keras_and_tensorflow(tmp_path: Path) -> None:
    install(tmp_path / "site")
    write(tmp_path / "site", lib="try:\n    import tensorflow\nexcept ModuleNotFoundError:\n    seen = 'not bound'")
    write(tmp_path, program="""
        import keras, lib
        import tensorflow as tf
        import tensorflow.keras.layers as layers
        import tensorflow.keras
        from tensorflow.keras.layers import Dense
        print(keras.chosen, keras.src.backend.torch.core.later()[0], lib.seen)
        print(Dense is layers.Dense is tf.keras.layers.Dense is tensorflow.keras.layers.Dense is keras.layers.Dense)
        print(tf.__name__, tf.config.list_physical_devices("CPU"))
        import importlib
        print(importlib.import_module("tensorflow.keras").__name__)
        for name in ("tensorflow.data", "tensorflow.kerasy"):
            try: importlib.import_module(name)
            except ModuleNotFoundError as error: print(error.name, "only keras is bound" in str(error))
        try: tf.constant
        except AttributeError as error: print("only keras is bound" in str(error))
    """)  # fmt: skip
    (tmp_path / "site").rename(tmp_path / "site-packages")
    site = str(tmp_path / "site-packages")
    assert run(tmp_path, "--quiet", "program.py", path=site).stdout.splitlines() == [
        "torch cuprous.torch not bound", "True", "cuprous.runner.tensorflow_package "
        "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]", "keras._tf_keras.keras",
        "tensorflow.data True", "tensorflow.kerasy True", "True",
    ]  # fmt: skip
    kept = run(tmp_path, "--quiet", "--keep", "tensorflow,keras", "program.py", path=site, code=1)
    assert "KeyError: 'KERAS_BACKEND'" in kept.stderr


def test_another_backend_is_reported_and_unbinding_gives_it_back(tmp_path: Path) -> None:
    install(tmp_path)
    code = (
        "import os, warnings, cuprous\n"
        "os.environ['KERAS_BACKEND'] = 'jax'\n"
        "cuprous.bind('keras', quiet=True)\n"
        "with warnings.catch_warnings(record=True) as found:\n"
        "    import keras\n"
        "print(found[0].message, '|', keras.chosen, os.environ['KERAS_BACKEND'], *cuprous.bound())\n"
        "cuprous.unbind()\n"
        "import sys\n"
        "print('keras' in sys.modules, cuprous.bound())\n"
    )
    lines = start(tmp_path, "-c", code, path=str(tmp_path)).stdout.splitlines()
    assert lines == ["KERAS_BACKEND=jax is not used: Keras runs on Cuprous | torch jax keras", "False ()"]


def test_old_and_missing_versions_are_errors(tmp_path: Path) -> None:
    install(tmp_path / "old", "2.15.0")
    failed = start(tmp_path, "-c", "import cuprous.keras", path=str(tmp_path / "old"), code=1)
    assert "cuprous.keras needs Keras 3, and keras 2.15.0 is installed" in failed.stderr
    write(tmp_path, program="import tensorflow as tf\nfrom tensorflow import keras\ntf.data.Dataset\nkeras.Model\n")
    hidden = (
        "import sys\nsys.modules['keras'] = None\nimport cuprous.cli as c\nsys.exit(c.main(['doctor', 'program.py']))"
    )
    found = start(tmp_path, "-c", hidden, code=1).stdout
    assert "program.py:3  tensorflow.data" in found
