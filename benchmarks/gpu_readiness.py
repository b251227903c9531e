"""Does everything that needs a GPU work on this one? Ten minutes, no network, records and one page of what came out.

Needs an interpreter that has the frameworks with their GPU builds and what benchmarker requires; what is missing of
that travels as wheels (``pip install --no-index --target``). Each part is a process with a time limit, so that one
which fails or hangs does not end the rest. ``python benchmarks/gpu_readiness.py --out=FOLDER``;
``--device=cpu --quick --frameworks=numpy`` goes the same way without a GPU, which shows that the script works and
nothing of a GPU.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
BUDGET_SECONDS = 600.0
DISTRIBUTIONS = {
    "pytorch": "torch",
    "jax": "jax",
    "cupy": "cupy-cuda13x",
    "cudnn": "nvidia-cudnn-cu13",
    "numpy": "numpy",
}
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
SIZES = {False: 4096, True: 64}
"""Of the product, on a GPU and quick."""
TOO_LARGE = {
    "cuda": ("--problem=bert_base", "--mode=training", "--batch-size=8192"),
    "cpu": ("--problem=gemm", "--mode=inference", "--set=m=60000", "--set=n=60000", "--set=k=60000"),
}
"""More than a device of 141 GB holds, by activations alone of a mini-batch that is drawn at once; without a device,
more than :data:`HOST_BYTES`."""
CHECKED = "forward/*,gradient/*,network/*,program/*,synchronize/*,profile/*"
"""Of a conformance suite: the problems, whose reference is a processor's work of minutes, are left to ``check``."""
HOST_BYTES = 8 << 30
"""Address space of what is to run out of memory without a device: the machine itself must not."""

_COMPILED, _GRAPHS = "--set=pytorch.compile=true", {"TORCHINDUCTOR_CUDAGRAPHS": "1"}

Record = dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """How a part's process ended; the status is None if it was ended for its time."""

    status: int | None
    stdout: str
    stderr: str
    seconds: float

    @property
    def records(self) -> list[Record]:
        """The records that it printed, a JSON object a line."""
        lines = [line for line in self.stdout.splitlines() if line.startswith("{")]
        return [record for record in map(json.loads, lines) if "schema_version" in record]

    @property
    def last_words(self) -> str:
        """The last line that it wrote, for a person."""
        lines = [line for line in (self.stderr or self.stdout).strip().splitlines() if line.strip()]
        return lines[-1][:300] if lines else f"it wrote nothing and ended with status {self.status}"


@dataclass(frozen=True)
class Outcome:
    """What a part came to, and why."""

    status: str
    text: str


Judge = Callable[[Finished], Outcome]


@dataclass(frozen=True)
class Part:
    """One thing that must work: a command of ours, how long it may take, and what of it is looked at."""

    name: str
    command: tuple[str, ...]
    limit: float
    judge: Judge
    host_bytes: int | None = None
    """Address space that it may take; None for no limit."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the environment, beside those of this process."""

    @property
    def key(self) -> tuple[str, ...]:
        """What parts that are one run have in common."""
        return (*self.command, *(f"{name}={value}" for name, value in self.variables.items()))


@dataclass(frozen=True)
class Asked:
    """What all parts have in common."""

    device: str
    quick: bool
    frameworks: tuple[str, ...]
    results: Path

    def command(self, framework: str, *arguments: str) -> tuple[str, ...]:
        """Return a run of a framework as this interpreter has it."""
        length = (
            ()
            if any(a.startswith("--steps") for a in arguments)
            else (f"--seconds={0.05 if self.quick else 1}",)
        )
        where = ("--env=current", f"--device={self.device}", f"--results={self.results}", "--json")
        return ("run", f"--framework={requested(framework)}", *where, *length, *arguments)


def requested(framework: str) -> str:
    """Return a framework at the version that this interpreter has, as commands take it."""
    version = installed(framework)
    return framework if version is None else f"{framework}=={version}"


def installed(framework: str) -> str | None:
    """Return the public version of a framework that this interpreter has, None if it has none."""
    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(framework, framework)).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


# --- what is looked at ---------------------------------------------------------------------------


