"""Whether MXNet joins operators while a symbol is bound."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def fusion(enabled: bool) -> Iterator[None]:
    """Keep MXNet from fusing operators while a symbol is bound, unless ``enabled``."""
    name = "MXNET_SUBGRAPH_BACKEND"
    before = os.environ.get(name)
    if not enabled:
        os.environ[name] = "NONE"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
