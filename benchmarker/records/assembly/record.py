"""The record of a run: everything that was asked, found and measured, as one JSON object."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.errors import BenchmarkerError
from benchmarker.execution.claimed_version import version_check, version_failure
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.environments.integrity import mark_damaged
from benchmarker.execution.outcomes import Failure
from benchmarker.execution.variables import recorded
from benchmarker.experiment.spec import RunSpec, specification
from benchmarker.graph.cost import GraphCost
from benchmarker.machine.secrets import without_secrets
from benchmarker.records.assembly.anonymous import anonymised
from benchmarker.records.assembly.command import rerun_command
from benchmarker.records.assembly.cost import step_cost
from benchmarker.records.assembly.distributed import distributed_of
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.assembly.metrics import metrics_of, peaks_of
from benchmarker.records.assembly.timing import timing_of
from benchmarker.records.assembly.training import training_of
from benchmarker.records.assembly.transformations import transformations_of
from benchmarker.records.assembly.trust import grade_run
from benchmarker.records.keys import comparable
from benchmarker.records.schema.execution import CompileCache, ContainerImage, Environment, Execution
from benchmarker.records.schema.inputs import DataSet, Digests, Inputs
from benchmarker.records.schema.members import members_of
from benchmarker.records.schema.metrics import Memory
from benchmarker.records.schema.outcome import Error
from benchmarker.records.schema.record import Record
from benchmarker.records.schema.replication import Comparable
from benchmarker.records.schema.verification import AfterTiming, Verification
from benchmarker.records.schema.versions import NEWEST
from benchmarker.records.schema.workload import Device, Framework, Optimizer, Problem
from benchmarker.records.timestamps import as_written
from benchmarker.version import __version__


def make_record(facts: RunFacts, failed: Failure | None, log_tail: str = "") -> dict[str, Any]:
    """Return the record of a run.

    Parameters
    ----------
    facts : RunFacts
        What is known.
    failed : Failure or None
        Why it did not end well.
    log_tail : str
        The last lines of the worker's output, kept when it failed.
    """
    # Texts of the specification are any to the type checker; the store holds them to their choices.
    spec = facts.spec
    cost = step_cost(spec)
    timing = timing_of(facts)
    peaks, peaks_reason = peaks_of(facts)
    record = Record(
        schema_version=NEWEST,
        id=uuid.uuid4().hex,
        status=failed.status if failed else "ok",  # type: ignore[arg-type]
        error=_error(failed, log_tail, facts.interpreter),
        started_at=as_written(facts.started_at),
        ended_at=as_written(facts.ended_at or facts.now),
        benchmarker_version=__version__,
        specification=specification(spec),
        command=rerun_command(spec, facts.event("prepared").get("version")),
        mode=spec.mode,  # type: ignore[arg-type]
        batch_size=spec.batch_size,
        precision=spec.precision,
        seed=spec.seed,
        repetition=spec.repetition,
        framework=_framework(facts),
        problem=_problem(facts, cost),
        optimizer=_optimizer(facts) if spec.mode == "training" else None,
        device=Device(type=spec.device, name=facts.device_name, count=max(1, len(spec.gpus))),
        execution=_execution(facts),
        platform=dict(facts.platform),
        collectors=dict(facts.collectors),
        environment=_environment(facts),
        digests=Digests(**facts.event("prepared").get("digests", {"parameters": None, "batch": None})),
        inputs=_inputs(facts),
        timing=timing,
        metrics=plain(metrics_of(facts, cost, timing, peaks)),
        peaks=peaks,
        peaks_reason=peaks_reason,
        **{name: facts.event("result").get(name) for name in ("learning", "operator", "profile")},
        transformations=transformations_of(spec, cost),
        training=training_of(facts),
        distributed=distributed_of(facts, cost),
        memory=_memory(facts, cost),
        monitors=dict(facts.monitors),
        trust=grade_run(facts, timing),
        comparable=Comparable(**comparable(spec, facts.data)),
        replication=None,
        acceptance=None,
        verification=_verification(facts),
        log=None,
    )
    return _publishable(plain(record), spec)


def _publishable(record: dict[str, Any], spec: RunSpec) -> dict[str, Any]:
    """Return the record without secrets, and without names if it is to be anonymous."""
    redacted: dict[str, Any] = without_secrets(record)
    return anonymised(redacted, spec.problem.file) if spec.anonymous else redacted


def plain(group: Struct) -> dict[str, Any]:
    """Return a group as the object of JSON that it is; members that need not be there are left out when null."""
    known = members_of(type(group))
    found = {name: getattr(group, name) for name in group.__struct_fields__}
    return {name: _plain(value) for name, value in found.items() if value is not None or known[name].since}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return plain(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


_OF_ENVIRONMENT = {"ImportError", "ModuleNotFoundError", "OSError", "SyntaxError", "ValueError", "EOFError"}
"""What a file that is damaged raises when it is imported; a library may also end the process."""


def _error(failed: Failure | None, log_tail: str, interpreter: Interpreter | None) -> Error | None:
    if failed is None:
        return None
    message = failed.message
    is_suspect = failed.stage == "import" or failed.status == "crashed"
    if interpreter and interpreter.key and (is_suspect or failed.type in _OF_ENVIRONMENT):
        message = "; ".join(filter(None, (message, mark_damaged(interpreter.key))))
    return Error(
        stage=failed.stage,
        type=failed.type,
        message=message,
        log_tail=log_tail or None,
    )


def _plugin(facts: RunFacts) -> FrameworkPlugin | None:
    """Return what is known of the framework; None if its plugin is broken, which ended the run."""
    try:
        return registry.framework(facts.spec.framework)
    except BenchmarkerError:
        return None


def _framework(facts: RunFacts) -> Framework:
    spec, prepared = facts.spec, facts.event("prepared")
    version = prepared.get("version")
    plugin = _plugin(facts)
    checked = version_check(plugin, facts.events) if plugin else None
    return Framework(
        name=spec.framework,
        version=version,
        full=f"{spec.framework}-{version}" if version else None,
        requested_version=spec.framework_version,
        distribution=plugin.distribution if plugin else None,
        installed_version=checked.installed if checked else None,
        options=dict(spec.framework_options),
        libraries=facts.event("result").get("libraries", {}),
        composed_operators=prepared.get("composed_operators", []),
    )


def _problem(facts: RunFacts, cost: GraphCost) -> Problem:
    spec = facts.spec
    problem = registry.problem(spec.problem)
    return Problem(
        name=problem.name,
        task=problem.task,
        source=problem.source,
        distribution=registry.problem_entry(spec.problem).origin,
        parameters=dict(spec.problem_parameters),
        parameter_count=cost.parameter_count,
        flops_per_step=cost.flops,
        flops_per_sample=cost.forward_flops // spec.batch_size,
        elementwise_flops_per_step=cost.elementwise_flops,
        bytes_per_step=cost.bytes,
        custom_operators=facts.event("prepared").get("custom_operators", {}),
    )


def _execution(facts: RunFacts) -> Execution:
    spec = facts.spec
    plugin = _plugin(facts)
    folders = facts.compile_cache.cache.folders if facts.compile_cache else ()
    named = (*plugin.recorded_variables, *plugin.thread_variables, *plugin.environment) if plugin else ()
    return Execution(
        launcher=spec.launcher,
        start=spec.start,  # type: ignore[arg-type]
        worker_seconds=facts.worker_seconds,
        process=facts.event("result").get("process"),
        shared=facts.event("forked").get("shared"),
        threads=spec.threads,
        affinity=list(spec.affinity),
        timeout_seconds=spec.timeout,
        compile_cache=_compile_cache(facts),
        environment_variables={**recorded(facts.environment_variables, folders, named)},
        warmup_requested=spec.warmup,
        steps_requested=spec.steps,
        samples_per_epoch=spec.samples_per_epoch,
    )


def _compile_cache(facts: RunFacts) -> CompileCache:
    used, result = facts.compile_cache, facts.event("result")
    compilations = result.get("stage_compilations")
    return CompileCache(
        kind=facts.spec.compile_cache,  # type: ignore[arg-type]
        files_before=used.files_before if used else None,
        files_after=used.files_after if used else None,
        state=used.state(compilations) if used and result else None,  # type: ignore[arg-type]
        compilations=compilations,
    )


def _environment(facts: RunFacts) -> Environment:
    interpreter, result = facts.interpreter, facts.event("result")
    python = result.get("python", {})
    return Environment(
        kind=interpreter.kind if interpreter else None,  # type: ignore[arg-type]
        key=interpreter.key if interpreter else None,
        python=python.get("version") or (interpreter.python_version if interpreter else None),
        implementation=python.get("implementation"),
        build=python.get("build"),
        profile_guided=python.get("profile_guided"),
        packages=result.get("packages", {}),
        container=_container(interpreter),
    )


def _container(interpreter: Interpreter | None) -> ContainerImage | None:
    if interpreter is None or interpreter.container is None:
        return None
    container = interpreter.container
    return ContainerImage(
        engine=container.engine,
        engine_version=container.engine_version or None,
        image=container.image,
        digest=container.digest,
        system=dict(container.system),
        system_packages=dict(container.system_packages),
    )


def _inputs(facts: RunFacts) -> Inputs:
    found, data = facts.event("result").get("data", {}), facts.data
    return Inputs(
        kind=facts.spec.inputs,  # type: ignore[arg-type]
        distinct_batches=found.get("distinct_batches"),
        resident_bytes=found.get("resident_bytes"),
        epoch_order_digests=found.get("epochs", []),
        data=DataSet(**{name: data[name] for name in DataSet.__struct_fields__}) if data else None,
    )


def _optimizer(facts: RunFacts) -> Optimizer:
    """Return the optimizer, with how the framework computed it."""
    chosen = facts.spec.optimizer
    return Optimizer(
        kind=chosen.kind,
        learning_rate=chosen.learning_rate,
        momentum=chosen.momentum,
        beta1=chosen.beta1,
        beta2=chosen.beta2,
        epsilon=chosen.epsilon,
        weight_decay=chosen.weight_decay,
        decay=chosen.decay,
        further=dict(chosen.further),
        digest=chosen.digest,
        **vars(chosen.modifiers),
        variant=facts.event("prepared").get("optimizer_variant"),
    )


def _memory(facts: RunFacts, cost: GraphCost) -> Memory:
    """Return what was measured, and beside it what the graph predicts."""
    spec = facts.spec
    measured = facts.event("result").get("memory", {"peak_bytes": None, "framework": {}})
    return Memory(**measured, predicted=cost.memory(spec.optimizer if spec.mode == "training" else None))


def _verification(facts: RunFacts) -> Verification:
    before, after = _members(facts, "verification"), _members(facts, "proof")
    proof, failed = (AfterTiming(**after) if after else None), _failed_later(facts, after)
    if not before:
        why = "switched off by --no-verify" if not facts.spec.verify else "the run ended before it"
        unknown = dict.fromkeys(("reference", "tolerance_reason", "worst"))
        return Verification(
            status="skipped", reason=why, samples=0, tensors=[], after_timing=proof, **unknown
        )
    if failed:
        before = {**before, "status": "failed", "reason": failed}
    return Verification(**before, after_timing=proof)


def _failed_later(facts: RunFacts, proof: Mapping[str, Any]) -> str | None:
    """Return what was found wrong of a run after its tensors had been compared."""
    if proof.get("status") == "failed":
        return f"after the timed part: {proof['reason']}"
    plugin = _plugin(facts)
    contradiction = version_failure(plugin, facts.events) if plugin else None
    return contradiction.message if contradiction else None


def _members(facts: RunFacts, event: str) -> dict[str, Any]:
    return {name: value for name, value in facts.event(event).items() if name != "event"}
