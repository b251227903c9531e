"""ONNX models as problems by name: ``onnx:PATH``."""

from __future__ import annotations

from pathlib import Path

from benchmarker.api.problem_scheme import ProblemReference, ProblemScheme, ResolvedProblem
from benchmarker.errors import UsageError

_MAKER = "benchmarker.problems.onnx_file:imported_problem"


class OnnxModels(ProblemScheme):
    """Resolves ``onnx:PATH``."""

    def resolve(self, problem: ProblemReference, path: Path) -> ResolvedProblem:
        """Return the problem of a model, which is unpacked if it is not yet.

        Raises
        ------
        UsageError
            If there is no such file, or it is no valid ONNX model.
        """
        # What starts workers is imported for a model only, and not to list plugins.
        from benchmarker.orchestration.jobs.unpack_onnx import unpacked_model

        if not path.is_file():
            given = problem.commanded_name.partition(":")[2]
            raise UsageError(f"onnx: needs the path of a model that exists, got '{given}'")
        folder, digest = unpacked_model(path)
        return ResolvedProblem(_MAKER, (problem.name, str(folder), digest), "ONNX file", f"sha256:{digest}")


def benchmarker_problem_scheme() -> ProblemScheme:
    return OnnxModels()
