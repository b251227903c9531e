"""How the process was run, and by which interpreter."""

from typing import Literal

from benchmarker.records.schema.kinds import ByteCount, Count, Duration, Group, Positive, Seconds, Text, since


class SharedStart(Group, frozen=True, kw_only=True):
    """What a forked worker has in common with the others of its warm server; null for a spawned one."""

    hash_seed: int | None
    """The seed of Python's hashes."""
    address_layout: bool
    """Whether the layout of memory is the same."""
    server_processes: Positive
    """Which of the server's workers it was, from 1."""
    import_seconds: Seconds
    """What the server's import of the framework took, in seconds."""
    threads_ended: Count
    """Threads of libraries that they ended themselves before the fork."""


class CompileCache(Group, frozen=True, kw_only=True):
    """Where the framework keeps what it compiles for later processes (since 1.2)."""

    kind: Literal["kept", "cold"]
    """Whether earlier processes used the folders too, or they were fresh and empty."""
    files_before: Count | None
    """Files in the folders before the process; 0 for a framework that keeps nothing."""
    files_after: Count | None
    """Files in the folders after the process."""
    state: Literal["cold", "warm"] | None
    """cold: it added files, so compiled; warm: there were files and they sufficed; null: it compiled
    nothing, or nothing is kept or known."""
    compilations: dict[str, Positive] | None
    """How often the program was compiled in each stage of the process that compiled it; null if the
    framework does not say."""


class ProcessFacts(Group, frozen=True, kw_only=True):
    """What may tell one process from another of the same run, read after the timed part; null if the run ended
    before (since 1.5)."""

    resident_bytes: ByteCount | None
    """Memory that is in use, in bytes."""
    huge_page_bytes: ByteCount | None
    """How much of it lies in transparent huge pages, in bytes."""
    cpus: list[Count]
    """CPUs that its threads ran on last; empty where the system does not tell."""
    c_library: str | None
    """The C library, whose allocator frameworks use, e.g. 'glibc 2.36'."""


class Execution(Group, frozen=True, kw_only=True):
    """How the process was run."""

    launcher: Text
    """Name of the launcher plugin."""
    start: Literal["spawn", "fork"] = since("1.2")
    """Whether the worker was a new interpreter or a fork of a warm one."""
    shared: SharedStart | None = since("1.2")
    threads: Positive | None
    """Threads for computing inside operators."""
    affinity: list[Count]
    """CPUs that the process was bound to; empty for no binding."""
    compile_cache: CompileCache = since("1.2")
    timeout_seconds: Duration | None
    """Time limit of the run, in seconds; null for none."""
    environment_variables: dict[str, str | None]
    """Environment variables that were set for the process, or that matter and were inherited."""
    warmup_requested: Count | None
    """Untimed steps asked for; null if the run chose."""
    steps_requested: Positive | None
    """Timed steps asked for; null if the run chose."""
    samples_per_epoch: Positive | None
    """Samples of an epoch; null if none was given."""
    worker_seconds: Seconds | None = since("1.2")
    """From the worker's start to its end, in seconds (since 1.2)."""
    process: ProcessFacts | None = since("1.5")


class ContainerImage(Group, frozen=True, kw_only=True):
    """The container that the interpreter was in, and its image."""

    engine: Text
    """What ran it: 'bubblewrap', 'charliecloud', 'apptainer', 'podman' or 'docker'."""
    engine_version: str | None
    """What the engine said of its version."""
    image: Text
    """As it was asked for: a folder, a file or a name."""
    digest: Text
    """The image's: of Podman and Docker its identity, of a file its SHA-256, of a folder the SHA-256 of all
    its entries' paths, kinds and contents."""
    system: dict[str, str | None]
    """The image's operating system by its os-release: 'name', 'id' and 'version'."""
    system_packages: dict[str, str]
    """Version of each package of the operating system; empty where no file lists them (dpkg and apk have one)."""


class Environment(Group, frozen=True, kw_only=True):
    """The Python interpreter that ran the framework."""

    kind: Literal["current", "managed", "recorded", "path", "container"] | None
    """'current', 'managed', 'recorded' (made from the package list of a record; since 1.2), 'path' or 'container'
    (since 1.8)."""
    key: str | None
    """Key of the managed environment."""
    python: str | None
    """Version of Python."""
    implementation: str | None
    """Implementation of Python, e.g. 'CPython'."""
    build: Text | None = since("1.9")
    """What compiled this Python, from which revision and when, e.g. 'GCC 12.2.0, main, Dec 4 2023 18:10:11'
    (since 1.9)."""
    profile_guided: bool | None = since("1.9")
    """Whether it was optimized by a profile; null if the build does not tell (since 1.9)."""
    packages: dict[str, str | None] | None
    """Version of each distribution installed there; null if it is not known."""
    container: ContainerImage | None = None
