"""All wrong schemes by their own names, as entry points need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarker.api.scheme import Scheme
from tests.support import faulty_schemes, wrong_ranks


def _wrong(module: object) -> Sequence[type[Scheme]]:
    found = vars(module).values()
    return [
        one for one in found if isinstance(one, type) and issubclass(one, Scheme) and "name" not in vars(one)
    ]


PLANTED: dict[str, type[Scheme]] = {
    wrong.__name__: dataclass(frozen=True)(type(wrong.__name__, (wrong,), {"name": wrong.__name__}))
    for wrong in (*_wrong(faulty_schemes), *_wrong(wrong_ranks))
}
globals().update(PLANTED)
