"""Which environment variables a record has: those of libraries, and those that the framework itself declares."""

from __future__ import annotations

import pytest

from benchmarker import registry
from benchmarker.execution.recorded_variables import RECORDED
from benchmarker.execution.variables import ProcessSettings, recorded, worker_environment
from benchmarker.machine.secrets import is_secret_name

VARIABLES = {
    "MXNET_CPU_WORKER_NTHREADS": "1",
    "MXNET_API_KEY": "hunter2",
    "TF_XLA_FLAGS": "-x",
    "TF_SERVICE_TOKEN": "hunter2",
    "CUDA_LICENCE_SERVER": "of nobody's",
    "NCCL_AUTH_COOKIE": "hunter2",
    "TF_VAR_region": "of Terraform",
    "JAX_ENABLE_X64": "1",
    "KERAS_HOME": "/somewhere",
    "OMP_NUM_THREADS": "2",
    "HOME": "/home/somebody",
}


@pytest.mark.parametrize(
    ("framework", "own"),
    [
        ("mxnet", {"MXNET_CPU_WORKER_NTHREADS"}),
        ("tensorflow", {"TF_XLA_FLAGS"}),
        ("keras_jax", {"JAX_ENABLE_X64", "KERAS_HOME"}),
        ("numpy", set()),
    ],
)
def test_a_record_has_what_libraries_and_its_framework_read(framework: str, own: set[str]) -> None:
    plugin = registry.framework(framework)
    assert set(recorded(VARIABLES, (), plugin.recorded_variables)) == {"OMP_NUM_THREADS", *own}


def test_what_is_named_like_a_secret_is_not_recorded_even_where_it_is_declared() -> None:
    variables = {"FAST_API_KEY": "hunter2", "FAST_MODE": "driver=x;password=hunter2;level=3"}
    assert recorded(variables, (), tuple(variables)) == {"FAST_MODE": "driver=x;password=<secret>;level=3"}


def test_names_are_recorded_whole_not_by_their_beginning() -> None:
    assert recorded({"FAST_MODE": "1", "FAST_": "2"}, (), ("FAST_",)) == {"FAST_": "2"}


@pytest.mark.parametrize("framework", sorted(registry.names("frameworks")))
def test_no_declared_variable_is_left_out_for_its_name(framework: str) -> None:
    declared = registry.framework(framework).recorded_variables
    assert [name for name in (*RECORDED, *declared) if is_secret_name(name)] == []
    assert [name for name in declared if name.endswith("_")] == []


def test_threads_are_told_to_libraries_and_to_the_framework_that_asks() -> None:
    def environment(framework: str) -> dict[str, str]:
        plugin = registry.framework(framework)
        return worker_environment(plugin, ProcessSettings(), threads=3, seed=1, base={})

    assert environment("tensorflow")["TF_NUM_INTRAOP_THREADS"] == "3"
    assert environment("keras_tensorflow")["TF_NUM_INTRAOP_THREADS"] == "3"
    assert "TF_NUM_INTRAOP_THREADS" not in environment("pytorch")
    assert environment("pytorch")["OMP_NUM_THREADS"] == "3"
