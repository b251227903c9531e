"""The meaning of a blueprint's layers: shapes inferred, weights from N(0, sqrt(2 / fan-in)), biases 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarker.api.rules import Choice
from benchmarker.errors import UsageError
from benchmarker.graph.initializers import ZEROS, he_normal
from benchmarker.graph.network import Network, each_axis
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers import declared
from benchmarker.problems.layers.attention import merge_heads, split_heads, to_samples
from benchmarker.problems.layers.declared import Layer
from benchmarker.problems.layers.sizes import same_pads

_FORMS = {2: "features", 3: "a sequence", 4: "an image"}


def sample_shape(x: Value) -> tuple[int, ...]:
    """Return the shape of one sample as a blueprint writes it, an image's channels last."""
    sizes = x.shape[1:]
    return (*sizes[1:], sizes[0]) if len(sizes) == 3 else sizes


def _described(x: Value) -> str:
    return f"{_FORMS[len(x.shape)]} of {' x '.join(map(str, sample_shape(x)))}"


def _needs(x: Value, ranks: Sequence[int], remedy: str) -> None:
    if len(x.shape) not in ranks:
        wanted = " or ".join(_FORMS[rank] for rank in ranks)
        raise UsageError(f"needs {wanted}, got {_described(x)}{remedy}")


def _pads(x: Value, kernel: Sequence[int], stride: Sequence[int], padding: str) -> tuple[int, ...]:
    return (0, 0, 0, 0) if padding == "valid" else same_pads(x.shape[2:], kernel, stride)


