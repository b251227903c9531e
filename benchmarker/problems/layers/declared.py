"""The layers of a blueprint as plain, typed values: what each takes, and its form in JSON and TOML.

Names and fields of ``InputLayer``, ``FullyConnected``, ``Convolution``, ``Pooling``, ``LSTM`` and
``Flatten`` are Rysia's (Deuschle et al., "End-to-End Benchmarking of Deep Learning Platforms").
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Tuple, Union

from benchmarker.api.given_values import plain, shown
from benchmarker.api.rules import Choice, Flag, Found, Real, Rule, Sizes, Whole, Window
from benchmarker.api.tables import field_rules, required_fields
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.quick_dataclass import dataclass

ACTIVATIONS = ("linear", "relu", "sigmoid", "tanh", "gelu", "silu")
LOSSES = ("cross_entropy", "mean_squared_error", "soft_cross_entropy")

_Activation = Annotated[str, Choice(ACTIVATIONS)]
_Kernel = Annotated[Union[int, Tuple[int, int]], Window()]
_Padding = Annotated[str, Choice(("same", "valid"))]


@dataclass(frozen=True)
class Layer:
    """What all layers have in common."""

    def to_json(self) -> dict[str, Any]:
        """Return the layer as JSON values: its name and every field that is not at its default."""
        values: dict[str, Any] = {"layer": type(self).__name__}
        for field in dataclasses.fields(self):
            value = _plain(getattr(self, field.name))
            if field.default is dataclasses.MISSING or value != _plain(field.default):
                values[field.name] = value
        return values


def _plain(value: Any) -> Any:
    if isinstance(value, Layer):
        return value.to_json()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else plain(value)


@dataclass(frozen=True)
class InputLayer(Layer):
    """The mini-batch: one sample is ``(features,)``, ``(words, features)`` or ``(height, width, channels)``.

    Before an ``Embedding`` it is ``(words,)``, and each word an index.
    """

    shape: Annotated[Tuple[int, ...], Sizes(1, 3)]


@dataclass(frozen=True)
class FullyConnected(Layer):
    """``activation(x W + b)`` over the features; in a sequence, for each word."""

    size: Annotated[int, Whole()]
    activation: _Activation = "linear"


@dataclass(frozen=True)
class Convolution(Layer):
    """Convolution of an image; ``same`` gives ``ceil(size / stride)``, with an odd pixel of padding at the end."""

    channel: Annotated[int, Whole()]
    kernel_size: _Kernel
    activation: _Activation = "linear"
    stride: _Kernel = 1
    padding: _Padding = "same"
    groups: Annotated[int, Whole()] = 1
    bias: Annotated[bool, Flag()] = True


@dataclass(frozen=True)
class Pooling(Layer):
    """Pooling of an image; the default stride is the window's size, and padding works as in a Convolution."""

    kernel_size: _Kernel
    kind: Annotated[str, Choice(("max", "average"))] = "max"
    stride: Annotated[Union[int, Tuple[int, int], None], Window(optional=True)] = None
    padding: _Padding = "same"


@dataclass(frozen=True)
class GlobalPooling(Layer):
    """One value per channel of an image or per feature of a sequence, over all positions."""

    kind: Annotated[str, Choice(("average", "max"))] = "average"


@dataclass(frozen=True)
class LSTM(Layer):
    """An LSTM over a sequence, with two bias vectors and zero initial state; gives its last output, or all of them."""

    size: Annotated[int, Whole()]
    return_full_seq: Annotated[bool, Flag()] = False
    bidirectional: Annotated[bool, Flag()] = False


@dataclass(frozen=True)
class GRU(Layer):
    """A GRU over a sequence; gives its last output, or all of them."""

    size: Annotated[int, Whole()]
    return_full_seq: Annotated[bool, Flag()] = False
    bidirectional: Annotated[bool, Flag()] = False


