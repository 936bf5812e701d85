"""Keras 3 on Cuprous: the installed Keras, its examples, and what training programs use of it.

The program in `programs` imports `keras`; Keras 3.15 with PyTorch 2.11 wrote its results into the JSON file beside it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch
from cuprous.runner import _keras
from tests.conftest import DEVICE
from tests.runner.programs import run, start, write

if importlib.util.find_spec("keras") is None:
    pytest.skip("keras is not installed (requirements-clients.txt)", allow_module_level=True)
# Keras looks for a GPU when it is imported, which is before a simulated one starts.
os.environ.setdefault("KERAS_TORCH_DEVICE", DEVICE)

import cuprous.keras as keras

PROGRAMS = Path(__file__).with_name("programs")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(128, 6)).astype("float32")
Y = (X.sum(1, keepdims=True) > 0).astype("float32")


def network(rate: float = 0.0) -> Any:
    """Returns a classifier; each call returns the same weights."""
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(16, activation="relu"), keras.layers.Dropout(rate)]
    return keras.Sequential([keras.Input((6,)), *layers, keras.layers.Dense(1, activation="sigmoid")])


def compiled(optimizer: str = "adam", rate: float = 0.0, **options: Any) -> Any:
    """Returns a compiled classifier."""
    model = network(rate)
    model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"], **options)
    return model


def losses(model: Any, *data: Any, epochs: int = 2, **options: Any) -> list[float]:
    """Trains a model and returns the losses."""
    found: list[float] = model.fit(*(data or (X, Y)), epochs=epochs, verbose=0, **options).history["loss"]
    return found


def test_the_module_is_the_installed_keras(tmp_path: Path) -> None:
    code = (
        "import sys, os\n"
        "import cuprous.keras as keras\n"
        "from cuprous.keras.layers import Dense\n"
        "import keras as installed, keras.layers\n"
        "import cuprous, cuprous.keras.layers as layers\n"
        "assert cuprous.keras is keras is installed and layers is keras.layers and Dense is keras.layers.Dense\n"
        "print(keras.config.backend(), type(keras.ops.ones(2)).__module__, os.environ.get('KERAS_BACKEND'))\n"
        "print({'torch', 'tensorflow'} & {*sys.modules}, cuprous.bound())\n"
    )
    lines = start(tmp_path, "-c", code, KERAS_BACKEND="jax").stdout.splitlines()
    assert lines == [f"torch {torch.Tensor.__module__} jax", "set() ()"]


def test_a_missing_old_or_otherwise_used_keras_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "keras")
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ModuleNotFoundError, match=r"not installed: pip install 'cuprous\[keras\]'"):
            _keras.load()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "keras", SimpleNamespace(config=SimpleNamespace(backend=lambda: "jax")))
        patch.delitem(sys.modules, "keras.src.backend.torch.core")
        with pytest.raises(ImportError, match=r"before cuprous\.keras, with its backend 'jax'"):
            _keras.load()
    with monkeypatch.context() as patch:
        patch.setattr(importlib.metadata, "version", lambda name: "2.15.0")
        with pytest.raises(ImportError, match=r"needs Keras 3, and keras 2\.15\.0 is installed"):
            _keras._check_version()


@pytest.mark.slow
def test_examples_have_the_losses_of_pytorch(tmp_path: Path) -> None:
    done = run(tmp_path, "--quiet", str(PROGRAMS / "keras_models.py"))
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULTS "))
    ours = json.loads(line.removeprefix("RESULTS "))
    theirs = json.loads((PROGRAMS / "keras_models.json").read_text(encoding="utf-8"))
    assert ours.keys() == theirs.keys()
    for name, (first, *values) in theirs.items():
        assert ours[name] == pytest.approx([first, *values], 1e-4), name
        assert values[1] < first, name


@pytest.mark.slow
def test_programs_of_tensorflow_run_unchanged(tmp_path: Path) -> None:
    write(tmp_path, train="""
        import os
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import numpy as np
        import tensorflow as tf
        from tensorflow import keras
        from tensorflow.keras import layers
        from tensorflow.keras.layers import Dense
        import tensorflow.keras.backend as K
        import keras as keras_3
        import helper

        tf.random.set_seed(1)
        assert not tf.config.list_physical_devices("TPU") and K.image_data_format() == "channels_last"
        assert keras.layers.Dense is keras_3.layers.Dense is Dense is tf.keras.layers.Dense
        model = tf.keras.models.Sequential([tf.keras.layers.Input((4,)), Dense(8), layers.Dense(1)])
        model.compile(tf.keras.optimizers.SGD(0.05), "mse")
        x = np.ones((64, 4))
        first, *_, last = model.fit(x, x.sum(1, keepdims=True), epochs=5, verbose=0).history["loss"]
        print(keras.backend.backend(), last < first, helper.seen)
        try:
            import tensorflow.data
        except ModuleNotFoundError as error:
            print(error)
        print(hasattr(tf, "GradientTape"))
    """, helper="from tensorflow import keras\nseen = keras.__name__")  # fmt: skip
    lines = run(tmp_path, "--quiet", "train.py").stdout.splitlines()
    assert lines[0] == "torch True keras._tf_keras.keras"
    assert "of TensorFlow only keras is bound" in lines[1] and lines[2] == "False"


@pytest.mark.slow
def test_a_program_that_selects_another_backend_is_warned(tmp_path: Path) -> None:
    write(tmp_path, other="import os\nos.environ['KERAS_BACKEND'] = 'jax'\nimport keras\nprint(keras.config.backend())")
    done = run(tmp_path, "--quiet", "other.py")
    assert done.stdout == "torch\n" and "KERAS_BACKEND=jax is not used" in done.stderr


def test_models_are_saved_and_loaded(tmp_path: Path) -> None:
    model = compiled()
    losses(model)
    expected = model.predict(X, verbose=0)
    for name in ("model.keras", "model.h5"):
        model.save(tmp_path / name)
        assert np.array_equal(keras.saving.load_model(tmp_path / name).predict(X, verbose=0), expected)
    model.save_weights(tmp_path / "a.weights.h5")
    other = compiled()
    other.load_weights(tmp_path / "a.weights.h5")
    assert np.array_equal(other.predict(X, verbose=0), expected)
    again = keras.saving.load_model(tmp_path / "model.keras")  # the optimizer's state is part of it
    assert losses(again, shuffle=False) == losses(model, shuffle=False)


def test_callbacks(tmp_path: Path) -> None:
    callbacks = [
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, min_delta=10),
        keras.callbacks.ModelCheckpoint(tmp_path / "best.keras", save_best_only=True),
        keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1, min_delta=10),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"), keras.callbacks.TerminateOnNaN(),
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2),
    ]  # fmt: skip
    assert len(losses(compiled(), epochs=9, validation_split=0.25, callbacks=callbacks)) == 2
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 3
    assert keras.saving.load_model(tmp_path / "best.keras").predict(X, verbose=0).shape == (128, 1)


class Custom(keras.Model):
    """A model with a training step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()
        self.mean = keras.metrics.Mean(name="loss")

    def call(self, x: Any) -> Any:
        return self.inner(x)

    @property
    def metrics(self) -> list[Any]:
        return [self.mean]

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        self.zero_grad()
        loss = keras.ops.mean(keras.losses.binary_crossentropy(y, self(x, training=True)))
        loss.backward()
        weights = self.trainable_weights
        with torch.no_grad():
            self.optimizer.apply([weight.value.grad for weight in weights], weights)
        self.mean.update_state(loss)
        return {"loss": self.mean.result()}


