"""Faults that show late: which of them ``check`` catches."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarker.worker.conformance import conformance_checks
from tests.support import planted
from tests.support.planted import PLANTED
from tests.worker.test_conformance_suite import failures

CHECKS = {check.name: check for check in conformance_checks()}
LATE = {
    **dict.fromkeys(
        (name for name, fault in PLANTED.items() if fault.shows_in in (planted.TRAINING, planted.STATISTICS)),
        "program/late/train_step",
    ),
    "outputs are kept by content": "program/late/time-of-unseen",
    "outputs are kept after five calls": "program/late/infer",
    "a layer is skipped after five calls": "program/late/infer",
    "outputs are forgotten after five calls": "program/late/infer",
    "the fourth mini-batch is kept": "program/late/infer",
}
OF_THE_RULE = {"momentum is dampened", "momentum is 1 % off", "Adam is not corrected for its start"}
"""What is wrong with an optimizer alone is followed by its own checks."""


@pytest.mark.parametrize("fault", sorted(set(LATE) - OF_THE_RULE))
def test_later_calls_show_what_earlier_ones_do_not(fault: str) -> None:
    found_by = LATE[fault]
    with np.errstate(all="ignore"):
        assert failures(PLANTED[fault].framework(), (CHECKS[found_by],)) == {found_by}
