"""Which samples of a data set train, validate and test: a rule, so that everybody has the same without a file of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data import values
from benchmarker.errors import UsageError, did_you_mean, plural
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

PARTS = ("train", "validation", "test")
DEFAULT_SHARES: Mapping[str, float] = {"train": 0.8, "test": 0.2}
_SUM_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True, eq=False)
class Split:
    """The parts of a data set.

    Parameters
    ----------
    train, validation, test : array ``(count,)``
        int64 indices of samples, ascending; every sample is in exactly one part.
    """

    train: Array
    validation: Array
    test: Array

    def part(self, name: str) -> Array:
        """Return the indices of a part.

        Raises
        ------
        UsageError
            If there is no part of that name, or it is empty.
        """
        if name not in PARTS:
            raise UsageError(f"unknown part of a data set '{name}'{did_you_mean(name, PARTS)}")
        indices: Array = getattr(self, name)
        if not len(indices):
            raise UsageError(f"the data set was split without samples for {name}; give '{name}' a share")
        return indices

    @property
    def counts(self) -> dict[str, int]:
        """Number of samples in each part."""
        return {name: len(getattr(self, name)) for name in PARTS}

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each part's indices, as little-endian 64-bit integers."""
        return {name: values.index_digest(getattr(self, name)) for name in PARTS}

    @property
    def digest(self) -> str:
        """SHA-256 of all parts together."""
        return values.digest({name: getattr(self, name) for name in PARTS})


def split(labels: Array, shares: Mapping[str, float] = DEFAULT_SHARES, seed: int = 0) -> Split:
    """Split a data set so that every class has the same shares (stratified).

    The samples of each class are put in an order by random 64-bit keys (PCG64, a stream a class). Of ``n``
    samples, ``floor(share * n + 1/2)`` go to test from the end, as many by its share to validation before
    them, and the rest to train. Shares are taken as the decimals that they are written as, so that no
    rounding of binary numbers shows.

    Parameters
    ----------
    labels : array ``(count,)``
        Class indices.
    shares : mapping
        A share of each part, ``train``, ``validation`` and ``test``, together 1; a part that is left out has none.
    seed : int
        Of the order. It is not that of a run: the same split serves all of them.

    Raises
    ------
    UsageError
        If the shares are no such shares, or a part that has one would lack a class.
    """
    return _stratified(labels, exact_shares(shares), seed)


def _stratified(labels: Array, exact: Mapping[str, Fraction], seed: int) -> Split:
    parts: dict[str, list[Array]] = {name: [np.empty(0, np.int64)] for name in PARTS}
    for label in map(int, np.unique(labels)):
        own = np.flatnonzero(labels == label)
        shuffled = own[values.draw_order(seed, f"split/class/{label}", len(own))]
        for name, indices in _cut(shuffled, exact).items():
            if exact[name] and not len(indices):
                raise UsageError(_class_is_missing(name, label, len(own), exact[name]))
            parts[name].append(indices)
    return Split(**{name: np.sort(np.concatenate(found)) for name, found in parts.items()})


def split_in_order(count: int, shares: Mapping[str, float] = DEFAULT_SHARES) -> Split:
    """Split a data set whose neighbours belong together, as pieces of a text do: first train, then the others.

    Raises
    ------
    UsageError
        If the shares are no such shares, or a part that has one would be empty.
    """
    exact = exact_shares(shares)
    parts = _cut(np.arange(count, dtype=np.int64), exact)
    for name, indices in parts.items():
        if exact[name] and not len(indices):
            raise UsageError(
                f"a share of {float(exact[name]):g} for {name} leaves none of {count} samples there"
            )
    return Split(**parts)


def split_before_test(labels: Array, trained: int, shares: Mapping[str, float], seed: int = 0) -> Split:
    """Split a data set whose last samples are the test set that its authors publish.

    Parameters
    ----------
    labels : array ``(count,)``
        Class indices.
    trained : int
        Number of the samples before the test set. Train and validation divide them, class by class, in the
        proportion of their shares; that of test says nothing.
    shares, seed
        As :func:`split` has them.

    Raises
    ------
    UsageError
        As :func:`split` does.
    """
    exact = exact_shares(shares)
    of_the_rest = exact["train"] + exact["validation"]
    proportions = {name: exact[name] / of_the_rest for name in ("train", "validation")}
    rest = _stratified(labels[:trained], {**proportions, "test": Fraction(0)}, seed)
    return Split(rest.train, rest.validation, np.arange(trained, len(labels), dtype=np.int64))


def exact_shares(shares: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return the share of every part as the decimal that it is written as.

    Raises
    ------
    UsageError
        On an unknown part, a share that is no number from 0 to 1, or a sum other than 1.
    """
    found = dict.fromkeys(PARTS, Fraction(0))
    for name, share in shares.items():
        if name not in PARTS:
            raise UsageError(f"unknown part of a data set '{name}'{did_you_mean(name, PARTS)}")
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise UsageError(f"the share of {name} must be a number from 0 to 1, got {share!r}")
        found[name] = Fraction(repr(float(share)))
    total = sum(found.values(), Fraction(0))
    if abs(total - 1) > _SUM_TOLERANCE:
        raise UsageError(f"the shares of a split must add up to 1, got {float(total):g}")
    if not found["train"]:
        raise UsageError("a split needs a share for train, got none")
    return found


def _cut(indices: Array, shares: Mapping[str, Fraction]) -> dict[str, Array]:
    """Return the parts of indices in their order: train, then validation, then test."""
    count = len(indices)
    test = _rounded(shares["test"] * count)
    validation = min(_rounded(shares["validation"] * count), count - test)
    train = count - test - validation
    bounds: Sequence[int] = (0, train, train + validation, count)
    return {name: indices[bounds[i] : bounds[i + 1]] for i, name in enumerate(PARTS)}


def _rounded(number: Fraction) -> int:
    return (2 * number.numerator + number.denominator) // (2 * number.denominator)


def _class_is_missing(name: str, label: int, count: int, share: Fraction) -> str:
    return (
        f"a share of {float(share):g} for {name} leaves none of class {label}'s {plural(count, 'sample')} there; "
        f"give it a larger one, or leave {name} out"
    )
