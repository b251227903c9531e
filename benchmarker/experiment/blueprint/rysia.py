"""Rysia's 44 fields in terms of ours: what each becomes, and which no longer apply."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

from benchmarker.api.given_values import shown
from benchmarker.api.rules import Found, Steps
from benchmarker.experiment.blueprint import Model
from benchmarker.experiment.blueprint.fields import FIELDS
from benchmarker.problems.layers.declared import LSTM, InputLayer

WINDOW_SECONDS = 60.0
"""How long Rysia repeats inference (its paper, on metrics)."""

_RENAMED: Mapping[str, Steps] = {
    "loss_function": ("problem", "loss"),
    "learning_rate": ("optimizer", "learning_rate"),
    "optimizer": ("optimizer", "kind"),
    "runs": ("repeats",),
    "numpy_seed": ("seed",),
    "frameworks": ("framework",),
}
_TRANSLATED = (
    "architecture",
    "aws",
    "epochs",
    "framework_seed",
    "job_name",
    "monitors",
    "python_seed",
    "reshape_input_data",
    "result_folder_path",
    "state_sizes",
    "train_data_path",
    "train_label_path",
    "train_seq_length",
    "truncated_backprop_length",
)
_UNUSED = (
    "account_id",
    "ami_id",
    "bucket_name",
    "container_images",
    "env_desired_cpu",
    "env_max_cpu",
    "env_min_cpu",
    "instance_role",
    "instance_types",
    "job_def_names",
    "job_memory_size",
    "job_num_vcpu",
    "model_params_path",
    "optimizer_mode",
    "region_name",
    "security_group_ids",
    "service_role",
    "subnets",
    "tear_down_comp_env",
    "test_data_path",
    "test_label_path",
    "test_seq_length",
)
RYSIA_FIELDS = ("batch_size", "mode", *_RENAMED, *_TRANSLATED, *_UNUSED)
"""Every field of a Rysia blueprint."""


class Translation:
    """A Python blueprint's fields in terms of ours.

    Parameters
    ----------
    values : mapping
        By the file's names, Rysia's and ours; ``None`` stands for a field that is not given.

    Attributes
    ----------
    fields : dict
        By our names.
    names : dict
        The file's name of each of ours.
    found : list
        What is wrong, with the file's name.
    notes : list of str
        What is not used, a sentence each.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = {name: value for name, value in values.items() if value is not None}
        self.fields: dict[str, Any] = {}
        self.names: dict[Steps, str] = {}
        self.found: list[Found] = []
        self.notes: list[str] = []
        self._unused: list[str] = []
        if values.get("mode") == "inference":
            self._leave_out("optimizer", "learning_rate")
        self._own()
        self._renamed()
        self._architecture()
        self._amount()
        self._rest()

    def _leave_out(self, *names: str) -> None:
        self._unused += [name for name in names if self._values.pop(name, None) is not None]

    def _given(self, *names: str) -> Iterator[tuple[str, Any]]:
        return ((name, self._values[name]) for name in names if name in self._values)

    def _set(self, steps: Steps, value: Any, name: str) -> None:
        self.names[steps] = name
        table = self.fields
        for step in steps[:-1]:
            table = table.setdefault(str(step), {})
            self.names.setdefault(steps[:1], name)
        table[str(steps[-1])] = value

    def _fault(self, name: str, message: str) -> None:
        self.found.append(((name,), message))

    def _own(self) -> None:
        special = {"optimizer", "epochs", "monitors"}
        for name, value in self._values.items():
            if name in FIELDS and name not in special:
                self._set((name,), value, name)
        for name, value in self._given("optimizer"):
            if isinstance(value, (list, dict)):
                self._set((name,), value, name)

    def _renamed(self) -> None:
        for name, value in self._given(*_RENAMED):
            steps = _RENAMED[name]
            if steps[0] == "problem":
                continue
            if name == "optimizer" and isinstance(value, (list, dict)):
                continue
            if name == "learning_rate" and isinstance(self.fields.get("optimizer"), list):
                self._fault(name, "must be in each table of 'optimizer', which is a list")
                continue
            self._set(steps, value, name)

    # --- the architecture --------------------------------------------------------------------

    def _architecture(self) -> None:
        if "architecture" not in self._values:
            self._unused += [name for name, _ in self._given("loss_function", "state_sizes")]
            return
        model = self._values["architecture"]
        if not isinstance(model, Model):
            self._fault("architecture", f"must be bp.model(...), got {shown(model)}")
            return
        if "problem" in self._values:
            self._fault("problem", "cannot be given together with 'architecture'")
            return
        try:
            layers = model.to_json()
        except RecursionError:
            self._fault("architecture", "contains itself or is nested too deeply")
            return
        self._set(("problem", "layers"), layers, "architecture")
        for name, value in self._given("loss_function"):
            self._set(_RENAMED[name], value, name)
        if self._values.get("mode") == "inference":
            # Rysia's inference ends with a softmax.
            self._set(("problem", "softmax"), True, "architecture")
        self._sequences(model)

    def _sequences(self, model: Model) -> None:
        """Check what Rysia says of sequences beside the layers."""
        sizes = [layer.size for layer in model.layers if isinstance(layer, LSTM)]
        for name, value in self._given("state_sizes"):
            if value != sizes:
                self._fault(name, f"must be the sizes of the LSTM layers, {sizes}, got {shown(value)}")
        shape = model.layers[0].shape if model.layers and isinstance(model.layers[0], InputLayer) else ()
        for name, value in self._given("train_seq_length"):
            if len(shape) == 2 and value != shape[0]:
                self._fault(name, f"must be the words of the InputLayer, {shape[0]}, got {shown(value)}")
        for name, value in self._given("truncated_backprop_length"):
            if len(shape) == 2 and value != shape[0]:
                self._fault(
                    name,
                    f"must be the words of the InputLayer, {shape[0]}, got {shown(value)}: gradients are not "
                    "truncated",
                )

    # --- how much ----------------------------------------------------------------------------

    def _amount(self) -> None:
        self._data()
        if self._values.get("mode") == "inference":
            if "architecture" in self._values and not {"steps", "window"} & set(self._values):
                self._set(("window",), WINDOW_SECONDS, "mode")
            self._unused += [name for name, _ in self._given("epochs")]
            return
        if "epochs" not in self._values:
            return
        if "steps" in self._values:
            self._unused.append("epochs")
            return
        self._set(("epochs",), self._values["epochs"], "epochs")
        if "problem_size" not in self._values and "train_data_path" in self._values:
            self._samples(self._values["train_data_path"])

    def _data(self) -> None:
        """Take samples and labels from the files that are named, if both are there."""
        paths = [self._values.get(name) for name in ("train_data_path", "train_label_path")]
        found = [Path(path) for path in paths if isinstance(path, str)]
        if "data" in self._values or len(found) < 2 or not all(path.is_file() for path in found):
            self._unused += [name for name, _ in self._given("train_label_path")]
            return
        self._set(("data",), "npy", "train_data_path")
        self._set(("data_dir",), ",".join(map(str, found)), "train_label_path")

    def _samples(self, given: Any) -> None:
        """Take the number of samples from the data; the last, incomplete mini-batch is left out."""
        path = Path(given) if isinstance(given, str) else None
        if path is None or not path.is_file():
            del self.fields["epochs"]
            self.notes.append(
                f"there is no train_data_path '{given}', which says how long an epoch is: without "
                "--problem-size or --steps a run takes as many steps as fill about 3 s"
            )
            return
        try:
            import numpy as np

            count = len(np.load(path, mmap_mode="r", allow_pickle=False))
        except (ValueError, OSError, TypeError, EOFError, TokenError):
            self._fault("train_data_path", f"must be a .npy file with samples, got '{given}'")
            return
        sizes = self._values.get("batch_size", 1)
        sizes = [size for size in (sizes if isinstance(sizes, list) else [sizes]) if isinstance(size, int)]
        whole = math.lcm(*sizes) or 1
        if count < whole:
            self._fault("train_data_path", f"has {count} samples, too few for a mini-batch")
            return
        self._set(("problem_size",), count // whole * whole, "train_data_path")
        if "data" not in self.fields:
            self.notes.append(
                f"mini-batches are drawn from the seed; an epoch is as long as train_data_path '{given}'"
            )

    # --- everything else ---------------------------------------------------------------------

    def _rest(self) -> None:
        for name, value in self._given("aws"):
            if value is not False:
                self._fault(
                    name,
                    f"must be False, got {shown(value)}: runs happen on this machine, not on Amazon's; start the "
                    "command there instead",
                )
        self._results()
        self._monitors()
        seed = self._values.get("numpy_seed")
        self._unused += [n for n, v in self._given("python_seed", "framework_seed") if v != seed]
        self._unused += [n for n, v in self._given("reshape_input_data") if v not in ([None], [])]
        self._unused += [n for n, v in self._given(*_UNUSED) if v not in (False, [], "")]
        if self._unused:
            self.notes.append(f"not used: {', '.join(sorted(self._unused))}")

    def _results(self) -> None:
        parts = []
        for name, value in self._given("result_folder_path", "job_name"):
            if isinstance(value, str) and value.strip():
                parts.append(value)
            else:
                self._fault(name, f"must be a text, got {shown(value)}")
        if "result_folder_path" in self._values and parts:
            self._set(("results",), str(Path(*parts)), "result_folder_path")
        elif parts:
            self._unused.append("job_name")

    def _monitors(self) -> None:
        for name, value in self._given("monitors"):
            if "architecture" not in self._values:
                self._set((name,), value, name)
            elif value:
                # Rysia's sample utilization once a second; what a machine is, is always read.
                self._unused.append(name)
