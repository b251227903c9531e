"""What makes no sense in the settings of problems and frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.api.options import option_types, parse_options
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.experiment.fault import Fault


def value_faults(
    settings: Mapping[str, tuple[Any, ...]], options: type[Any], owner: str
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the settings that ``owner`` does not have and the values that are not of their type."""
    kinds = option_types(options)
    for name, values in settings.items():
        if name not in kinds:
            yield (name,), f"{owner} has no parameter '{name}'{did_you_mean(name, kinds)}"
            continue
        for position, value in enumerate(values):
            try:
                parse_options(options, {name: value}, owner)
            except UsageError as error:
                yield (name, position), str(error)


def setting_faults(
    settings: Mapping[str, tuple[Any, ...]], owned: Sequence[tuple[str, type[Any], str]]
) -> Iterator[Fault]:
    """Yield the settings that nobody takes and the values that are not of their type.

    Parameters
    ----------
    settings : mapping
        Values by ``name`` or ``owner.name``.
    owned : sequence of (str, type, str)
        Who may take them: name, dataclass of options, and how messages call it.
    """
    for name, values in settings.items():
        own = name.rpartition(".")[2]
        takers = [
            (options, owner)
            for plugin, options, owner in owned
            if own in option_types(options) and name in (own, f"{plugin}.{own}")
        ]
        if not takers:
            yield Fault(
                ("set", name), _unknown_setting(name, [(plugin, options) for plugin, options, _ in owned])
            )
        for options, owner in takers:
            for where, message in value_faults({own: values}, options, owner):
                yield Fault(("set", name, *where[1:]), message)


def _unknown_setting(name: str, plugins: Sequence[tuple[str, type[Any]]]) -> str:
    known = {option for _, options in plugins for option in option_types(options)}
    known |= {f"{plugin}.{option}" for plugin, options in plugins for option in option_types(options)}
    named = ", ".join(dict.fromkeys(f"'{plugin}'" for plugin, _ in plugins))
    return f"none of {named} has a parameter '{name}'{did_you_mean(name, known)}"
