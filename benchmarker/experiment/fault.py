"""One thing that makes no sense in an experiment."""

from __future__ import annotations

from typing import NamedTuple

from benchmarker.errors import UsageError


class Fault(NamedTuple):
    """Something wrong with an experiment.

    Parameters
    ----------
    where : tuple
        The field of a blueprint; for a problem, framework or optimizer then its position, the name of
        a setting and the position of a value, as far as they matter.
    message : str
        The rule, the value received and what would be right.
    """

    where: tuple[str | int, ...]
    message: str


class ExperimentError(UsageError):
    """Something makes no sense in an experiment; ``fault`` says which field it is."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
