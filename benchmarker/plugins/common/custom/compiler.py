"""Source of a user's operator to a shared library: compiled once, kept by a digest of all that decides it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarker.cache import explain_unwritable, home, publish_folder, remove_leftovers, staged_folder
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.graph.custom import CppSource

_HEADERS = Path(__file__).resolve().parent
_COMPILED = (".c", ".cc", ".cpp", ".cu", ".cxx")
_LIBRARY, _LOG = "operator.so", "compiler.log"


def kept_libraries() -> Path:
    """Return the folder of all that was compiled."""
    return home() / "custom-operators"


def compiled(source: CppSource) -> Path:
    """Return the shared library of ``source``, compiled unless the same was before.

    The compiler is that of ``CXX``, else ``c++``; for ``.cu`` it is ``nvcc``. It takes no more than
    ``source.flags`` besides what makes a shared library. Its output is kept beside the library.

    Raises
    ------
    UsageError
        If a file cannot be read or does not compile, with the compiler's first error.
    UnsupportedError
        If there is no compiler.
    """
    command = _command(source)
    folder = kept_libraries() / _digest(source, command)
    if not (folder / _LIBRARY).is_file():
        _compile(source, command, folder)
    return folder / _LIBRARY


def _command(source: CppSource) -> list[str]:
    name = "nvcc" if source.is_cuda else os.environ.get("CXX") or "c++"
    compiler = shutil.which(name)
    if compiler is None:
        raise UnsupportedError(
            f"a custom operator in {'CUDA' if source.is_cuda else 'C++'} is compiled with '{name}', which is not "
            "there; install it or set PATH" + ("" if source.is_cuda else " or CXX")
        )
    position = ("-Xcompiler", "-fPIC") if source.is_cuda else ("-fPIC",)
    return [compiler, *source.flags, "-shared", *position, f"-I{_HEADERS}"]


def _digest(source: CppSource, command: Sequence[str]) -> str:
    digest = hashlib.sha256(json.dumps([command, *_names(source)]).encode())
    for file in (*map(Path, source.files), _HEADERS / "benchmarker_operator.h"):
        try:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError as error:
            raise UsageError(
                f"the source of a custom operator must be a file that can be read, got '{file}' ({error.strerror})"
            ) from None
    return digest.hexdigest()[:32]


def _names(source: CppSource) -> list[str]:
    return [str(Path(file).absolute()) for file in source.files]


def _compile(source: CppSource, command: Sequence[str], folder: Path) -> None:
    """Compile beside ``folder`` and publish what came of it, so that nobody sees half of a library."""
    sources = [name for name in _names(source) if Path(name).suffix in _COMPILED]
    with ExitStack() as stack:
        with explain_unwritable(folder.parent, "compiled operators"):
            remove_leftovers(folder.parent)
            made = stack.enter_context(staged_folder(folder))
        arguments = [*command, "-o", str(made / _LIBRARY), *sources]
        done = subprocess.run(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        (made / _LOG).write_text(f"{' '.join(arguments)}\n{done.stdout}")
        if done.returncode:
            log = folder.with_suffix(".log")
            (made / _LOG).replace(log)
            raise UsageError(
                f"the custom operator of '{source.files[0]}' does not compile: {_first_error(done.stdout)} "
                f"(all of it is in '{log}')"
            )
        publish_folder(made, folder)


def _first_error(output: str) -> str:
    lines = output.splitlines() or ["the compiler failed and said nothing"]
    return next((line for line in lines if "error:" in line), lines[0]).strip()
