"""Where the numbers of another program come from."""

from benchmarker.records.schema.kinds import Digest, Group, Text


class Imported(Group, frozen=True, kw_only=True):
    """Where the numbers come from if another program measured them; only in records that 'results import'
    made (since 1.3)."""

    tool: Text
    """The program that measured."""
    form: Text
    """Which of its forms the file has: 'poster', 'time' (of an epoch) or 'total' (of all epochs)."""
    file: Text
    """Name of the file."""
    digest: Digest
    """SHA-256 of the file's content, as JSON with sorted names."""
    notes: list[Text]
    """What was assumed, and what of the file the record does not have; what speaks against the numbers is
    in trust."""
