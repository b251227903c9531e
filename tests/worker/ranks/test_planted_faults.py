"""Mistakes of exchanges between ranks, planted one at a time in real runs: the proof must find each and say where."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import write_distribution
from tests.support import planted_schemes
from tests.support.rank_runs import NUMPY, rank_command
from tests.support.wrong_ranks import CLIP

pytestmark = [pytest.mark.framework, pytest.mark.timeout(120)]

BEFORE, AFTER = "verify", "verify_again"
UPDATE = "update '"
REPLAY = "updates made again are off by"
OTHERS = "has different weights from rank 0"
FAULTS = {
    "Summed": (BEFORE, UPDATE),
    "AveragedTwice": (BEFORE, UPDATE),
    "SkippedStep": (BEFORE, "step 2' differs"),
    "RepeatedShard": (BEFORE, UPDATE),
    "NoResidual": (BEFORE, "step 3' differs"),
    "ForgottenResidual": (BEFORE, "step 3' differs"),
    "ThirdsOfTwo": (BEFORE, UPDATE),
    "MixedAfterwards": (BEFORE, UPDATE),
    "AveragedLate": (BEFORE, UPDATE),
    "OwnUpdates": (BEFORE, UPDATE),
    "OtherStart": (BEFORE, OTHERS),
    "OtherNeighbours": (BEFORE, OTHERS),
    "ClippedBefore": (BEFORE, UPDATE),
    "SameGradient": (BEFORE, "step 2' differs"),
    "LastBit": (AFTER, OTHERS),
    "SummedLate": (AFTER, "further steps of all ranks, 1: update '"),
    "SummedNowAndThen": (AFTER, "further steps of all ranks, "),
    "SkippedLate": (AFTER, OTHERS),
    "LostUpdate": (AFTER, REPLAY),
    "FreshLog": (AFTER, REPLAY),
}
"""With the stage in which each is found, and what is said of it."""
CLIPPED = "ClippedBefore"
CONSTANTS = {"AveragedLate": "/2", "NoResidual": "/0.1", "ForgottenResidual": "/0.1"}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return what became of a run of two ranks by each scheme."""
    folder = tmp_path_factory.mktemp("planted")
    schemes = [f"{name} = {planted_schemes.__name__}:{name}" for name in FAULTS]
    command = rank_command(folder, write_distribution(folder / "wrong", "wrong", {"schemes": schemes}, {}))
    asked = ",".join(f"{name}{CONSTANTS.get(name, '')}" for name in FAULTS if name != CLIPPED)
    # Momentum, so that an update is not its gradient alone.
    settings = (*NUMPY, "--ranks=2", "--optimizer=momentum", "--network=shared", "--json")
    finished = command(*settings, f"--scheme={asked}")
    clipped = command(*settings, f"--scheme={CLIPPED}", f"--clip-norm={CLIP}")
    assert (finished.status, clipped.status) == (1, 1), finished.stderr
    names = [name for name in FAULTS if name != CLIPPED]
    return dict(zip([*names, CLIPPED], [*finished.records, *clipped.records], strict=True))


def test_every_wrong_scheme_is_planted() -> None:
    # Of equal elements there are none here; which of them are sent is looked at beside the definition.
    assert set(FAULTS) | {"HigherTies"} == set(planted_schemes.PLANTED)


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_found(fault: str, records: dict[str, dict[str, Any]]) -> None:
    stage, words = FAULTS[fault]
    error = records[fault]["error"]
    assert error is not None
    assert (error["type"], error["stage"]) == ("VerificationFailed", stage), error
    assert words in error["message"]
    assert error["message"].count("rank 0") <= 1
    assert not error["message"].startswith(("rank 0 of 2", "rank 1 of 2"))
