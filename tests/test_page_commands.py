"""The commands of the how-to pages run as they are written, or the one list says why they are only parsed.

The tutorials are followed from end to end in ``tests/test_tutorials.py``; that all commands are taken, also those in
sentences, is in ``tests/test_documentation.py``.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT, Command
from tests.support.page_snippets import (
    Snippet,
    commands_in,
    reader_environment,
    run_as_reader,
    snippets,
    whole_lines,
)

RUN = ""
MINUTES = "takes a minute or more"
PYTORCH = (
    "takes a quarter of a minute of PyTorch for each of its runs; another line of the page shows the same"
)
SLURM = "needs Slurm: tests/cli/test_submit.py, tests/execution/test_slurm_launcher.py"
STORE = "needs a bucket: tests/cli/test_results_elsewhere.py does it with a server"
SUBMITTED = "needs a submission: tests/cli/test_submit.py"
IMAGE = "needs an image: tests/orchestration/test_containers.py"
CLIENT = "is piped to a cluster's client: tests/orchestration/test_manifests.py"
PACKAGE = "needs the package that the page installs: tests/plugins/test_autograd_example.py"
RECORDS = "makes the kept records anew, which takes hours and a quiet machine"

LINES: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        "python3 -m venv": ".ci/run follows it",
        "benchmarker verify --problem=resnet50": MINUTES,
        "benchmarker compare": "is run for docs/results.md",
        "benchmarker report": "is run for docs/results.md",
        "benchmarker train digits_mlp": MINUTES,
        "--framework=jax --problem=mnist_mlp --ranks=1,2,4": MINUTES,
        "--suite=deepbench-gemm": MINUTES,
        "--problem=onnx:resnet50.onnx": MINUTES,
        "benchmarker doctor": RUN,
    },
    "docs/blueprints.md": {
        'mnist_small.toml             # or without "run"': MINUTES,
        "mnist_small.toml --dry-run": RUN,
        "mnist_small.toml --framework=pytorch --repeats=3": MINUTES,
        "mnist.toml --resume": MINUTES,
        "blueprint check blueprints/mnist.toml": RUN,
    },
    "docs/clusters.md": {
        "--exclusive --dry-run": RUN,
        "--to=slurm --minutes=30 --cores=8 --exclusive\n": SLURM,
        "benchmarker jobs   ": RUN,
        "benchmarker jobs 2026": SUBMITTED,
        "benchmarker collect": SUBMITTED,
        "--launcher=slurm --set slurm.partition": SLURM,
        "--launcher=mpi": "needs an MPI on the path: tests/execution/test_mpi_launcher.py",
        "--to=kubernetes": CLIENT,
        "--to=aws-batch": RUN,
    },
    "docs/containers.md": {"--env=container:/images/debian": IMAGE, "--env=container:podman:": IMAGE},
    "docs/distributed.md": {
        "--problem=resnet50 --batch-size=8 --ranks=1,2": MINUTES,
        "--exchange=native,mpi": MINUTES,
        "--scheme=all-reduce,neighbours": MINUTES,
        "--network=100mbit": MINUTES,
        "--ranks=1,2,4 --seeds=6": MINUTES,
        "--scheme=all-reduce,averaging/8,sparse/0.05": MINUTES,
        "benchmarker plot ranks  ": RUN,
        "benchmarker plot rank_parts": RUN,
        "benchmarker plot communication": RUN,
        "benchmarker plot ranks_to_target": RUN,
        "--suite=deepbench-allreduce": MINUTES,
        "--problem=all_reduce,all_gather,reduce_scatter": PYTORCH,
        "--suite=osu-latency,osu-bw": MINUTES,
    },
    "docs/elsewhere.md": {
        "benchmarker run four.toml": STORE,
        "benchmarker results list": STORE,
        "benchmarker report": STORE,
        "benchmarker results merge results/": STORE,
        "benchmarker results merge s3:": STORE,
    },
    "docs/generation.md": {"--problem=llama": MINUTES},
    "docs/levels.md": {
        "--suite=deepbench-gemm": MINUTES,
        "hard_swish.py": "takes a minute; tests/plugins/test_custom_operators.py runs it on each framework",
        "benchmarker export resnet50": "takes half a minute; tests/orchestration/test_export.py exports smaller ones",
        "--problem=onnx:resnet50.onnx": MINUTES,
    },
    "docs/libraries.md": {"libraries.toml": MINUTES},
    "docs/list.md": {
        "list-site build results/ ": RUN,
        "list-site check results/NEW.json": "names a record that a contributor adds",
        "--repeats=5 --price-per-hour": MINUTES,
        "benchmarker rerun last --keep-verdict": MINUTES,
        "list-site check last": "needs the runs before it",
        "list-site build contests/records/": RUN,
        "list-site build results/training/": RUN,
    },
    "docs/plugin_tutorial.md": {
        "benchmarker new plugin autograd": RUN,
        "benchmarker check autograd\n": PACKAGE,
        "--framework=autograd,numpy,pytorch": PACKAGE,
    },
    "docs/quantization.md": {"--precision=fp32,int8": MINUTES},
    "docs/releasing.md": {"rm -r results/": RECORDS},
    "docs/results.md": {
        "benchmarker report -o report.html": RUN,
        "benchmarker compare framework=pytorch framework=mxnet  ": RUN,
        "benchmarker results query": RUN,
        '"framework=chainer problem=resnet44"': RUN,
    },
    "docs/scaling.md": {"--problem=resnet50 --sampling=latency": MINUTES, "benchmarker scale last": RUN},
    "docs/scenarios.md": {"--scenario=single-stream,offline,server": MINUTES},
    "docs/training.md": {
        "benchmarker list recipes": RUN,
        "--framework=pytorch,numpy --seeds=3": PYTORCH,
        "--framework=jax --seed=7": MINUTES,
        "my_recipe.toml": RUN,
        "--set=training.limits.epochs=40": "changes an open recipe, as tests/cli/test_train.py does",
        "--set='training.schedules": "the same",
        "benchmarker run --recipe=digits_mlp": PYTORCH,
        "for recipe in": MINUTES,
        "--checkpoint-every=2\n": "is run in tests/orchestration/test_checkpoints.py, with a kill before it continues",
        "--checkpoint-every=2 --resume ": "the same",
        "--resume-from=": "names a file of the line before it",
        "--divergence=200": RUN,
        "benchmarker plot divergence -o": RUN,
        "benchmarker plot divergence_map": RUN,
        "compare 'framework=numpy specification": RUN,
        "compare 'framework=mxnet specification": RUN,
        "--seeds=20": MINUTES,
    },
}
"""A part of each command, by the page that has it: run, or why not."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    "docs/distributed.md": ("results/distributed",),
    "docs/list.md": ("results/training",),
    "docs/results.md": ("results/frameworks",),
    "docs/scaling.md": ("results/poster",),
    "docs/training.md": ("results/training",),
}
"""Folders of kept records that a page's commands read, as in a clone."""
FOLDERS = ("blueprints", "contests")
"""Folders of a clone that commands read."""
FILES = {
    "docs/clusters.md": {
        "four.toml": 'framework = "numpy"\nproblem = "mnist_mlp"\nbatch_size = [1, 8, 32, 64]\n'
    }
}
"""Files that a page takes as given."""
DRAWS = ("pandas", "benchmarker.analysis.charts.drawing.figure")
"""What most of the lines import that are run."""
SHELL = re.compile(r"[|&;<>$`*?~\\]")
COMPOUND = re.compile(r"^(?:for |\w+=|\w+\(\) )", re.MULTILINE)
"""Loops, variables and functions of a shell, whose block is one command."""