def by_status(finished: Finished) -> Outcome:
    """Judge a command that prints no records."""
    if finished.status == 0:
        lines = finished.stdout.strip().splitlines()
        return Outcome(PASSED, lines[-1].strip()[:200] if lines else "")
    return Outcome(FAILED, finished.last_words)


def verified(finished: Finished, *, also: Callable[[Record], Outcome] | None = None) -> Outcome:
    """Judge records: each must be ok and verified, and whatever ``also`` looks at must be there."""
    records = finished.records
    if not records:
        refused = "cannot" in finished.last_words or "has no" in finished.last_words
        return Outcome(SKIPPED if refused else FAILED, finished.last_words)
    for record in records:
        if record["status"] != "ok":
            error = record["error"]
            kind = SKIPPED if error["type"] == "UnsupportedError" else FAILED
            return Outcome(kind, f"{record['status']}: {error['message'].splitlines()[0][:200]}")
        if record["verification"]["status"] != "passed":
            return Outcome(FAILED, f"verification: {record['verification']['reason']}")
    last = records[-1]
    if also is not None:
        return also(last)
    return Outcome(PASSED, _speed(last))


def _speed(record: Record) -> str:
    step, rate = record["timing"]["step_seconds"]["median"], record["metrics"]["flops_per_second"]
    return f"{step * 1e3:.4g} ms per step, {rate / 1e12:.4g} TFLOP/s, {record['framework']['full']}"


def with_profile(record: Record) -> Outcome:
    """Look at the operators that a profile names."""
    profile = record["profile"] or {}
    nodes = profile.get("nodes") or []
    if not nodes:
        return Outcome(SKIPPED, str(profile.get("reason") or "the record has no profile"))
    return Outcome(
        PASSED,
        f"{len(nodes)} nodes, of operators {', '.join(sorted({node['operator'] for node in nodes}))[:120]}",
    )


def with_energy(record: Record) -> Outcome:
    """Look at joules."""
    joules = record["metrics"]["joules"]
    if joules is None:
        collector = record["collectors"].get("energy") or {}
        return Outcome(SKIPPED, str(collector.get("reason") or "no counter gave joules"))
    return Outcome(PASSED, f"{joules:.4g} J in {record['timing']['wall_seconds']:.3g} s")


def with_events(record: Record) -> Outcome:
    """Look at the device's own time of steps beside the host's."""
    told = record["timing"]["device_event_seconds"]
    if not told:
        return Outcome(SKIPPED, "the device has no events, or steps are too short for them")
    share = sum(told) / record["timing"]["total_seconds"]
    return Outcome(
        PASSED if 0.2 < share <= 1.05 else FAILED, f"{share:.3f} of the host's time, by the device's clock"
    )


def out_of_memory(finished: Finished) -> Outcome:
    """Look whether a run that does not fit ended as one."""
    found = [record["status"] for record in finished.records]
    if found == ["out_of_memory"]:
        return Outcome(PASSED, finished.records[0]["error"]["message"].splitlines()[0][:200])
    return Outcome(FAILED, f"ended as {', '.join(found) or 'nothing'}: {finished.last_words}")


def ratios(finished: Finished) -> Outcome:
    """Read the comparisons of a lowering benchmark."""
    lines = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    told = "; ".join(f"{c['name']} {c['ratio']:.3f} [{c['low']:.3f}, {c['high']:.3f}]" for c in lines)
    if finished.status != 0:
        return Outcome(FAILED, f"{told}; {finished.last_words}" if told else finished.last_words)
    return Outcome(PASSED, told)


def eager_and_compiled(finished: Finished) -> Outcome:
    """Compare the median steps of a program that is not compiled and one that is."""
    outcome = verified(finished)
    if outcome.status != PASSED or len(finished.records) < 2:
        return outcome
    medians = {
        r["framework"]["options"]["compile"]: r["timing"]["step_seconds"]["median"] for r in finished.records
    }
    return Outcome(PASSED, f"compiled over eager {medians[True] / medians[False]:.3f}")


# --- the parts -----------------------------------------------------------------------------------


def parts(asked: Asked) -> Iterator[Part]:
    """Yield every part, the cheap ones first: what comes last may fall to the time."""
    for framework in asked.frameworks:
        yield from _of_framework(asked, framework)
    for framework in asked.frameworks:
        where = ("--env=current", f"--device={asked.device}")
        check = ("check", requested(framework), *where, f"--only={CHECKED}", "--quiet")
        yield Part(f"{framework}: check", check, 60 if asked.quick else 300, by_status)


