"""``results index``: many records elsewhere in few objects, by which they are read."""

from __future__ import annotations

import argparse

from benchmarker.cli.terminal import print_json
from benchmarker.errors import UsageError, plural


def make_index(arguments: argparse.Namespace) -> int:
    """Make the index objects of an address, and say what they have now."""
    from benchmarker.records import places

    place = places.place_at(arguments.results)
    if place is None:
        raise UsageError(
            f"index is for results elsewhere, such as s3://bucket/folder, got '{arguments.results}'; the index of a "
            "folder of this machine is made when it is read"
        )
    added, total = place.index()
    if arguments.json:
        print_json({"indexed": added, "records": total})
    else:
        print(
            f"{plural(added, 'record')} added to the index objects of '{place.address}', which has {total:,}"
        )
    return 0
