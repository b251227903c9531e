"""A training by a recipe: what it came to, when, and by what it is known again."""

from typing import Literal

from benchmarker.records.schema.kinds import (
    Count,
    Digest,
    Group,
    NonNegative,
    Number,
    Positive,
    Ratio,
    Seconds,
    Text,
    Timestamp,
    since,
)


class Recipe(Group, frozen=True, kw_only=True):
    """Which recipe."""

    name: Text
    """Its name, or that of its file."""
    digest: Digest
    """SHA-256 of all that it says as it was run: problem, data set, mini-batch, optimizer, and its table."""
    division: Literal["closed", "open"]
    """'closed': as it is; 'open': it lists what may be another."""


class Target(Group, frozen=True, kw_only=True):
    """The quality to reach."""

    metric: Literal["accuracy", "loss"]
    """What it is of: at least this share of samples classified rightly, or at most this mean loss."""
    value: Number
    """The share, or the loss."""
    split: Literal["test", "validation"]
    """The part of the data set that is evaluated."""


class Hit(Group, frozen=True, kw_only=True):
    """The first evaluation that found the target reached; times are by clocks that the first step is no part of."""

    step: Count
    """Updates until then."""
    samples: Count
    """Samples that these took."""
    training_seconds: Seconds
    """Steps after the first, in seconds."""
    loading_seconds: Seconds
    """Making their mini-batches and bringing them to the device, in seconds."""
    evaluation_seconds: Seconds
    """All evaluations up to this one, in seconds."""


class Diverged(Group, frozen=True, kw_only=True):
    """Where the loss was no finite number any more."""

    step: Positive
    """The step whose loss was seen to be none."""
    last_finite_step: Count
    """The last step before it whose loss was looked at; 0 for none."""


class Curve(Group, frozen=True, kw_only=True):
    """A list per column, an item per evaluation; the first is of the weights that were drawn."""

    step: list[Count]
    """Updates so far."""
    samples: list[Count]
    """Samples that they took."""
    train_loss: list[Number | None]
    """Loss that the last of them returned; null before the first, or if it is not finite."""
    evaluation_loss: list[Number | None]
    """Mean over the evaluated part, computed in float64 from the scores; null if it is not finite, or where the
    problem's loss is not the softmax's cross-entropy of its output."""
    correct: list[Count]
    """Samples of the part that are classified rightly, of training.evaluated_samples."""
    training_seconds: list[Seconds]
    """Steps after the first, up to here, in seconds."""
    loading_seconds: list[Seconds]
    """Making their mini-batches and bringing them to the device, up to here, in seconds."""
    evaluation_seconds: list[Seconds]
    """Evaluations, this one included, in seconds."""


class Classes(Group, frozen=True, kw_only=True):
    """Samples of each class."""

    given: list[Count]
    """That the steps took."""
    available: list[Count]
    """That there are to train on."""


class Bias(Group, frozen=True, kw_only=True):
    """Samples of each class that the sampler gave to the steps after the first, against those that there are."""

    given: list[Count]
    """That it gave."""
    available: list[Count]
    """That there are to train on."""
    total_variation: NonNegative
    """Half the sum of the differences between the shares of the classes: 0 if they agree, at most 1."""


class Feed(Group, frozen=True, kw_only=True):
    """Where the mini-batches of the steps after the first were made, and how long these waited for them; of a training
    that went on from a checkpoint since then (since 1.7)."""

    prefetch: Literal["none", "thread", "process"]
    """As they were taken, or ahead in a thread or a process beside the step."""
    depth: Count
    """Mini-batches that were made ahead at most; 0 for none."""
    waits: list[Seconds]
    """Time that steps waited for their mini-batches between two evaluations, in seconds; an item for each of
    training.curve, the first of which is 0. Bringing them to the device is no part of it."""
    waited_seconds: Seconds
    """The sum, with what was waited after the last evaluation, in seconds; part of training.loading_seconds."""
    bias: Bias


class SplitCounts(Group, frozen=True, kw_only=True):
    """Samples of each part of the data set."""

    train: Count
    """That are trained on."""
    validation: Count
    """Held back."""
    test: Count
    """Held back."""


class Final(Group, frozen=True, kw_only=True):
    """The final weights, judged again by the reference in float64."""

    correct: Count
    """Samples that the framework classifies rightly."""
    samples: Positive
    """All that are evaluated."""
    reference_correct: Count
    """Samples that the reference classifies rightly, of those that it had time for."""
    reference_samples: Positive
    """Those that it had time for."""
    undecided: Count
    """Samples of which the reference's two largest scores are so near that rounding may decide between them."""
    differing: Count
    """Samples that are of another class for the reference although they are decided; any makes the run 'failed'."""


class TrainingDigests(Group, frozen=True, kw_only=True):
    """SHA-256 of what decides a training, and of what it came to."""

    split: Digest
    """Of the indices of each part."""
    order: Digest
    """Of the orders of all epochs that were begun (inputs.epoch_order_digests has each)."""
    constants: dict[str, Digest]
    """Of the table of each constant of the optimizer that a schedule may change: float64, little-endian, a number
    for each step that there may be."""
    final_parameters: Digest
    """Of the weights and running statistics that were evaluated at the end: of some optimizers an average."""


