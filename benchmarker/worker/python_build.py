"""How the running Python was built, on which depends what Python itself takes of a step.

The profile that guided a build is told by its configuration. That of Debian and its relatives leaves it out, and has
the installation scheme ``deb_system`` since 3.10; of another in ``/usr`` nothing follows from what is left out.
"""

from __future__ import annotations

import platform
import sysconfig

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class PythonBuild:
    """What tells two builds of one version apart.

    Parameters
    ----------
    text : str
        Compiler, revision and date, as in ``"GCC 12.2.0, main, Dec 4 2023 18:10:11"``.
    profile_guided : bool or None
        Whether it was optimized by a profile; None where the build does not tell.
    """

    text: str
    profile_guided: bool | None


def python_build() -> PythonBuild:
    """Return how the running interpreter was built, in milliseconds."""
    parts = (platform.python_compiler(), *platform.python_build())
    return PythonBuild(
        ", ".join(" ".join(part.split()) for part in parts if part),
        profile_guided(sysconfig.get_config_var("CONFIG_ARGS"), sysconfig.get_scheme_names()),
    )


def profile_guided(configured: str | None, schemes: tuple[str, ...]) -> bool | None:
    """Return whether a build was optimized by a profile, None where that is not known.

    Parameters
    ----------
    configured : str or None
        Arguments of its ``configure``, each in quotes; None of one that had none, as on Windows.
    schemes : tuple of str
        Names of its installation schemes.
    """
    if "deb_system" in schemes:
        return True
    if configured and "--enable-optimizations" in configured:
        return True
    return None if not configured or "'--prefix=/usr'" in configured else False
