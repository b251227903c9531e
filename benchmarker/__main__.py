"""``python -m benchmarker``."""

from __future__ import annotations

import sys

from benchmarker.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