class Resumed(Group, frozen=True, kw_only=True):
    """A checkpoint that the training has gone on from; its clocks are part of those of the training."""

    step: Positive
    """Updates until it was written."""
    framework: Text
    """Name of the framework that wrote it."""
    version: Text
    """That framework's version."""
    benchmarker: Text
    """Version of benchmarker that wrote it."""
    written_at: Timestamp
    """When."""
    native: bool
    """Whether the very same framework wrote it, so that all of its own state was put back, and the steps are those that
    would have followed, bit for bit where it repeats itself."""
    not_restored: Text | None
    """What could not be put back; null for nothing."""
    training_seconds: Seconds
    """Until it was written: steps after the first, in seconds."""
    loading_seconds: Seconds
    """Until it was written: making mini-batches and bringing them to the device, in seconds."""
    evaluation_seconds: Seconds
    """Until it was written: evaluations, in seconds."""
    first_step_seconds: Seconds
    """Until it was written: first steps, in seconds."""
    checkpoint_seconds: Seconds
    """Until it was written: writing others, in seconds."""
    lost_steps: Count | None
    """Steps after it that were known to have been made, and were made again; null if that was not told."""
    lost_seconds: Seconds | None
    """What these had taken by the clocks of training and loading, in seconds; it is no part of other clocks."""


class TrainingCheckpoints(Group, frozen=True, kw_only=True):
    """What the training did with checkpoints."""

    every: Positive | None
    """Evaluations between two; null if none were to be written."""
    written: Count
    """Those that were written by this process."""
    failed: Count
    """Those that could not be written."""
    reason: Text | None
    """Why the last of these could not."""
    resumed: list[Resumed]
    """Those that it has gone on from, one after the other; empty if it began at its beginning."""


class ParameterDivergence(Group, frozen=True, kw_only=True):
    """How far a parameter is from the reference's, an item a step of training.divergence.step; null where the reference
    does not move it."""

    name: Text
    """Of the parameter."""
    elements: Positive
    """How many numbers it has."""
    followed_l2: list[Ratio | None]
    """Euclidean norm of the difference after one step from the framework's own weights, over the norm of what the
    reference does in that step."""
    followed_max: list[Ratio | None]
    """The largest element of that difference, over the largest of what the reference does in that step."""
    free_l2: list[Ratio | None]
    """Norm of the difference of two trainings from the same weights, over the norm of how far the reference has
    travelled since."""
    free_max: list[Ratio | None]
    """The largest element of that difference, over the largest of the way travelled."""


class Divergence(Group, frozen=True, kw_only=True):
    """First steps of the training, made again by the framework beside the reference in float64."""

    steps: Positive
    """Steps that were asked for."""
    state: Literal["framework", "reference"]
    """Whose optimizer state the followed reference starts a step from: the framework's own, or, of one that tells none,
    what its equations have made of the steps before."""
    step: list[Positive]
    """Those that are told of: all but for long ones, and none after weights that are no finite numbers."""
    parameters: list[ParameterDivergence]
    """All trainable ones."""
    seconds: Seconds
    """What it took, after the training and no part of it, in seconds."""


class TrainingResult(Group, frozen=True, kw_only=True):
    """What a worker tells of a training."""

    outcome: Literal["target", "epochs", "steps", "seconds", "loss", "no_improvement", "diverged"]
    """Why it ended: at its target, by one of its limits, or because its loss was no finite number any more."""
    reached: bool
    """Whether the target was reached; if not, it is censored at training.steps."""
    steps: Positive
    """Updates that were made."""
    most_steps: Positive
    """Updates that there may be at most."""
    steps_per_epoch: Positive
    """Whole mini-batches of an epoch."""
    evaluation_steps: Positive
    """Updates between two evaluations."""
    evaluated_samples: Positive
    """Samples of the part that is evaluated, all of them each time."""
    split_samples: SplitCounts
    classes: Classes
    feed: Feed | None = since("1.7")
    hit: Hit | None
    diverged: Diverged | None
    best: Number | None
    """The best value of the target's metric; null if none was a number."""
    last: Number | None
    """Its value at the last evaluation."""
    curve: Curve
    training_seconds: Seconds
    """All steps after the first, each row of them closed by the device's synchronisation, in seconds."""
    loading_seconds: Seconds
    """Making their mini-batches and bringing them to the device, in seconds."""
    evaluation_seconds: Seconds
    """All evaluations, in seconds."""
    first_step_seconds: Seconds
    """The first step, with whatever it compiles, and bringing its mini-batch to the device, in seconds."""
    final: Final | None
    skipped_steps: Count | None
    """Updates that loss scaling left out; null if the framework does not tell."""
    digests: TrainingDigests
    checkpoint_seconds: Seconds | None = since("1.7")
    """Writing checkpoints, which no other clock counts, in seconds (since 1.7)."""
    checkpoints: TrainingCheckpoints | None = since("1.7")
    """What it did with checkpoints; null if none were asked for (since 1.7)."""
    divergence: Divergence | None = since("1.7")
    """How far each parameter is from the reference's, step by step; null if it was not asked for (since 1.7)."""


class Training(TrainingResult, frozen=True, kw_only=True):
    """A training by a recipe to a stated quality; null for any other run, and if the run ended before its result
    (since 1.6)."""

    recipe: Recipe
    target: Target
