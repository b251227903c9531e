"""Users' own operators."""

from __future__ import annotations

from typing import Any, ClassVar

from benchmarker.graph.attributes import RECORDS, keywords
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
        return reference.function(_Flat(self), *xs)


class _Flat:
    """The operators of a meaning as a network has them: what is a record elsewhere is given by its fields."""

    def __init__(self, meaning: CustomOperators) -> None:
        self._meaning = meaning

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._meaning, name)
        if name not in RECORDS:
            return found
        return lambda *tensors, **attributes: found(*tensors, **keywords(name, attributes))
