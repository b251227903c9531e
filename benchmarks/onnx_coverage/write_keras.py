"""Write ONNX models of Keras as tf2onnx, Keras' own export and PyTorch's exporter write them, with what they return.

Run in an environment of its own, which needs nothing of benchmarker, once for each backend of Keras::

    uv venv layers && uv pip install --python layers keras tensorflow tf2onnx torch onnx onnxscript
    KERAS_BACKEND=tensorflow layers/bin/python write_keras.py FOLDER [--only PART]
    KERAS_BACKEND=torch layers/bin/python write_keras.py FOLDER [--only PART]

Each model comes as ``keras_NAME@EXPORTER-OPSET.onnx`` with inputs and outputs beside it, as those of
``write_models.py``.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np

layers, applications = keras.layers, keras.applications
BACKEND = keras.backend.backend()
EXPORTS = {
    "tensorflow": ("tf2onnx-15", "tf2onnx-18"),
    "torch": ("keras_torch-18", "torch_dynamo-18", "torch_torchscript-17"),
}
SIZE = 64


def image() -> Any:
    """Return the input of models over images."""
    return keras.Input((SIZE, SIZE, 3))


def sequence() -> Any:
    """Return the input of models over sequences of features."""
    return keras.Input((12, 8))


def _recurrent(layer: Any, *more: Any) -> Any:
    x = sequence()
    y = layer(x)
    for further in more:
        y = further(y)
    return keras.Model(x, layers.Dense(5, activation="softmax")(y))


def _transformer() -> Any:
    x = keras.Input((12,), dtype="int32")
    y = layers.Embedding(97, 16)(x)
    attended = layers.MultiHeadAttention(4, 4)(y, y, use_causal_mask=True)
    y = layers.LayerNormalization()(y + attended)
    y = layers.LayerNormalization()(y + layers.Dense(16)(layers.Dense(32, activation="gelu")(y)))
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling1D()(y)))


def _convolutional() -> Any:
    x = image()
    y = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    y = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(y))
    y = layers.SeparableConv2D(12, 3, activation="swish")(layers.MaxPooling2D()(y))
    y = layers.SpatialDropout2D(0.2)(layers.AveragePooling2D(2, padding="same")(y))
    return keras.Model(x, layers.Dense(5, activation="softmax")(layers.Flatten()(y)))


def _unet() -> Any:
    x = image()
    first = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    below = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.MaxPooling2D()(first))
    above = layers.Conv2DTranspose(8, 2, strides=2)(below)
    wide = layers.UpSampling2D(2, interpolation="bilinear")(below)
    y = layers.Concatenate()([first, above, wide])
    return keras.Model(x, layers.Conv2D(1, 1, activation="sigmoid")(y))


def _plain() -> Any:
    x = keras.Input((20,))
    y = layers.Dense(16, activation="selu")(x)
    for kind in ("elu", "softplus", "softsign", "mish", "hard_sigmoid", "leaky_relu", "relu6", "silu"):
        y = layers.Dense(12, activation=kind)(y)
    y = layers.UnitNormalization()(layers.PReLU()(layers.Dropout(0.1)(y)))
    return keras.Model(x, layers.Dense(3)(y))


def _convolutional_1d() -> Any:
    x = sequence()
    y = layers.Conv1D(16, 3, padding="causal", dilation_rate=2, activation="tanh")(x)
    y = layers.GroupNormalization(4)(layers.UpSampling1D(2)(y))
    return keras.Model(x, layers.GlobalMaxPooling1D()(layers.ZeroPadding1D(1)(y)))


def _volume() -> Any:
    x = keras.Input((8, 8, 8, 2))
    y = layers.Conv3D(4, 3, padding="same", activation="relu")(x)
    y = layers.BatchNormalization()(layers.MaxPooling3D()(y))
    y = layers.Conv3DTranspose(4, 2, strides=2)(y)
    y = layers.AveragePooling3D()(layers.UpSampling3D(1)(y))
    return keras.Model(x, layers.Dense(3)(layers.GlobalAveragePooling3D()(y)))


def _weather() -> Any:
    x = keras.Input((3, 8, 8, 2))
    y = layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True)(x)
    y = layers.TimeDistributed(layers.Conv2D(3, 1))(y)
    return keras.Model(x, layers.Conv3D(1, 3, padding="same")(y))


def _masked_words() -> Any:
    x = keras.Input((12,), dtype="int32")
    y = layers.Embedding(97, 8, mask_zero=True)(x)
    y = layers.Bidirectional(layers.GRU(6, return_sequences=True))(y)
    return keras.Model(x, layers.Dense(3, activation="softmax")(layers.LSTM(5)(y)))


def _attending() -> Any:
    x = sequence()
    keys = layers.Dense(8)(x)
    y = layers.Attention(use_scale=True)([x, keys])
    z = layers.AdditiveAttention()([x, keys])
    g = layers.GroupQueryAttention(4, 4, 2)(x, keys)
    y = layers.RMSNormalization()(layers.Concatenate()([y, z, g]))
    return keras.Model(x, layers.Dense(3)(layers.GlobalMaxPooling1D()(y)))


def _merged() -> Any:
    x = keras.Input((10,))
    a, b = layers.Dense(6, activation="tanh")(x), layers.Dense(6, activation="exponential")(x)
    parts = [layers.Add()([a, b]), layers.Subtract()([a, b]), layers.Multiply()([a, b])]
    parts += [layers.Maximum()([a, b]), layers.Minimum()([a, b]), layers.Average()([a, b])]
    parts += [layers.Dot(1, normalize=True)([a, b]), layers.RepeatVector(2)(a)]
    parts[-1] = layers.Flatten()(layers.Permute((2, 1))(parts[-1]))
    return keras.Model(x, layers.Concatenate()(parts))


def _prepared() -> Any:
    x = image()
    y = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 0.5])(layers.Rescaling(0.5, -0.1)(x))
    y = layers.CenterCrop(48, 40)(layers.Resizing(56, 72)(y))
    y = layers.ZeroPadding2D((1, 2))(layers.Cropping2D(((1, 2), (3, 0)))(layers.RandomFlip()(y)))
    y = layers.GaussianNoise(0.1)(layers.DepthwiseConv2D(3, depth_multiplier=2)(y))
    return keras.Model(x, layers.GlobalMaxPooling2D(keepdims=True)(y))


def _signal() -> Any:
    x = sequence()
    y = layers.SeparableConv1D(8, 3, padding="same")(layers.ReLU(4.0, 0.1, 0.2)(x))
    y = layers.Conv1DTranspose(6, 4, strides=2, padding="same")(y)
    y = layers.Cropping1D(1)(layers.AveragePooling1D(2)(layers.DepthwiseConv1D(3)(y)))
    y = layers.LayerNormalization(axis=(1, 2))(layers.Softmax(axis=1)(y))
    return keras.Model(x, layers.Reshape((-1, 2))(y))


def _mixer() -> Any:
    x = image()
    y = layers.Reshape((64, 16))(layers.Conv2D(16, 8, strides=8)(x))
    z = layers.Permute((2, 1))(layers.LayerNormalization()(y))
    y = y + layers.Permute((2, 1))(layers.Dense(64)(layers.Dense(8, activation="gelu")(z)))
    z = layers.EinsumDense("bij,jk->bik", output_shape=(None, 16), bias_axes="k")(y)
    return keras.Model(x, layers.Dense(3)(layers.GlobalAveragePooling1D()(y * keras.ops.sigmoid(z))))


def _operations() -> Any:
    o, x = keras.ops, sequence()
    y = o.cumsum(o.roll(x, 2, axis=1), axis=1) + o.flip(x, axis=2)
    top, at = o.top_k(y, 3)
    hot = o.one_hot(o.argmax(y, axis=-1), 8)
    chosen = o.where(o.logical_and(y > 0, y < 1), o.square(y), o.clip(y, -2.0, 0.5))
    norm = o.sqrt(o.sum(o.square(y), axis=-1, keepdims=True) + 1e-3)
    parts = [top, o.cast(at, "float32"), hot, chosen, y / norm, o.einsum("bij,bkj->bik", y, y)]
    return keras.Model(x, layers.Concatenate()([*parts, o.logsumexp(y, axis=-1, keepdims=True)]))


def _without_top(kind: Any, size: int = SIZE, **more: Any) -> Any:
    return kind(weights=None, include_top=False, pooling="avg", input_shape=(size, size, 3), **more)


MODELS = {
    "attending": _attending,
    "efficientnet2": lambda: _without_top(applications.EfficientNetV2B0),
    "inception": lambda: _without_top(applications.InceptionV3, 96),
    "masked_words": _masked_words,
    "merged": _merged,
    "mixer": _mixer,
    "mobilenet1": lambda: _without_top(applications.MobileNet, alpha=0.25),
    "mobilenet3_large": lambda: _without_top(applications.MobileNetV3Large, minimalistic=True),
    "operations": _operations,
    "prepared": _prepared,
    "resnet1": lambda: _without_top(applications.ResNet50),
    "signal": _signal,
    "vgg": lambda: _without_top(applications.VGG16),
    "volume": _volume,
    "weather": _weather,
    "plain": _plain,
    "convolutional": _convolutional,
    "convolutional_1d": _convolutional_1d,
    "unet": _unet,
    "transformer": _transformer,
    "lstm": lambda: _recurrent(layers.LSTM(8)),
    "stacked_cells": lambda: _recurrent(layers.RNN([layers.GRUCell(6), layers.LSTMCell(5)])),
    "lstm_stacked": lambda: _recurrent(layers.LSTM(8, return_sequences=True), layers.LSTM(6)),
    "gru": lambda: _recurrent(layers.GRU(8)),
    "gru_before": lambda: _recurrent(layers.GRU(8, reset_after=False)),
    "simple_rnn": lambda: _recurrent(layers.SimpleRNN(8)),
    "bidirectional": lambda: _recurrent(layers.Bidirectional(layers.LSTM(8))),
    "backwards": lambda: _recurrent(layers.LSTM(8, go_backwards=True)),
    "mobilenet": lambda: applications.MobileNetV2((SIZE, SIZE, 3), weights=None, classes=5, alpha=0.35),
    "mobilenet3": lambda: applications.MobileNetV3Small((SIZE, SIZE, 3), weights=None, classes=5),
    "efficientnet": lambda: applications.EfficientNetB0(weights=None, classes=5, input_shape=(SIZE, SIZE, 3)),
    "resnet": lambda: applications.ResNet50V2(weights=None, classes=5, input_shape=(SIZE, SIZE, 3)),
    "densenet": lambda: applications.DenseNet121(weights=None, classes=5, input_shape=(SIZE, SIZE, 3)),
    "xception": lambda: applications.Xception(weights=None, classes=5, input_shape=(96, 96, 3)),
    "nasnet": lambda: applications.NASNetMobile(weights=None, classes=5, input_shape=(SIZE, SIZE, 3)),
    "convnext": lambda: applications.ConvNeXtTiny(weights=None, classes=5, input_shape=(SIZE, SIZE, 3)),
}


def sample(model: Any) -> Any:
    """Return two samples."""
    generator, (given,) = np.random.default_rng(0), model.inputs
    if given.dtype == "int32":
        return generator.integers(0, 97, (2, *given.shape[1:])).astype(np.int32)
    return generator.normal(size=(2, *given.shape[1:])).astype(np.float32)


def write(name: str, export: str, folder: Path) -> None:
    """Export a model and keep its input and output."""
    keras.utils.set_random_seed(0)
    model, path = MODELS[name](), folder / f"keras_{name}@{export}.onnx"
    x, (exporter, opset) = sample(model), export.split("-")
    y = np.asarray(model.predict(x, verbose=0))
    if exporter == "tf2onnx":
        import tensorflow as tf
        import tf2onnx

        spec = (tf.TensorSpec((2, *x.shape[1:]), x.dtype, name="x"),)
        function = tf.function(lambda x: model(x, training=False), input_signature=spec)
        written: Any
        written, _ = tf2onnx.convert.from_function(function, spec, opset=int(opset))
        path.write_bytes(written.SerializeToString())
    elif exporter == "keras_torch":
        model.export(str(path), format="onnx", opset_version=int(opset), verbose=False)
    else:
        import torch

        torch.onnx.export(
            model.eval(),
            (torch.from_numpy(x),),
            str(path),
            input_names=["x"],
            opset_version=int(opset),
            dynamo=exporter == "torch_dynamo",
            external_data=False,
        )
    np.savez(path.with_suffix(".npz"), **{input_of(path): x, "output0": y})


def input_of(path: Path) -> str:
    """Return the name of a model's only input, once the model is known to be valid."""
    import onnx

    onnx.checker.check_model(str(path))
    (given,) = onnx.load(str(path), load_external_data=False).graph.input
    return str(given.name)


def main() -> None:
    """Write all models, or those whose name holds a part."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    refused: dict[str, str] = {}
    for name in MODELS:
        for export in EXPORTS[BACKEND] if asked.only in name else ():
            try:
                write(name, export, asked.folder)
            except Exception as error:
                refused[f"keras_{name}@{export}"] = f"{type(error).__name__}: {str(error)[:200]}"
            print(name, export, refused.get(f"keras_{name}@{export}", "written"), flush=True)
    target = asked.folder / f"refused_keras_{BACKEND}.json"
    target.write_text(json.dumps(refused, indent=1), encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    main()