def test_training_steps_of_ones_own_and_loops() -> None:
    model = Custom()
    model.compile("adam")
    usual = losses(compiled(), shuffle=False)
    assert losses(model, shuffle=False) == pytest.approx(usual, 1e-5)
    plain = network()  # a Keras model is a `Module`, whose parameters an optimizer of tensors takes
    step = torch.optim.Adam(plain.parameters(), lr=1e-3, eps=1e-7)
    found = []
    for _ in range(2):
        parts = []
        for k in range(0, len(X), 32):
            step.zero_grad()
            loss = keras.losses.BinaryCrossentropy()(Y[k : k + 32], plain(X[k : k + 32], training=True))
            loss.backward()
            step.step()
            parts.append(loss.item())
        found.append(float(np.mean(parts)))
    assert found == pytest.approx(usual, 1e-4)
    wrapped = keras.layers.TorchModuleWrapper(torch.nn.Linear(6, 2))
    assert wrapped(X).shape == (128, 2) and len(wrapped.trainable_weights) == 2


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(policy: str) -> None:
    full = losses(compiled(), shuffle=False)
    keras.mixed_precision.set_dtype_policy(policy)
    try:
        model = compiled()
        assert losses(model, shuffle=False) == pytest.approx(full, 0.02)
        assert (model.layers[0].compute_dtype, model.layers[0].kernel.dtype) == (policy[6:], "float32")
        assert ("LossScale" in type(model.optimizer).__name__) == (policy == "mixed_float16")
    finally:
        keras.mixed_precision.set_dtype_policy("float32")


def test_random_numbers_follow_their_seeds() -> None:
    draw = [keras.random.normal((3,), seed=7) for _ in range(2)]
    assert np.array_equal(*map(keras.ops.convert_to_numpy, draw))
    seeds = keras.random.SeedGenerator(3)
    one, two = (keras.ops.convert_to_numpy(keras.random.uniform((4,), seed=seeds)) for _ in range(2))
    assert not np.array_equal(one, two)
    assert losses(compiled(rate=0.3)) == losses(compiled(rate=0.3))


def test_compilation_is_accepted_and_changes_nothing() -> None:
    usual = losses(compiled("sgd"))
    assert losses(compiled("sgd", jit_compile=True)) == usual
    assert losses(compiled("sgd", run_eagerly=True)) == usual


class Batches(keras.utils.PyDataset):
    """Batches in order."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return X[32 * index : 32 * index + 32], Y[32 * index : 32 * index + 32]


def test_data_of_several_kinds() -> None:
    usual = losses(compiled(), shuffle=False)
    tensors = torch.as_tensor(X), torch.as_tensor(Y)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*tensors), batch_size=32)
    arrays = cp.asarray(X), cp.asarray(Y)
    for data in (tensors, (loader,), (Batches(),), (Batches(workers=1),), arrays):
        assert losses(compiled(), *data, shuffle=False) == pytest.approx(usual, 1e-6)
    model = compiled()
    assert model.predict_on_batch(X[:2]).shape == (2, 1) and model.train_on_batch(X, Y)[0] > 0
    assert model.evaluate(X, Y, verbose=0) == pytest.approx(model.test_on_batch(X, Y), 1e-5)


def test_devices() -> None:
    with keras.device("cpu:0"):
        assert keras.ops.ones(2).device.type == "cpu"
    if DEVICE == "cuda":
        with keras.device("gpu:0"):
            assert keras.ops.ones(2).device == torch.device("cuda:0")
    elif not torch.cuda.is_available():
        with keras.device("gpu:0"), pytest.raises(RuntimeError, match="no NVIDIA device"):
            keras.ops.ones(2)
    assert network().layers[0].kernel.value.device.type == DEVICE
