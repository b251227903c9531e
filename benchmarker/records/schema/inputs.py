"""What the run started from: weights, mini-batches, data sets."""

from typing import Annotated, Literal

from msgspec import Meta

from benchmarker.records.schema.kinds import ByteCount, Digest, Group, Positive, Text, since


class Digests(Group, frozen=True, kw_only=True):
    """SHA-256 of what the run started from, the same for every framework."""

    parameters: Digest | None
    """Digest of all parameters before the first step."""
    batch: Digest | None
    """Digest of the mini-batch."""


class DataFile(Group, frozen=True, kw_only=True):
    """One file of a data set."""

    name: str
    """Name without the folder."""
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    """Of its bytes."""
    published: bool | None
    """Whether its authors publish that checksum; null where they publish none of it."""


class DataSet(Group, frozen=True, kw_only=True):
    """The data set; null if mini-batches were drawn from the seed."""

    name: Text
    """As --data names it."""
    source: str
    """The paper or page it comes from."""
    digest: Digest
    """SHA-256 of samples and labels as they were read."""
    samples: Positive
    """Number of samples."""
    sample_shape: list[Positive]
    """Shape of one sample."""
    classes: Positive
    """Number of classes."""
    files: list[DataFile]
    """What was read."""


class Inputs(Group, frozen=True, kw_only=True):
    """Where the mini-batches came from (since 1.1)."""

    kind: Literal["resident", "fed"]
    """'resident': on the device before a step; 'fed': brought there in each timed step."""
    distinct_batches: Positive | None
    """How many different mini-batches the steps took before they came around."""
    epoch_order_digests: list[Digest]
    """SHA-256 of the order of each epoch that a data set was taken in; empty for drawn values."""
    data: DataSet | None
    resident_bytes: ByteCount | None = since("1.2")
    """What the mini-batches on the device take together, in bytes (since 1.2)."""
