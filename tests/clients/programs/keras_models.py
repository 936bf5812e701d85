"""Examples of Keras, on synthetic data of the same shapes: a convnet, a text classifier, an autoencoder, a forecast.

Weights are set from NumPy's generator, so that any backend computes the same losses. Prints them as a line of JSON.
"""

from __future__ import annotations

import json
from typing import Any

import keras
import numpy as np
from keras import layers, ops


def convnet() -> tuple[Any, Any, Any, str]:
    """A simple convnet for images of 28 x 28 pixels (mnist_convnet)."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 10, 256)
    x = rng.uniform(0, 0.3, (256, 28, 28, 1))
    for image, label in zip(x, y, strict=True):
        image[2 * label : 2 * label + 6, 4:20] += 0.7
    model = keras.Sequential([
        keras.Input(shape=(28, 28, 1)), layers.Conv2D(16, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)), layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)), layers.Flatten(), layers.Dropout(0.0),
        layers.Dense(10, activation="softmax"),
    ])  # fmt: skip
    return model, x.astype("float32"), keras.utils.to_categorical(y, 10), "categorical_crossentropy"


class TransformerBlock(layers.Layer):
    """A block of an encoder (text_classification_with_transformer)."""

    def __init__(self, embed_dim: int, num_heads: int, ff_dim: int) -> None:
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1, self.layernorm2 = (layers.LayerNormalization(epsilon=1e-6) for _ in range(2))

    def call(self, inputs: Any) -> Any:
        out1 = self.layernorm1(inputs + self.att(inputs, inputs))
        return self.layernorm2(out1 + self.ffn(out1))


class TokenAndPositionEmbedding(layers.Layer):
    """Embeddings of tokens and of their positions."""

    def __init__(self, maxlen: int, vocab_size: int, embed_dim: int) -> None:
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x: Any) -> Any:
        return self.token_emb(x) + self.pos_emb(ops.arange(0, ops.shape(x)[-1], 1))


def text() -> tuple[Any, Any, Any, str]:
    """A classifier of sequences of tokens by a transformer block."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 200, (192, 40))
    inputs = layers.Input(shape=(40,))
    x_ = TransformerBlock(16, 2, 32)(TokenAndPositionEmbedding(40, 200, 16)(inputs))
    x_ = layers.Dense(20, activation="relu")(layers.GlobalAveragePooling1D()(x_))
    return (
        keras.Model(inputs, layers.Dense(2, activation="softmax")(x_)),
        x,
        (x < 60).sum(1) > 12,
        "sparse_categorical_crossentropy",
    )


def autoencoder() -> tuple[Any, Any, Any, str]:
    """A convolutional autoencoder of images."""
    rng = np.random.default_rng(3)
    x = (rng.uniform(0, 1, (64, 1, 28, 1)) * rng.uniform(0, 1, (64, 28, 1, 1))).astype("float32")
    inputs = layers.Input(shape=(28, 28, 1))
    y = inputs
    for _ in range(2):
        y = layers.MaxPooling2D((2, 2), padding="same")(layers.Conv2D(16, (3, 3), activation="relu", padding="same")(y))
    for _ in range(2):
        y = layers.Conv2DTranspose(16, (3, 3), strides=2, activation="relu", padding="same")(y)
    y = layers.Conv2D(1, (3, 3), activation="sigmoid", padding="same")(layers.BatchNormalization()(y))
    return keras.Model(inputs, y), x, x, "binary_crossentropy"


def forecast() -> tuple[Any, Any, Any, str]:
    """A forecast of a series by recurrent layers (timeseries_weather_forecasting)."""
    t = np.arange(400)
    series = np.stack([np.sin(t / 9), np.cos(t / 23)], -1) + np.random.default_rng(4).normal(0, 0.05, (400, 2))
    x = np.stack([series[k : k + 24] for k in range(360)]).astype("float32")
    inputs = layers.Input(shape=(24, 2))
    y = layers.LSTM(16, return_sequences=True)(inputs)
    y = layers.Bidirectional(layers.GRU(8))(y)
    return keras.Model(inputs, layers.Dense(1)(y)), x, series[30:390, :1].astype("float32"), "mse"


def losses(make: Any, optimizer: str) -> list[float]:
    """Returns the losses of three epochs, and the loss of `evaluate`."""
    keras.utils.set_random_seed(0)
    model, x, y, loss = make()
    model(ops.convert_to_tensor(x[:1]))
    rng = np.random.default_rng(0)
    given = model.get_weights()
    for k, weight in enumerate(given):
        if weight.ndim > 1:
            spread = (2 / sum(weight.shape[-2:]) / weight[..., 0, 0].size) ** 0.5
            given[k] = rng.normal(0, spread, weight.shape)
    model.set_weights(given)
    model.compile(loss=loss, optimizer=optimizer, metrics=["accuracy"])
    history = model.fit(x, y, batch_size=32, epochs=3, shuffle=False, verbose=0)
    return [
        *history.history["loss"],
        model.evaluate(x, y, verbose=0)[0],
        float((model.predict(x, verbose=0) ** 2).sum()),
    ]


def main() -> None:
    """Prints the losses."""
    found = {
        "convnet": losses(convnet, "adam"), "text": losses(text, "rmsprop"), "autoencoder": losses(autoencoder, "adam"),
        "forecast": losses(forecast, "nadam"),
    }  # fmt: skip
    print("RESULTS", json.dumps(found))


if __name__ == "__main__":
    main()
