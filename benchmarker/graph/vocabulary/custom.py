"""Users' own operators."""

from __future__ import annotations

from typing import ClassVar

from benchmarker.graph.custom import Body, registered
from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, composite


class CustomOperators(Vocabulary):
    """One operator for all that users bring."""

    framework: ClassVar[str] = ""
    """Whose implementations it runs; empty for a meaning that runs none."""

    @composite
    def custom(self, *xs: Tensor, name: str) -> Tensor:
        """A user's own operator; see :class:`~benchmarker.graph.custom.CustomOperator`.

        Where a subclass has no implementation of it, its body runs.
        """
        reference = registered(name).reference
        if not isinstance(reference, Body):
            return self._unsupported(f"custom '{name}'")
        return reference.function(self, *xs)
