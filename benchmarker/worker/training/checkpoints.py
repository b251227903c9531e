"""Checkpoints as a training writes them, and how it goes on from one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from benchmarker.api.program import Program
from benchmarker.api.training_state import TrainingState
from benchmarker.cache import load_json
from benchmarker.data.samplers import order_digest
from benchmarker.errors import BenchmarkerError
from benchmarker.files import staged
from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.checkpoint import (
    About,
    Checkpoint,
    CheckpointError,
    CheckpointSettings,
    Place,
    Subject,
    Writer,
    checkpoint_path,
    mismatches,
    prune,
    read,
    sweep,
    write,
)
from benchmarker.version import __version__
from benchmarker.worker.training.data import TrainingData
from benchmarker.worker.training.loop import Plan, TrainingLoop
from benchmarker.worker.training.rates import Rates

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    States = Mapping[str, Mapping[str, Array]]

REACHED = ".reached"
"""Beside checkpoints: how far the training was seen to be, which tells what a kill has cost."""
_TOLERANCE = 1e-5
"""Share of the largest element that may be lost where a framework keeps something otherwise than it tells it."""


def subject_of(settings: CheckpointSettings, seed: int, data: TrainingData, rates: Rates) -> Subject:
    """Return which training this is."""
    return Subject(
        settings.recipe,
        settings.recipe_digest,
        seed,
        settings.data,
        data.parts.digest,
        order_digest(data.train.sampler, 0),
        rates.digests,
    )


def check_fits(checkpoint: Checkpoint, subject: Subject, graph: Graph) -> None:
    """Refuse a checkpoint of another training.

    Raises
    ------
    CheckpointError
        With the first thing that is another.
    """
    shapes = {p.name: tuple(p.type.shape) for p in graph.parameters}
    for sentence in mismatches(checkpoint, subject, shapes):
        raise CheckpointError(sentence)


@dataclass(frozen=True)
class Held:
    """What a training hands from step to step besides its program.

    Parameters
    ----------
    program : Program
        That is trained.
    rates : Rates
        Constants of each step.
    plan : Plan
        Lengths.
    subject : Subject
        Which training it is.
    writer : Writer
        Who trains.
    """

    program: Program
    rates: Rates
    plan: Plan
    subject: Subject
    writer: Writer

    def state(self, steps: int) -> TrainingState:
        """Return all that the next step goes on from."""
        program = self.program
        state = program.optimizer_state()
        return TrainingState(
            steps, program.parameters(), state, self.rates.numbers(steps), program.native_state()
        )


class Checkpoints:
    """Writes a checkpoint every few evaluations; one that cannot be written costs the training nothing but itself.

    Parameters
    ----------
    settings : CheckpointSettings
        What was asked for.
    held : Held
        What is written.
    batch_size : int
        Samples of a step.

    Attributes
    ----------
    resumed : list of dict
        From which checkpoints the training has gone on, as records tell it.
    """

    def __init__(self, settings: CheckpointSettings, held: Held, batch_size: int) -> None:
        self._settings = settings
        self._held = held
        self._batch_size = batch_size
        self._written = self._failed = 0
        self._reason: Optional[str] = None
        self.resumed: list[dict[str, Any]] = []
        if settings.folder is not None:
            held.program.optimizer_state()  # what tells none is refused before the training, not within

    def __call__(self, loop: TrainingLoop) -> None:
        """Write one if it is time to."""
        settings = self._settings
        if settings.folder is None:
            return
        folder = Path(settings.folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not self._written:
                sweep(folder)
            if (loop.step // self._held.plan.every) % settings.every == 0:
                self._write(loop, folder)
        except OSError as error:
            self._failed += 1
            self._reason = f"{error.strerror or error}"
        with contextlib.suppress(OSError), staged(folder / REACHED, replace=True, durable=False) as stream:
            stream.write(json.dumps(self._reached(loop)).encode())

    def _write(self, loop: TrainingLoop, folder: Path) -> None:
        held, state = self._held, self._held.state(loop.step)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        about = About(__version__, now, held.writer, held.subject, self._place(loop), state.numbers)
        write(checkpoint_path(folder, loop.step), about, state)
        self._written += 1
        prune(folder, loop.step, self._settings.keep)

    def _place(self, loop: TrainingLoop) -> Place:
        epoch, batch = divmod(loop.step, self._held.plan.steps_per_epoch)
        return Place(
            loop.step,
            loop.step * self._batch_size,
            epoch,
            batch,
            loop.loss,
            loop.last_finite,
            asdict(loop.clocks),
            tuple(asdict(row) for row in loop.curve.rows),
            tuple(self.resumed),
        )

    def _reached(self, loop: TrainingLoop) -> dict[str, Any]:
        seconds = (loop.clocks.training + loop.clocks.loading) / 1e9
        return {"recipe": self._settings.recipe_digest, "step": loop.step, "seconds": seconds}

    def resume_from(self, loop: TrainingLoop, graph: Graph) -> int:
        """Put the training back to where a checkpoint was written; return the steps that had led there.

        Raises
        ------
        CheckpointError
            If it cannot be read, or is of another training.
        UnsupportedError
            If the framework cannot take it.
        BenchmarkerError
            If the framework does not tell afterwards what was put back.
        """
        checkpoint = read(Path(str(self._settings.start)))
        held = self._held
        check_fits(checkpoint, held.subject, graph)
        is_own = checkpoint.about.writer == held.writer
        state = checkpoint.state if is_own else replace(checkpoint.state, native={})
        _require_letters(checkpoint.path, state.optimizer, held.program.optimizer_state())
        held.program.set_hyperparameters(held.rates.at(state.steps - 1))
        held.program.restore(state)
        _require_put(held.program, state)
        place = checkpoint.about.place
        self.resumed = [*map(dict, place.resumed), self._record(checkpoint, is_own)]
        loop.resume_from(place)
        return place.step

    def _record(self, checkpoint: Checkpoint, is_own: bool) -> dict[str, Any]:
        place, writer = checkpoint.about.place, checkpoint.about.writer
        lost = self._lost(checkpoint)
        clocks = ("training", "loading", "evaluation", "first_step", "checkpoints")
        return {
            "step": place.step,
            "framework": writer.framework,
            "version": writer.version,
            "benchmarker": checkpoint.about.benchmarker,
            "written_at": checkpoint.about.written_at,
            "native": is_own,
            "not_restored": self._not_restored(is_own),
            **{
                f"{name.replace('checkpoints', 'checkpoint')}_seconds": place.clocks[name] / 1e9
                for name in clocks
            },
            "lost_steps": None if lost is None else lost["step"] - place.step,
            "lost_seconds": None if lost is None else max(0.0, lost["seconds"] - _spent(place)),
        }

    def _not_restored(self, is_own: bool) -> Optional[str]:
        if is_own:
            return self._held.program.lost_on_restore()
        return "what only the framework that wrote it understands: random generators, and buffers beyond rounding"

    def _lost(self, checkpoint: Checkpoint) -> Optional[dict[str, Any]]:
        """Return how far the training was seen to be that wrote the checkpoint; None if it was not told."""
        try:
            reached = load_json(checkpoint.path.parent / REACHED)
            is_same = reached["recipe"] == self._settings.recipe_digest
            return dict(reached) if is_same and reached["step"] >= checkpoint.about.place.step else None
        except (KeyError, TypeError):
            return None

    def to_json(self) -> dict[str, Any]:
        """Return what the record says of them."""
        return {
            "every": self._settings.every if self._settings.folder is not None else None,
            "written": self._written,
            "failed": self._failed,
            "reason": self._reason,
            "resumed": self.resumed,
        }


def _spent(place: Place) -> float:
    return (place.clocks["training"] + place.clocks["loading"]) / 1e9


def _require_letters(path: Path, saved: States, known: States) -> None:
    """Refuse an optimizer's state that is not of this program's parameters."""
    for letter, arrays in known.items():
        for name, array in arrays.items():
            found = saved.get(letter, {}).get(name)
            if found is None or found.size != array.size:
                shape = "none" if found is None else str(found.shape)
                raise CheckpointError(
                    f"the checkpoint '{path}' must have '{letter}' of '{name}' in shape {array.shape}, but has {shape}"
                )


def _require_put(program: Program, state: TrainingState) -> None:
    """Fail unless the program tells what was put back."""
    letters = program.optimizer_state()
    pairs = [(name, array, state.parameters[name]) for name, array in program.parameters().items()]
    for letter, arrays in letters.items():
        pairs += [(f"{letter} of {n}", a, state.optimizer[letter][n]) for n, a in arrays.items()]
    for name, found, given in pairs:
        allowed = _TOLERANCE * float(np.max(np.abs(given), initial=0.0))
        if not np.allclose(found, np.reshape(given, found.shape), rtol=0.0, atol=allowed):
            raise BenchmarkerError(
                f"the framework reports a different '{name}' from the one restored from the checkpoint"
            )