class _Builder:
    """Adds layers to a network, one after the other."""

    def __init__(self, net: Network) -> None:
        self._net = net
        self._meanings: Mapping[type[Layer], Callable[[Any, str, Value], Value]] = {
            declared.FullyConnected: self._fully_connected,
            declared.Convolution: self._convolution,
            declared.Pooling: self._pooling,
            declared.GlobalPooling: self._global_pooling,
            declared.LSTM: self._recurrent,
            declared.GRU: self._recurrent,
            declared.Attention: self._attention,
            declared.Flatten: self._flatten,
            declared.Activation: lambda layer, name, x: self._activated(x, layer.function),
            declared.Dropout: lambda layer, name, x: net.named(name).dropout(x, ratio=float(layer.ratio)),
            declared.BatchNormalization: self._batch_normalization,
            declared.LayerNormalization: self._layer_normalization,
            declared.Residual: self._residual,
        }

    def chain(self, layers: Sequence[Layer], x: Value, label: str, start: int = 1) -> list[Value]:
        """Add layers and return what each gives; a fault names its layer by position."""
        results = []
        for position, layer in enumerate(layers, start):
            x = self._one(layer, f"{label}{position}", x)
            results.append(x)
        return results

    def _one(self, layer: Layer, label: str, x: Value) -> Value:
        kind = type(layer).__name__
        if type(layer) not in self._meanings:
            raise UsageError(f"{label} ({kind}) must follow the InputLayer")
        try:
            return self._meanings[type(layer)](layer, label.replace(" ", ""), x)
        except UsageError as error:
            text = str(error)
            raise UsageError(text if text.startswith("layer ") else f"{label} ({kind}) {text}") from None

    def _activated(self, x: Value, activation: str) -> Value:
        if activation == "linear":
            return x
        result: Value = getattr(self._net, activation)(x)
        return result

    def _fully_connected(self, layer: declared.FullyConnected, name: str, x: Value) -> Value:
        _needs(x, (2, 3), "; put Flatten before it")
        start = he_normal(x.shape[-1])
        return self._activated(self._net.dense(name, x, layer.size, start=start), layer.activation)

    def _convolution(self, layer: declared.Convolution, name: str, x: Value) -> Value:
        _needs(x, (4,), "; the input's shape is height, width, channels")
        net, kernel, stride = self._net, each_axis(layer.kernel_size, 2), each_axis(layer.stride, 2)
        channels = x.shape[1]
        if channels % layer.groups or layer.channel % layer.groups:
            raise UsageError(
                f"needs channels that are multiples of its {layer.groups} groups, got {channels} before "
                f"it and {layer.channel} after it"
            )
        connections = channels // layer.groups * kernel[0] * kernel[1]
        shape = (layer.channel, channels // layer.groups, *kernel)
        weight = net.parameter(f"{name}.weight", shape, he_normal(connections))
        bias = net.parameter(f"{name}.bias", (layer.channel,), ZEROS) if layer.bias else None
        y: Value = net.named(name).conv(
            x,
            weight,
            bias,
            strides=stride,
            pads=_pads(x, kernel, stride, layer.padding),
            dilations=(1, 1),
            group=layer.groups,
        )
        return self._activated(y, layer.activation)

    def _pooling(self, layer: declared.Pooling, name: str, x: Value) -> Value:
        _needs(x, (4,), "; the input's shape is height, width, channels")
        kernel = each_axis(layer.kernel_size, 2)
        stride = kernel if layer.stride is None else each_axis(layer.stride, 2)
        net = self._net.named(name)
        pool = net.max_pool if layer.kind == "max" else net.average_pool
        pads = _pads(x, kernel, stride, layer.padding)
        y: Value = pool(x, kernel_shape=kernel, strides=stride, pads=pads)
        return y

    def _global_pooling(self, layer: declared.GlobalPooling, name: str, x: Value) -> Value:
        _needs(x, (3, 4), "")
        net = self._net
        if layer.kind == "average" and len(x.shape) == 4:
            pooled: Value = net.flatten(net.named(name).global_average_pool(x))
            return pooled
        named = net.named(name)
        reduce = named.reduce_mean if layer.kind == "average" else named.reduce_max
        y: Value = reduce(x, axes=(1,) if len(x.shape) == 3 else (2, 3))
        return y

    def _recurrent(self, layer: declared.LSTM | declared.GRU, name: str, x: Value) -> Value:
        _needs(x, (3,), "; the input's shape is words, features")
        net, units = self._net, layer.size
        directions = 2 if layer.bidirectional else 1
        direction = "bidirectional" if layer.bidirectional else "forward"
        words = net.transpose(x, perm=(1, 0, 2))
        run = net.lstm_layer if isinstance(layer, declared.LSTM) else net.gru_layer
        every, last, *_ = run(name, words, units, direction=direction, start=he_normal(x.shape[2]))
        size, count = x.shape[0], x.shape[1]
        shape: tuple[int, ...] = (size, directions * units)
        if layer.return_full_seq:
            # (T, D, N, H) to (N, T, D H)
            shape = (size, count, directions * units)
            rows = net.transpose(every, perm=(2, 0, 1, 3))
        else:
            rows = last if directions == 1 else net.transpose(last, perm=(1, 0, 2))
        y: Value = net.reshape(rows, shape=shape)
        return y

    def _attention(self, layer: declared.Attention, name: str, x: Value) -> Value:
        _needs(x, (3,), "; the input's shape is words, features")
        net, features = self._net, x.shape[-1]
        if features % layer.heads:
            raise UsageError(f"needs features that are a multiple of its {layer.heads} heads, got {features}")
        start = he_normal(features)
        q, k, v = (
            split_heads(net, net.dense(f"{name}.{part}", x, features, start=start), layer.heads)
            for part in ("query", "key", "value")
        )
        y = net.named(name).attention(
            q, k, v, scale=1.0 / math.sqrt(features // layer.heads), is_causal=layer.causal
        )
        y = net.dense(f"{name}.output", merge_heads(net, y), features, start=start)
        return to_samples(net, y)

    def _flatten(self, layer: declared.Flatten, name: str, x: Value) -> Value:
        if len(x.shape) == 2 or (layer.flatten_sequences and len(x.shape) == 3):
            return x
        y: Value = self._net.flatten(x)
        return y

    def _batch_normalization(self, layer: declared.BatchNormalization, name: str, x: Value) -> Value:
        _needs(x, (2, 4), "; a sequence takes LayerNormalization")
        epsilon, momentum = float(layer.epsilon), float(layer.momentum)
        return self._net.batch_norm(name, x, epsilon=epsilon, momentum=momentum)

    def _layer_normalization(self, layer: declared.LayerNormalization, name: str, x: Value) -> Value:
        _needs(x, (2, 3), "; an image takes BatchNormalization")
        return self._net.layer_norm(name, x, epsilon=float(layer.epsilon))

    def _residual(self, layer: declared.Residual, name: str, x: Value) -> Value:
        position = name.replace("layer", "layer ")
        inside = self.chain(layer.layers, x, f"{position}.")[-1]
        added = self.chain(layer.shortcut, x, f"{position} shortcut ")[-1] if layer.shortcut else x
        if inside.shape != added.shape:
            what = "its shortcut gives" if layer.shortcut else "the layer before it gives"
            raise UsageError(
                f"adds values of one shape, but its layers give {_described(inside)} and {what} "
                f"{_described(added)}; a shortcut with a FullyConnected or Convolution changes the shape"
            )
        y: Value = self._net.named(name).add(inside, added)
        return self._activated(y, layer.activation)


def _input(net: Network, layers: Sequence[Layer]) -> tuple[Value, int]:
    """Declare the mini-batch and return it with the number of layers that this used."""
    shape = layers[0].shape  # type: ignore[attr-defined]
    if isinstance(layers[1], declared.Embedding):
        if len(shape) != 1:
            raise UsageError(
                f"layer 2 (Embedding) needs an input of one size, the number of words, got {list(shape)}"
            )
        table = layers[1]
        words = net.input("input", shape, "int64", Distribution("integers", table.vocabulary))
        start = he_normal(table.size)
        return net.embedding("layer2", words, table.vocabulary, table.size, start), 2
    return net.input("input", (shape[-1], *shape[:-1]) if len(shape) == 3 else shape), 1


def add_layers(net: Network, layers: Sequence[Layer]) -> list[Value]:
    """Add layers to a network and return what each of them gives.

    Parameters
    ----------
    net : Network
        An empty network.
    layers : sequence of Layer
        An :class:`~benchmarker.problems.layers.declared.InputLayer` and those after it.

    Raises
    ------
    UsageError
        If a layer cannot follow the one before it; the sentence names it by position.
    """
    x, used = _input(net, layers)
    return [x] * used + _Builder(net).chain(layers[used:], x, "layer ", used + 1)


def add_loss(net: Network, x: Value, loss: str) -> None:
    """Add labels or targets, drawn from the seed, and the loss over the last layer's values.

    Parameters
    ----------
    net : Network
        With its layers.
    x : Value
        Scores ``(N, classes)``, of each word ``(N, words, classes)`` or of each pixel.
    loss : {"cross_entropy", "mean_squared_error", "soft_cross_entropy"}
        Mean over all labels; mean over all values; mean over the samples, with weights of classes as labels.

    Raises
    ------
    UsageError
        If it is none of them, or scores are not those of samples where labels are weights of classes.
    """
    for _, message in Choice(declared.LOSSES).faults(loss):
        raise UsageError(f"the loss {message}")
    if loss == "mean_squared_error":
        net.loss(net.mean_squared_error_loss(x, net.input("target", x.shape[1:])))
        return
    if loss == "soft_cross_entropy":
        _add_soft_cross_entropy(net, x)
        return
    scores = net.transpose(x, perm=(0, 2, 1)) if len(x.shape) == 3 else x
    classes, places = scores.shape[1], scores.shape[2:]
    labels = net.input("label", places, "int64", Distribution("integers", classes))
    net.loss(net.softmax_cross_entropy_loss(scores, labels))


def _add_soft_cross_entropy(net: Network, scores: Value) -> None:
    """Add labels that are weights of classes, and the mean of ``-sum(label * log_softmax(scores))``."""
    if len(scores.shape) != 2:
        raise UsageError(
            "the loss 'soft_cross_entropy' needs a last layer with scores (N, classes), got "
            f"{['N', *scores.shape[1:]]}"
        )
    label = net.input("label", scores.shape[1:], distribution=Distribution("one_hot"))
    own = net.reduce_sum(net.mul(label, net.log_softmax(scores)), axes=(-1,))
    net.loss(net.affine(net.reduce_mean(own), alpha=-1.0))