def _of_libraries(asked: Asked) -> Iterator[Part]:
    """Yield what cuBLAS and cuDNN have: single operators of DeepBench in each precision."""
    for problem in ("deepbench_gemm", "deepbench_conv", "deepbench_rnn"):
        for precision in PRECISIONS:
            command = asked.command(
                "cudnn", f"--problem={problem}", "--mode=inference", f"--precision={precision}"
            )
            yield Part(f"cudnn: {problem}, {precision}", command, 60.0, verified)


def _of_framework(asked: Asked, framework: str) -> Iterator[Part]:
    if framework == "cudnn":
        yield from _of_libraries(asked)
        return
    limit, size = 90.0, SIZES[asked.quick]
    product = ("--problem=gemm", "--mode=inference", *(f"--set={name}={size}" for name in "mnk"))
    for precision in PRECISIONS:
        command = asked.command(framework, *product, f"--precision={precision}")
        yield Part(f"{framework}: product, {precision}", command, limit, verified)
    network = "--problem=mnist_mlp" if asked.quick else "--problem=resnet50"
    run = asked.command(framework, network, "--mode=training", "--breakdown")
    looks = (("profiler", with_profile), ("energy", with_energy), ("device events", with_events))
    for name, look in looks:
        # The same run is asked for once: what is looked at differs.
        yield Part(f"{framework}: {name}", run, 2 * limit, functools.partial(verified, also=look))
    large = asked.command(framework, *TOO_LARGE[asked.device], "--steps=1", "--warmup=0", "--no-verify")
    bounded = HOST_BYTES if asked.device == "cpu" else None
    yield Part(f"{framework}: out of memory", large, limit, out_of_memory, bounded)
    if framework == "pytorch":
        yield from _of_pytorch(asked)


def _of_pytorch(asked: Asked) -> Iterator[Part]:
    operator = asked.command(
        "pytorch",
        f"--problem={ROOT / 'examples' / 'operators' / 'hard_swish.py'}",
        "--mode=gradient",
        f"--set=implementation={'cuda' if asked.device == 'cuda' else 'c++'}",
    )
    yield Part("pytorch: a CUDA operator", operator, 90, verified)
    small = (
        ("--set=layers=2", "--set=width=64", "--set=heads=4", "--set=feed_forward=128") if asked.quick else ()
    )
    bert = asked.command(
        "pytorch", "--problem=bert_base", "--mode=inference", "--set=pytorch.compile=false,true", *small
    )
    replayed = asked.command("pytorch", "--problem=bert_base", "--mode=inference", _COMPILED)
    trained = asked.command("pytorch", "--problem=resnet50", "--mode=training", _COMPILED)
    yield Part("pytorch: BERT, eager and compiled", bert, 150, eager_and_compiled)
    if asked.device == "cuda":
        yield Part("pytorch: BERT with CUDA graphs", replayed, 120, verified, variables=_GRAPHS)
        yield Part("pytorch: training ResNet-50 with CUDA graphs", trained, 180, verified, variables=_GRAPHS)
    sizes = (
        ("--image-size=64", "--batch-size=2", "--pairs=2")
        if asked.quick
        else ("--batch-size=64", "--pairs=8")
    )
    script = (
        str(ROOT / "benchmarks" / "lowering" / "pytorch_resnet50.py"),
        f"--device={asked.device}",
        *sizes,
    )
    further = () if asked.quick else ("--compile",)
    yield Part("pytorch: ResNet-50 over the plain idiom", (*script, *further), 200, ratios)


# --- running them --------------------------------------------------------------------------------


