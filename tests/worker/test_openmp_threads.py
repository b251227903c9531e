"""A process with OpenMP's threads of an import is forked, and its child computes with as many."""

from __future__ import annotations

import pytest

from tests.support.framework_process import answer


@pytest.mark.framework("mxnet")
@pytest.mark.timeout(60)
def test_threads_end_before_a_fork_and_start_again_in_the_child() -> None:
    # MXNet's own engine has one thread in the process that forks, and starts it in the child.
    found = answer("mxnet", "-m", "tests.in_framework.openmp_pool")
    assert found["pool"] == found["before"] + 2
    assert found["ended"] == found["before"]
    assert found["told"] == [2]
    assert found["child"] == found["again"] == 2
