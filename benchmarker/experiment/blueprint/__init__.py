"""Rysia's layer language: models as a sequence of layers, their shapes inferred.

A blueprint in Python is a file that assigns ``architecture = bp.model(...)`` and the fields around it; see
``docs/blueprints.md``.
"""

from __future__ import annotations

from typing import Any

from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.problems.layers.declared import (
    GRU,
    LSTM,
    Activation,
    Attention,
    BatchNormalization,
    Convolution,
    Dropout,
    Embedding,
    Flatten,
    FullyConnected,
    GlobalPooling,
    InputLayer,
    Layer,
    LayerNormalization,
    Pooling,
    Residual,
    layers_from_json,
    layers_to_json,
)
from benchmarker.problems.layers.sequential import add_layers, sample_shape
from benchmarker.quick_dataclass import dataclass

__all__ = [
    "GRU",
    "LSTM",
    "Activation",
    "Attention",
    "BatchNormalization",
    "Convolution",
    "Dropout",
    "Embedding",
    "Flatten",
    "FullyConnected",
    "GlobalPooling",
    "InputLayer",
    "Layer",
    "LayerNormalization",
    "Model",
    "Pooling",
    "Residual",
    "model",
]


@dataclass(frozen=True)
class Model:
    """A sequence of layers.

    Parameters
    ----------
    layers : tuple of Layer
        The first is an :class:`InputLayer`.
    """

    layers: tuple[Layer, ...]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of one sample after each layer, as ``(height, width, channels)`` for an image.

        Raises
        ------
        UsageError
            If a layer cannot follow the one before it, naming it by position.
        """
        layers = layers_from_json(self.to_json())
        return tuple(map(sample_shape, add_layers(Network("architecture", 1), layers)))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the layers as JSON values, the form they have in a TOML blueprint."""
        return layers_to_json(self.layers)


def model(*layers: Layer) -> Model:
    """Return the model of some layers, the input first.

    Raises
    ------
    UsageError
        If one of the arguments is no layer. Whether the layers fit is told when the model is used.
    """
    for position, layer in enumerate(layers, 1):
        if not isinstance(layer, Layer):
            raise UsageError(f"layer {position} of a model must be a layer, got {type(layer).__name__}")
    return Model(layers)
