"""JSON paths: where in a record something is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


def json_path(steps: Sequence[str | int]) -> str:
    """Return a JSON path such as ``$.platform.gpus[0].name`` from member names and list positions."""
    return "$" + "".join(map(_step, steps))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _PLAIN_NAME.fullmatch(step):
        return f".{step}"
    return f"[{json.dumps(step, ensure_ascii=False)}]"
