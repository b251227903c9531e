"""Checks of a module that is run inside a framework, and what it prints of them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from tests.in_framework.rare_collections import collect_rarely

Checks = Mapping[str, Callable[..., None]]


def checks_of(module: Mapping[str, Any]) -> Checks:
    """Return the functions of a module whose names start with ``check_``, by the rest of these."""
    return {n.removeprefix("check_"): check for n, check in module.items() if n.startswith("check_")}


def tell(checks: Checks, *arguments: Any) -> None:
    """Run checks and print, as JSON, a name and why it failed, or an empty text."""
    collect_rarely()
    for name, check in checks.items():
        why = ""
        try:
            check(*arguments)
        except Exception:
            why = traceback.format_exc()
        print(json.dumps([name, why]), flush=True)