def run_part(
    command: Sequence[str],
    limit: float,
    host_bytes: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command in a session of its own, and end it with its process group after its time."""
    whole = command if command[0].endswith(".py") else ("-m", "benchmarker", *command)
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, *whole],
            stdout=out,
            stderr=errors,
            start_new_session=True,
            cwd=ROOT,
            env={**os.environ, **(variables or {})},
            preexec_fn=None if host_bytes is None else functools.partial(_bound, host_bytes),
        )
        status: int | None
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        out.seek(0)
        errors.seek(0)
        return Finished(status, out.read(), errors.read(), time.monotonic() - began)


def _bound(host_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (host_bytes, host_bytes))


def outcomes(asked: Asked, budget: float, only: Sequence[str]) -> Iterator[tuple[Part, Outcome, float]]:
    """Yield each part whose name has one of ``only`` with what it came to and its seconds; a command runs once."""
    began, known = time.monotonic(), dict[tuple[str, ...], Finished]()
    for part in parts(asked):
        if only and not any(text in part.name for text in only):
            continue
        framework = part.name.partition(":")[0]
        left = budget - (time.monotonic() - began)
        if installed(framework) is None:
            yield (
                part,
                Outcome(SKIPPED, f"this interpreter has no {DISTRIBUTIONS.get(framework, framework)}"),
                0.0,
            )
            continue
        again = part.key in known
        if not again and left < 1:
            yield part, Outcome(SKIPPED, f"the {budget:g} s of all parts were over"), 0.0
            continue
        finished = (
            known[part.key]
            if again
            else run_part(part.command, min(part.limit, left), part.host_bytes, part.variables)
        )
        known[part.key] = finished
        outcome = judged(part, finished)
        if finished.status is None and left < part.limit:
            outcome = Outcome(SKIPPED, f"the {budget:g} s of all parts ended in it")
        yield part, outcome, 0.0 if again else finished.seconds


def judged(part: Part, finished: Finished) -> Outcome:
    """Return what a part came to; what is not there as expected is a failure of the part alone."""
    if finished.status is None:
        return Outcome(FAILED, f"ended after {finished.seconds:.0f} s, its limit: {finished.last_words}")
    try:
        return part.judge(finished)
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        return Outcome(
            FAILED, f"its answer could not be read ({type(error).__name__}: {error}): {finished.last_words}"
        )


def page(asked: Asked, found: Sequence[tuple[Part, Outcome, float]], seconds: float) -> str:
    """Return the page: how many passed, failed and were skipped, and each part with its reason."""
    counts = {
        kind: sum(outcome.status == kind for _, outcome, _ in found) for kind in (PASSED, FAILED, SKIPPED)
    }
    versions = ", ".join(f"{name} {installed(name) or 'absent'}" for name in asked.frameworks)
    warning = "" if asked.device == "cuda" else "A dry run without a GPU: it says nothing of one.\n\n"
    rows = [
        f"| {part.name} | {outcome.status} | {took:.1f} | {outcome.text.replace('|', '/')} |"
        for part, outcome, took in found
    ]
    return (
        f"# GPU readiness, device {asked.device}\n\n{warning}"
        f"{', '.join(f'{count} {kind}' for kind, count in counts.items())}, in {seconds:.0f} s; {versions}.\n\n"
        "| part | outcome | s | what |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def main() -> int:
    """Run all parts and write the page; the status is 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="small sizes and short runs")
    parser.add_argument(
        "--frameworks", default="pytorch,jax,cupy,cudnn", help="default: pytorch,jax,cupy,cudnn"
    )
    parser.add_argument("--out", type=Path, default=Path("gpu_readiness"), help="folder of records and page")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds of all parts together")
    parser.add_argument(
        "--only", default="", help="parts whose names hold one of these, with commas; default: all"
    )
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    names = tuple(filter(None, arguments.frameworks.split(",")))
    asked = Asked(arguments.device, arguments.quick, names, out / "results")
    only = tuple(filter(None, arguments.only.split(",")))
    began, found = time.monotonic(), list[tuple[Part, Outcome, float]]()
    for part, outcome, seconds in outcomes(asked, arguments.budget, only):
        print(f"{part.name}: {outcome.status} ({seconds:.1f} s): {outcome.text}", file=sys.stderr, flush=True)
        found.append((part, outcome, seconds))
        # Written after each part: whoever ends this script has the page so far.
        (out / "summary.md").write_text(page(asked, found, time.monotonic() - began), encoding="utf-8")
    print((out / "summary.md").read_text(encoding="utf-8"), end="")
    return int(any(outcome.status == FAILED for _, outcome, _ in found))


if __name__ == "__main__":
    sys.exit(main())
