"""Fork beside OpenMP's threads after they were ended, and print how many threads there were at each point (JSON)."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

import mxnet  # noqa: F401 - it links to OpenMP's library

from benchmarker.worker.openmp_threads import end_openmp_threads, start_openmp_threads


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def main() -> None:
    end_openmp_threads()
    library = ctypes.CDLL("libgomp.so.1")
    nothing = ctypes.CDLL(None).free
    counts = {"before": threads()}
    library.GOMP_parallel(nothing, None, 3, 0)
    counts["pool"] = threads()
    ended = end_openmp_threads()
    counts["ended"] = threads()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        alone = threads()
        start_openmp_threads(ended)
        grown = threads()
        library.GOMP_parallel(nothing, None, 3, 0)  # hangs where the pool is the parent's
        os.write(write, json.dumps({"child": grown - alone, "again": threads() - alone}).encode())
        os._exit(0)
    os.waitpid(child, 0)
    print(json.dumps({**counts, "told": list(ended.values()), **json.loads(os.read(read, 1000))}))


if __name__ == "__main__":
    main()