def pages() -> list[str]:
    """Return the pages that have commands and are no tutorials."""
    found = [Path("README.md"), *sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))]
    return [str(path) for path in found if path.name != "start.md" and commands_of(path)]


def commands_of(page: str | Path) -> list[str]:
    """Return the lines of a page's blocks that call ``benchmarker``, a block with a loop or the like whole."""
    blocks = [block.text for block in snippets((ROOT / page).read_text()) if block.language == "sh"]
    return [
        line
        for block in blocks
        for line in ([block] if COMPOUND.search(block) else whole_lines(block))
        if any(commands_in(line))
    ]


def is_run(page: str, line: str) -> bool:
    return all(reason == RUN for part, reason in LINES[page].items() if part in line)


RUNNING = [page for page in pages() if RUN in LINES[page].values()]


def _linked(source: str, target: str) -> None:
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)


def make_clone(folder: Path, page: str) -> None:
    """Lay out what a reader of a page has in a clone."""
    for name in FOLDERS:
        (folder / name).symlink_to(ROOT / name)
    for name in NEEDED.get(page, ()):
        shutil.copytree(ROOT / name, folder / name, copy_function=_linked)
    for name, text in FILES.get(page, {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    if page == "docs/training.md":
        recipe = next(b.text for b in snippets((ROOT / page).read_text()) if "[training]" in b.text)
        (folder / "my_recipe.toml").write_text(recipe, encoding="utf-8")


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.framework) if page == "docs/training.md" else page
        for page in RUNNING
    ],
)
def test_commands_of_a_page_run(page: str, command: Command) -> None:
    make_clone(command.folder, page)
    environment = reader_environment(command.environment, command.folder)
    for line in commands_of(page):
        if is_run(page, line):
            fault = run(line, replace(command, environment=environment, imported=DRAWS))
            assert not fault, fault


def run(line: str, command: Command) -> str:
    """Return what was wrong with a line; what a shell would only split into words needs neither it nor an import."""
    calls = [] if COMPOUND.search(line) or SHELL.search(line) else list(commands_in(line))
    if len(calls) == 1:
        finished = command(*calls[0])
        return "" if finished.status == 0 else f"{line}ended with {finished.status}: {finished.stderr}"
    return run_as_reader(Snippet("sh", "", line), command.folder, command.environment)


def test_a_line_that_fails_is_found_with_and_without_a_shell(command: Command) -> None:
    reader = replace(command, environment=reader_environment(command.environment, command.folder))
    assert "must be" in run("benchmarker list nothing  # a word\n", reader)
    assert "must be" in run("benchmarker list nothing | cat; exit $PIPESTATUS\n", reader)
    assert run("benchmarker list recipes\n", reader) == ""
    assert run("benchmarker list recipes > recipes.txt\n", reader) == ""
    assert (command.folder / "recipes.txt").stat().st_size > 100


def test_every_command_is_in_the_list_once() -> None:
    assert list(LINES) == pages()
    for page, parts in LINES.items():
        lines = commands_of(page)
        unlisted = [line for line in lines if sum(part in line for part in parts) != 1]
        stale = [part for part in parts if not any(part in line for line in lines)]
        assert (unlisted, stale) == ([], []), page


def test_tests_that_reasons_name_exist() -> None:
    reasons = {reason for parts in LINES.values() for reason in parts.values()}
    named = {
        path
        for reason in reasons
        for path in re.findall(r"(?:tests/[\w/]+\.py|docs/\w+\.md|\.ci/run)", reason)
    }
    assert len(named) > 8
    assert sorted(path for path in named if not (ROOT / path).exists()) == []
