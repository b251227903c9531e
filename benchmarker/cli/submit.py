"""Submit a blueprint as jobs to a batch system, each with a part of its cells; 'collect' brings the records home."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.api.given_values import shown
from benchmarker.cli.terminal import print_json
from benchmarker.cli.values import whole
from benchmarker.errors import UsageError, plural

if TYPE_CHECKING:
    from benchmarker.orchestration.submission.resources import Resources
    from benchmarker.orchestration.submission.state import Submission

ENGINES = ("slurm", "pbs", "pbs_classic", "lsf", "flux")
PRINTED = ("kubernetes", "aws-batch")
"""What is submitted by the user's own client."""
_RESOURCE_OPTIONS = (
    ("minutes", "N", "time limit of each job; default: 60"),
    ("nodes", "N", "nodes for each job, for runs that start ranks on several; default: 1"),
    ("cores", "N", "cores on each node"),
    ("gpus", "N", "GPUs on each node"),
    ("memory-gib", "N", "memory on each node, in GiB"),
    ("parallel", "N", "jobs that may run at once (Slurm, Kubernetes)"),
)
_MAX_CELLS = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.usage = "%(prog)s BLUEPRINT --to NAME [options] [-- RUN OPTIONS]"
    parser.epilog = "options after -- are passed to 'benchmarker run' and override the blueprint's fields"
    parser.add_argument("blueprint", nargs="*", metavar="BLUEPRINT", help="a .toml or .py file")
    parser.add_argument(
        "--to", choices=(*ENGINES, *PRINTED), metavar="NAME", help=", ".join((*ENGINES, *PRINTED))
    )
    parser.add_argument(
        "--results",
        metavar="DIR",
        help="folder of records; the submission is kept in DIR-submissions; default: the blueprint's, or results; "
        "for kubernetes and aws-batch, an object store's address, e.g. s3://bucket/folder",
    )
    parser.add_argument(
        "--cells-per-job",
        type=whole(1, _MAX_CELLS),
        metavar="N",
        help="cells that one job runs in rounds on one machine, such as the frameworks of a comparison; default: 1",
    )
    parser.add_argument(
        "--resume",
        metavar="ID",
        help="submit again the parts of a submission that ended without all their records",
    )
    for name, metavar, words in _RESOURCE_OPTIONS:
        parser.add_argument(f"--{name}", type=whole(1, _MAX_CELLS), metavar=metavar, help=words)
    parser.add_argument("--queue", metavar="NAME", help="queue; in Slurm, a partition")
    parser.add_argument("--account", metavar="NAME", help="account that is charged")
    parser.add_argument("--exclusive", action="store_true", help="share no nodes with other jobs")
    parser.add_argument(
        "--option",
        type=_option,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the engine itself, e.g. constraint=skylake",
    )
    parser.add_argument(
        "--image", metavar="IMAGE", help="container image with benchmarker (kubernetes, aws-batch)"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the scripts and submit nothing")
    parser.add_argument("--json", action="store_true", help="print what was submitted as JSON")


def _option(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip() or not key.replace("-", "").replace("_", "").isalnum():
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, got {shown(text)}")
    return key, value


def main(arguments: argparse.Namespace) -> int:
    """Submit, or print what would be."""
    if arguments.resume is not None:
        return _resume(arguments)
    if not arguments.blueprint or arguments.to is None:
        raise UsageError(
            "submit takes a blueprint and --to=NAME, or --resume=ID (see benchmarker submit --help)"
        )
    blueprint, options = Path(arguments.blueprint[0]), arguments.blueprint[1:]
    cells, own_results = _planned(blueprint, options)
    arguments.results = arguments.results or own_results or "results"
    if arguments.to in PRINTED:
        return _print_manifest(arguments, blueprint, options, cells)
    _require_no_image(arguments, arguments.to)
    if "://" in arguments.results:
        raise UsageError(
            f"--results must be a folder that all nodes share for --to={arguments.to}, got '{arguments.results}'"
        )
    from benchmarker.orchestration.submission.submit import printed, submit

    submission = _new(arguments, blueprint, options, cells)
    results = Path(arguments.results)
    if arguments.dry_run:
        for name, script in printed(submission, results).items():
            print(f"# --- {name} ---\n{script.strip()}\n")
        return 0
    _tell(arguments, submit(submission, results), list(range(1, submission.parts + 1)))
    return 0


def _require_no_image(arguments: argparse.Namespace, engine: str) -> None:
    if arguments.image:
        raise UsageError(f"--image is for {' and '.join(PRINTED)}, got --to={engine}")


def _new(arguments: argparse.Namespace, blueprint: Path, options: list[str], cells: int) -> Submission:
    from benchmarker.orchestration.submission.submit import new_submission

    resources = _resources(arguments)
    return new_submission(
        blueprint, options, arguments.to, resources, cells=cells, cells_per_job=arguments.cells_per_job or 1
    )


def _resources(arguments: argparse.Namespace, given: Resources | None = None) -> Resources:
    """Return what was asked for over what was asked for before."""
    import msgspec

    from benchmarker.orchestration.submission.resources import Resources

    names = ("minutes", "nodes", "cores", "gpus", "memory_gib", "parallel", "queue", "account", "image")
    values: dict[str, Any] = {name: getattr(arguments, name) for name in names}
    values["exclusive"] = arguments.exclusive or None
    values["options"] = dict(arguments.option) or None
    requested = {name: value for name, value in values.items() if value is not None}
    return msgspec.structs.replace(given, **requested) if given else Resources(**requested)


def _planned(blueprint: Path, options: list[str]) -> tuple[int, str | None]:
    """Return how many cells an experiment has, of which nothing is wrong wherever it runs, and its results folder."""
    from benchmarker.cli.main import command_parser
    from benchmarker.cli.run_options import given
    from benchmarker.experiment.blueprint.loading import load
    from benchmarker.orchestration.submission.cells import count_cells

    wrong = next((word for word in options if not word.startswith("--")), None)
    if wrong is not None:
        raise UsageError(
            f"what follows the blueprint must be options of run as --NAME=VALUE, got {shown(wrong)}"
        )
    run_arguments = command_parser("run").parse_args([str(blueprint), *options])
    for name in ("results", "resume", "dry_run", "part", "json", "recipe"):
        if getattr(run_arguments, name):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} is not for the options after the blueprint, which each job's run gets")
    loaded = load(blueprint)
    return count_cells(given(run_arguments), loaded), loaded.results


def _resume(arguments: argparse.Namespace) -> int:
    import msgspec

    from benchmarker.orchestration.submission.state import submitted
    from benchmarker.orchestration.submission.submit import resume

    if arguments.blueprint or arguments.to or arguments.dry_run or arguments.cells_per_job:
        raise UsageError("--resume=ID has its blueprint, engine and parts from before; give none of them")
    results = Path(arguments.results or "results")
    ((_, submission),) = submitted(results, arguments.resume)
    _require_no_image(arguments, submission.engine)
    submission = msgspec.structs.replace(submission, resources=_resources(arguments, submission.resources))
    _tell(arguments, *resume(submission, results))
    return 0


def _tell(arguments: argparse.Namespace, submission: Submission, parts: list[int]) -> None:
    last = submission.last_dispatch(parts[-1]) if parts else None
    jobs = list(dict.fromkeys(d.job for part in parts if (d := submission.last_dispatch(part)) is not None))
    if arguments.json:
        print(json.dumps({"id": submission.id, "engine": submission.engine, "jobs": jobs, "parts": parts}))
        return
    if last is None:
        print(f"{submission.id}: nothing is missing, or it still runs (see benchmarker jobs {submission.id})")
        return
    what = f"an array of {plural(len(parts), 'task')}" if last.is_array else plural(len(parts), "job")
    print(f"{submission.id}: {what} submitted to {submission.engine} as {', '.join(jobs[:5])}")


def _print_manifest(arguments: argparse.Namespace, blueprint: Path, options: list[str], cells: int) -> int:
    """Print what the user's own client submits."""
    from benchmarker.orchestration.submission.manifests import MANIFESTS

    if not arguments.dry_run:
        raise UsageError(
            f"--to={arguments.to} is only printed: give --dry-run, and pass what it prints to the client that you use"
        )
    submission = _new(arguments, blueprint, options, cells)
    manifest = MANIFESTS[arguments.to](submission, arguments.results, blueprint.read_text(encoding="utf-8"))
    print_json(manifest)
    return 0
