"""The small data sets that scikit-learn brings along, read from its files: to import it takes a second and more."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

from benchmarker.errors import UsageError, missing_package


def bundled_file(dataset: str, name: str) -> tuple[Path, str]:
    """Return where a file of scikit-learn's data lies, and scikit-learn's version.

    Parameters
    ----------
    dataset : str
        For the message.
    name : str
        Of the file, within ``sklearn/datasets``.

    Raises
    ------
    UsageError
        If scikit-learn is not installed, or has no such file.
    """
    try:
        installed = metadata.distribution("scikit-learn")
    except metadata.PackageNotFoundError:
        raise UsageError(missing_package(f"data set '{dataset}'", "scikit-learn", "data")) from None
    path = Path(str(installed.locate_file(f"sklearn/datasets/{name}")))
    spec = None if path.is_file() else importlib.util.find_spec("sklearn")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).with_name("datasets") / name  # of a checkout that is installed in place
    if not path.is_file():
        raise UsageError(
            f"data set '{dataset}' comes with scikit-learn as '{name}', but version {installed.version} here lacks "
            "it: pip install --force-reinstall scikit-learn"
        )
    return path, installed.version