@dataclass(frozen=True)
class Embedding(Layer):
    """A row of ``size`` features for each word of a vocabulary; must follow the input."""

    vocabulary: Annotated[int, Whole()]
    size: Annotated[int, Whole()]


@dataclass(frozen=True)
class Attention(Layer):
    """Self-attention over a sequence (Vaswani et al. 2017, section 3.2.2), including its projections."""

    heads: Annotated[int, Whole()]
    causal: Annotated[bool, Flag()] = False


@dataclass(frozen=True)
class Flatten(Layer):
    """All values of a sample as features; with ``flatten_sequences``, each word by itself."""

    flatten_sequences: Annotated[bool, Flag()] = False


@dataclass(frozen=True)
class Activation(Layer):
    """An activation by itself."""

    function: _Activation


@dataclass(frozen=True)
class Dropout(Layer):
    """In training, sets each value to zero with probability ``ratio``."""

    ratio: Annotated[float, Real(least=0.0, below=1.0)] = 0.5


@dataclass(frozen=True)
class BatchNormalization(Layer):
    """Batch normalization of an image's channels or of features; ``momentum`` is for the running statistics."""

    epsilon: Annotated[float, Real(above=0.0)] = 1e-5
    momentum: Annotated[float, Real(least=0.0, below=1.0)] = 0.9


@dataclass(frozen=True)
class LayerNormalization(Layer):
    """Layer normalization over the features; in a sequence, of each word."""

    epsilon: Annotated[float, Real(above=0.0)] = 1e-5


@dataclass(frozen=True)
class Nested(Rule):
    """Layers inside a layer, at least ``fewest``."""

    fewest: int = 0

    @property
    def allowed(self) -> str:
        return f"a list of layers, at least {self.fewest}" if self.fewest else "a list of layers"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is a list; the layers in it are checked one by one."""
        return isinstance(value, (list, tuple)) and len(value) >= self.fewest

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema, by reference to the definition of a layer."""
        return {"type": "array", "items": {"$ref": "#/$defs/layer"}, "minItems": self.fewest}


@dataclasses.dataclass(frozen=True, init=False)
class Residual(Layer):
    """``activation(layers(x) + shortcut(x))``; without a shortcut, ``x`` itself is added.

    Its layers are given one after the other or as ``layers=[...]``, the form that they have in TOML.
    """

    layers: Annotated[Tuple[Layer, ...], Nested(1)]
    shortcut: Annotated[Tuple[Layer, ...], Nested()] = ()
    activation: _Activation = "linear"

    def __init__(
        self,
        *inside: Layer,
        layers: Iterable[Layer] = (),
        shortcut: Iterable[Layer] = (),
        activation: str = "linear",
    ) -> None:
        if inside and layers:
            raise UsageError("a Residual takes its layers one after the other or as layers=[...], not both")
        object.__setattr__(self, "layers", inside or _listed(layers))
        object.__setattr__(self, "shortcut", _listed(shortcut))
        object.__setattr__(self, "activation", activation)


def _listed(layers: Any) -> Any:
    """Return layers as a tuple; what is no list of them stays, to be told by name when the layers are checked."""
    return tuple(layers) if isinstance(layers, Iterable) else layers


LAYERS: Mapping[str, type[Layer]] = {
    kind.__name__: kind
    for kind in (
        InputLayer,
        FullyConnected,
        Convolution,
        Pooling,
        GlobalPooling,
        LSTM,
        GRU,
        Embedding,
        Attention,
        Flatten,
        Activation,
        Dropout,
        BatchNormalization,
        LayerNormalization,
        Residual,
    )
}
"""Every layer by name."""


# --- checking ------------------------------------------------------------------------------------


