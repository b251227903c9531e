"""What was changed about the graph before it was built."""

from typing import Literal

from benchmarker.records.schema.kinds import ByteCount, Count, Group, Positive, Text


class MicroBatch(Group, frozen=True, kw_only=True):
    """Each mini-batch was trained in parts; null if not."""

    samples: Positive
    """Of a part."""
    parts: Positive
    """Of a mini-batch."""
    statistics: Literal["of each micro-batch"] | None
    """What batch normalization takes them of, where the graph has it: then the function is another one."""
    loss_over: Text | None = None
    """What the loss is a mean over where that is not samples: of the micro-batches' own means then, which is another
    function."""


class FoldedBatchNorm(Group, frozen=True, kw_only=True):
    """Batch normalizations became part of the convolutions before them; null if not asked for."""

    folded: Count
    """How many of them."""


class PredictedMemory(Group, frozen=True, kw_only=True):
    """What the graph predicts of the memory of a step, in bytes."""

    predicted_bytes: ByteCount
    """Bytes, of what was built."""
    predicted_bytes_without: Count
    """Bytes, of the problem's own graph."""


class Transformations(Group, frozen=True, kw_only=True):
    """What was changed about the graph before it was built; null if nothing was (since 1.4)."""

    micro_batch: MicroBatch | None
    fold_batch_norm: FoldedBatchNorm | None
    memory: PredictedMemory
