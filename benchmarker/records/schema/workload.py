"""What was computed, with what, on what."""

from typing import Annotated, Any, Literal

from benchmarker.records.schema.kinds import Count, Group, NonNegative, Number, Positive, Text, since, unit


class Framework(Group, frozen=True, kw_only=True):
    """The framework under test."""

    name: Text
    """Name of the framework plugin."""
    version: str | None
    """The framework's version, e.g. '2.13.0'."""
    full: str | None
    """Name and complete version, e.g. 'pytorch-2.13.0+cpu'."""
    requested_version: str | None
    """The version asked for; null if any would do."""
    distribution: str | None
    """The Python distribution that the framework comes from."""
    installed_version: str | None = since("1.5")
    """The version that the metadata of that distribution claim in the run's interpreter; a run whose framework says
    another one is 'failed'. Null if there are none, so that nothing was compared (since 1.5)."""
    options: dict[str, Any]
    """Options of the framework plugin, defaults included."""
    libraries: dict[str, Any]
    """Numeric libraries underneath and their versions, as the framework reports them."""
    composed_operators: list[str]
    """Operators that ran composed of others, because the framework has no native one."""


class Problem(Group, frozen=True, kw_only=True):
    """What is computed."""

    name: Text
    """Name of the problem plugin."""
    task: str | None
    """What the problem is for, e.g. 'image classification'."""
    source: str | None
    """The paper or program that the problem comes from."""
    distribution: str | None
    """The Python distribution that the problem comes from."""
    parameters: dict[str, Any]
    """Parameters of the problem, defaults included."""
    parameter_count: Count | None
    """Number of trainable values."""
    flops_per_step: Annotated[NonNegative | None, unit("FLOP")]
    """Floating-point operations of a step in convolutions, matrix products and recurrent products."""
    flops_per_sample: Annotated[NonNegative | None, unit("FLOP")]
    """Floating-point operations of the forward pass of one sample, counted in the same way."""
    elementwise_flops_per_step: Annotated[NonNegative | None, unit("FLOP")]
    """Floating-point operations of a step in all other operators."""
    bytes_per_step: Annotated[NonNegative | None, unit("B")]
    """Bytes that the operators of a step read and write, without any fusion."""
    custom_operators: dict[str, Literal["composed", "python", "native", "c++", "cuda"]] | None = since("1.4")
    """What runs each of the user's own operators: 'composed' of standard ones, or, so that the problem is
    not the same program in every framework, 'python', 'native', 'c++' or 'cuda'; null in older records
    (since 1.4)."""


class Optimizer(Group, frozen=True, kw_only=True):
    """How parameters follow their gradients; null if nothing is trained."""

    kind: Text
    """Name of the update rule, as ``list optimizers`` has it, or of the file that holds it."""
    learning_rate: Number | None
    """Learning rate."""
    momentum: Number | None
    """Momentum of 'momentum' and 'nesterov'."""
    beta1: Number | None
    """Decay of the first moment of 'adam' and 'adamw'."""
    beta2: Number | None
    """Decay of the second moment of 'adam' and 'adamw'."""
    epsilon: Number | None
    """Added to the root of the second moment."""
    weight_decay: Number | None = since("1.2")
    """Times the parameter: added to the gradient, or with 'adamw' taken from the parameter itself."""
    decay: Number | None = since("1.2")
    """Decay of the second moment of 'rmsprop'."""
    further: dict[str, Number] | None = since("1.6")
    """Constants that only some rules have, by name."""
    digest: str | None = since("1.6")
    """'sha256:' and the digest of the file that holds the rule; null for one that is installed."""
    clip_norm: NonNegative | None = since("1.7")
    """Euclidean norm that all gradients together were scaled down to if theirs was larger; 0 for none."""
    clip_value: NonNegative | None = since("1.7")
    """What no element of a gradient exceeded; 0 for none."""
    ema: NonNegative | None = since("1.7")
    """Share of the moving average of weights that an update kept, which was evaluated; 0 for no average."""
    decay_kind: Literal["own", "coupled", "decoupled"] | None = since("1.7")
    """Weight decay as the rule has it, added to the gradient before it, or taken from the parameter beside it."""
    decay_of: str | None = since("1.7")
    """Which parameters decayed: 'all', 'weights' (neither biases nor parameters of normalizations), or patterns of
    names."""
    variant: Literal["native", "composed"] | None = since("1.6")
    """Whether the framework's own function updated the parameters, or the rule in the framework's operations; null
    where no step was made."""


class Device(Group, frozen=True, kw_only=True):
    """What computes."""

    type: Text
    """Kind of device, e.g. 'cpu', 'cuda'."""
    name: str | None
    """Name of the device as the framework or the system reports it."""
    count: Positive | None
    """Number of devices used."""