def layer_faults(layers: Any) -> list[Found]:
    """Return everything that is wrong with layers as JSON values, each sentence naming its layer by position."""
    if not isinstance(layers, (list, tuple)):
        return [((), f"must be a list of layers, got {shown(layers)}")]
    found = list(_list_faults(layers, "layer "))
    names = [layer.get("layer") if isinstance(layer, Mapping) else None for layer in layers]
    if len(layers) < 2:
        found.append(((), f"must be an InputLayer and at least one layer after it, got {len(layers)}"))
    elif _is_known(names[0]) and names[0] != "InputLayer":
        found.append(((0,), f"layer 1 must be an InputLayer, got {names[0]}"))
    return found


def _is_known(name: Any) -> bool:
    return isinstance(name, str) and name in LAYERS


def _list_faults(layers: Sequence[Any], prefix: str) -> Iterator[Found]:
    for index, layer in enumerate(layers):
        label = f"{prefix}{index + 1}"
        for steps, message in _faults(layer, label):
            yield (index, *steps), message
        if isinstance(layer, Mapping) and layer.get("layer") == "InputLayer" and label != "layer 1":
            yield (index,), f"{label} must not be an InputLayer, which comes first and only once"


def _faults(layer: Any, label: str) -> Iterator[Found]:
    name = layer.get("layer") if isinstance(layer, Mapping) else None
    if not isinstance(layer, Mapping) or name is None:
        yield (), f"{label} must be a table whose 'layer' names it, got {shown(layer)}"
        return
    if not _is_known(name):
        for _, message in Choice(tuple(LAYERS)).faults(name):
            yield ("layer",), f"{label} {message}"
        return
    kind, label = LAYERS[name], f"{label} ({name})"
    known = field_rules(kind)
    for missing in (field for field in required_fields(kind) if field not in layer):
        yield (), f"{label} needs '{missing}', {known[missing].allowed}"
    for field, value in layer.items():
        if field == "layer":
            continue
        if field not in known:
            yield (field,), f"{label} has no '{field}'{_offered(field, known)}"
        else:
            yield from _field_faults(field, value, known[field], label)


def _field_faults(field: str, value: Any, rule: Rule, label: str) -> Iterator[Found]:
    for steps, message in rule.faults(value):
        yield (field, *steps), f"{label}: '{field}' {message}"
    if isinstance(rule, Nested) and isinstance(value, (list, tuple)):
        position = label.partition(" (")[0]
        inner = f"{position}." if field == "layers" else f"{position} {field} "
        for steps, message in _list_faults(value, inner):
            yield (field, *steps), message


def _offered(field: str, known: Mapping[str, Rule]) -> str:
    return did_you_mean(field, known) if known else "; it has no fields"


def layers_from_json(layers: Any) -> tuple[Layer, ...]:
    """Return layers from their JSON values.

    Raises
    ------
    UsageError
        With the first thing that is wrong, naming the layer by position.
    """
    found = layer_faults(layers)
    if found:
        steps, message = found[0]
        raise UsageError(message if steps else f"the layers {message}")
    return tuple(map(_made, layers))


def _made(layer: Mapping[str, Any]) -> Layer:
    values = {name: value for name, value in layer.items() if name != "layer"}
    lists = {
        name: tuple(map(_made_inside, value)) for name, value in values.items() if isinstance(value, list)
    }
    return LAYERS[layer["layer"]](**{**values, **lists})


def _made_inside(item: Any) -> Any:
    return _made(item) if isinstance(item, Mapping) else item


def layers_from_text(text: str) -> tuple[Layer, ...]:
    """Return the layers of a JSON text.

    Raises
    ------
    UsageError
        If it is not JSON, or with the first fault of a layer, named by its position.
    """
    try:
        values = json.loads(text)
    except RecursionError:
        raise UsageError("the layers are nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"the layers must be a list as JSON, got {shown(text)} ({error})") from None
    return layers_from_json(values)


def layers_to_text(layers: Sequence[Layer]) -> str:
    """Return layers as JSON without spaces: the same layers always give the same text."""
    return json.dumps(layers_to_json(layers), separators=(",", ":"))


def layers_to_json(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    """Return layers as JSON values."""
    return [layer.to_json() for layer in layers]
