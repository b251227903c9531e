"""What each job of a submission asks its engine for."""

from __future__ import annotations

import msgspec


class Resources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a job asks for; None leaves it to the engine.

    Parameters
    ----------
    minutes : int
        Limit of the job's time.
    nodes : int
        Nodes; the job's program runs on the first.
    cores : int or None
        Cores on each.
    gpus : int or None
        GPUs on each.
    memory_gib : int or None
        Memory on each, in GiB.
    queue, account : str or None
        Queue (Slurm's partition) and account.
    exclusive : bool
        Whether no other job may share the nodes.
    parallel : int or None
        Jobs that may run at once.
    options : dict of str to str
        Options of the engine's own, by its names.
    image : str or None
        Container, where the engine runs containers.
    """

    minutes: int = 60
    nodes: int = 1
    cores: int | None = None
    gpus: int | None = None
    memory_gib: int | None = None
    queue: str | None = None
    account: str | None = None
    exclusive: bool = False
    parallel: int | None = None
    options: dict[str, str] = {}
    image: str | None = None
