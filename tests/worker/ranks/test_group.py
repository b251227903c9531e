"""What a rank knows of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.world import World
from benchmarker.worker.ranks.group import Group


class Orchestrator:
    """A channel to one that has heard of two ranks and of a server, with these processes."""

    def gather(self, name: str, value: Any, *, everyone: bool = False) -> list[int]:
        return [10, 11, 12] if everyone else [10, 11]


@pytest.mark.parametrize(("rank", "others"), [(0, (11, 12)), (1, (10, 12))])
def test_a_server_is_no_stranger(rank: int, others: tuple[int, ...], tmp_path: Path) -> None:
    group = Group(World(rank, 2, ("a:1", "a:2")), Orchestrator(), tmp_path)  # type: ignore[arg-type]
    group.meet()
    assert group.others == others
