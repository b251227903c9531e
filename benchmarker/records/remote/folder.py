"""The copy of a place elsewhere: brought up to date before it is read, and the spool of what is not sent yet.

A record is written to the copy first, as to any results folder, and sent from there. Where the place cannot be
reached it stays, and the next command with this address sends it. Nothing is ever removed from the copy that
was not sent, and no record is removed from the place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from benchmarker.cache import lock
from benchmarker.errors import StoreError, UsageError, plural
from benchmarker.files import read_regular, remove, staged
from benchmarker.records.attachments import LOG, TRACE, named_by
from benchmarker.records.reading import MAX_FILE_BYTES, DamagedError, parse_record, read_bytes
from benchmarker.records.remote import journal, packs
from benchmarker.records.remote.journal import is_record_name
from benchmarker.records.remote.objects import Objects, State, UnreachableError
from benchmarker.records.store import add_record, require_writable

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

FEW = 64
"""Records that are read one by one, rather than with an archive that holds them."""
INDEXED_BY_ITSELF = 256
"""Records without an index object from which on whoever adds some makes one."""
_TRANSFERS = 16
"""At the same time."""
_PATIENCE_SECONDS = 3600.0


class RemoteFolder:
    """A results folder elsewhere.

    Parameters
    ----------
    address : str
        As :func:`~benchmarker.records.remote.addresses.checked_address` returns it.
    folder : Path
        Its copy on this machine, which is made.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder
        self.unsent = 0
        self._objects = Objects(address)
        self._listed: dict[str, State] | None = None
        self._added = 0
        self._since = 0
        self._is_begun = self._is_fresh = False
        self._refused = ""
        self._notes: list[str] = []
        require_writable(folder, f"the copy of {address}", "BENCHMARKER_HOME")

    # --- the copy ---------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Send what was left from before, and bring the copy up to date, once in a command.

        Raises
        ------
        StoreError
            If the place cannot be reached, or refuses.
        """
        if self._is_fresh:
            return
        with self._locked():
            try:
                self._send_before()
                listed = self._objects.listing()
                self._pull(listed)
            except UnreachableError as error:
                raise UnreachableError(
                    f"{error}; what is known of it from before can be read with --results='{self.folder}'"
                ) from error
            except OSError as error:
                raise StoreError(
                    f"the copy of {self.address} must be a folder that can be written, got '{self.folder}' "
                    f"({error.strerror}); what is in it may be deleted, or another be chosen with BENCHMARKER_HOME"
                ) from error
            self._listed, self._since, self._is_fresh = listed, 0, True

    def reopen(self) -> None:
        """Have the copy brought up to date again when it is next read."""
        self._is_fresh = False

    def _send_before(self) -> None:
        """Send, once in a command and before it adds any, what was left by those before it."""
        if self._is_begun:
            return
        self._is_begun = True
        try:
            sent = self._send_left()
        except UnreachableError:
            raise
        except (StoreError, OSError) as error:
            self._refused = str(error)  # who may not write may read all the same
            return
        if sent:
            self._notes.append(f"{plural(sent, 'record')} from before sent to '{self.address}'")

    def fetch(self, file: Path) -> None:
        """Bring a file that lies beside a record into the copy, if there is one there."""
        name = self._name(file)
        if file.name.endswith((LOG, TRACE)) and self._listed is not None and name in self._listed:
            self._keep(name, self._objects.read(name))

    def _pull(self, listed: Mapping[str, State]) -> None:
        known, here = journal.load(self.folder), set(self._here())
        there = {name: state for name, state in listed.items() if is_record_name(name)}
        new = {name: state for name, state in there.items() if self._is_new(name, state, known, here)}
        # What has changed goes before it is read anew: an interrupted command leaves a record that is missing, which
        # the next one reads, and never one that would pass for new here and be sent.
        for name in (known.keys() - there.keys()) | (new.keys() & here):
            self._drop(name)
        kept = {name: state for name, state in there.items() if name not in here or name in known}
        if kept != known:
            journal.replace(self.folder, kept)
        self._read(new, listed)

    def _is_new(self, name: str, state: State, known: journal.Known, here: set[str]) -> bool:
        if name not in here:
            return True
        if name not in known:
            return False  # not sent yet, and of a name that is taken there: sending finds another
        before = known[name]
        # What was sent and not seen since has no state; its content is what is here.
        return before != state if before else (self.folder / name).stat().st_size != state[0]

    def _read(self, new: Mapping[str, State], listed: Mapping[str, State]) -> None:
        """Bring records into the copy: by archives as far as they go, then one by one."""
        left = dict(new)
        if len(left) >= FEW:
            for identifier, members in self._lists(listed).items():
                wanted = {name for name, state in members.items() if left.get(name) == state}
                if len(wanted) < FEW:
                    continue
                data = self._objects.read(f"{packs.FOLDER}/{identifier}{packs.ARCHIVE}")
                for name, content in packs.unpacked(identifier, data):
                    if name in wanted and len(content) == left[name][0]:
                        self._keep(name, content)
                        del left[name]
        singly = [name for name, (size, _) in left.items() if size <= MAX_FILE_BYTES]
        for name, content in zip(singly, self._together(self._objects.read, singly)):
            self._keep(name, content)
        if len(singly) >= INDEXED_BY_ITSELF:
            self._notes.append(
                f"{len(singly):,} records were read one by one; after 'benchmarker results index "
                f"--results={self.address}' they are read in few pieces"
            )

    def _lists(self, listed: Mapping[str, State]) -> dict[str, Mapping[str, State]]:
        """Return what each archive holds, the largest first; lists are kept, as they never change."""
        prefix = f"{packs.FOLDER}/"
        names = [name for name in listed if name.startswith(prefix) and name.endswith(packs.LIST)]
        names = [
            name
            for name in names
            if name.count("/") == 1 and name.removesuffix(packs.LIST) + packs.ARCHIVE in listed
        ]
        missing = [name for name in names if not (self.folder / name).is_file()]
        for name, data in zip(missing, self._together(self._objects.read, missing)):
            self._keep(name, data)
        found = {
            name.removeprefix(prefix).removesuffix(packs.LIST): packs.members(
                (self.folder / name).read_bytes()
            )
            for name in names
        }
        return dict(sorted(found.items(), key=lambda item: len(item[1]), reverse=True))

    def _keep(self, name: str, data: bytes) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with staged(target, replace=True, durable=False) as stream:
            stream.write(data)

    def _drop(self, name: str) -> None:
        """Remove from the copy what somebody has removed from the place."""
        for ending in (LOG, TRACE):
            remove((self.folder / name).with_suffix(ending))
        remove(self.folder / name)

    # --- sending ----------------------------------------------------------------------------------

    def check_writable(self) -> None:
        """Make an object and remove it; a place that cannot be reached just now is no reason not to measure.

        Raises
        ------
        UsageError
            If the place refuses.
        """
        try:
            self._objects.check_exclusive(f".probe-{os.urandom(8).hex()}")
            with self._locked():
                self._send_before()
        except UnreachableError:
            return  # closing tells, where a record could not be sent
        except StoreError as error:
            raise UsageError(
                f"results must go to a place that can be written, got '{self.address}' ({error}); choose another with "
                "--results"
            ) from error

    def send(self, file: Path) -> Path:
        """Send a record that is new in the copy, with what lies beside it; return its file, which may have a new name.

        Where that cannot be done, it waits in the copy.
        """
        try:
            with self._locked():
                sent = self._sent(file)
                journal.add(self.folder, [self._name(sent)])
                self._added += 1
                self._since += 1
                return sent
        except (StoreError, OSError):
            return file  # closing tries again, and tells

    def close(self) -> Sequence[str]:
        """Send what was not sent yet; return a sentence for each thing that the user should know."""
        if self._left():
            with self._locked():
                try:
                    self._send_left()
                except (StoreError, OSError) as error:
                    self._refused = str(error)
        self.unsent = len(self._left()) if self._refused else 0
        if self.unsent:
            self._notes.append(
                f"{self._refused}; {plural(self.unsent, 'record')} not sent yet, kept in '{self.folder}' and sent by "
                "the next command with this address"
            )
        elif self._listed is not None:
            self._index_many(self._listed)
        return self._notes

    def _left(self) -> list[str]:
        """Return the records of the copy that were not sent."""
        known = journal.load(self.folder)
        return sorted(name for name in self._here() if name not in known)

    def _send_left(self) -> int:
        """Send what was not sent; return how many records that were."""
        left = self._left()
        done: list[str] = []
        try:
            for sent in self._together(self._sent_or_none, [self.folder / name for name in left]):
                if sent is not None:
                    done.append(self._name(sent))
        finally:
            journal.add(self.folder, done)
            self._added += len(done)
            self._since += len(done)
        return len(done)

    def _sent_or_none(self, file: Path) -> Path | None:
        try:
            return self._sent(file)
        except DamagedError:
            return None  # whatever it is, no record

    def _sent(self, file: Path) -> Path:
        data = read_bytes(file, follow=False)
        record = parse_record(data)
        beside = {ending: path.read_bytes() for ending, path in named_by(file, record).items()}
        # The record last: it never names an object that is not there.
        objects = {**{self._name(file.with_suffix(ending)): content for ending, content in beside.items()}}
        objects[self._name(file)] = data
        made: list[str] = []
        for name, content in objects.items():
            if not self._objects.create(name, content):
                break
            made.append(name)
        else:
            return file
        for name in made:
            self._objects.remove(name)
        renamed = add_record(file.parent, file.stem, record, beside)
        for path in (file, *(file.with_suffix(ending) for ending in beside)):
            remove(path)
        return self._sent(renamed)

    # --- index objects ----------------------------------------------------------------------------

    def index(self) -> tuple[int, int]:
        """Make index objects of all records that are in none; return how many, and how many records there are."""
        self.refresh()
        with self._locked():
            self._listed = self._objects.listing()
            self._pull(self._listed)
            return self._index(), sum(map(is_record_name, self._listed))

    def _index_many(self, listed: Mapping[str, State]) -> None:
        """Make index objects if this command has added records and many have none."""
        if not self._added:
            return
        try:
            with self._locked():
                if len(self._without_index(listed)) + self._since < INDEXED_BY_ITSELF:
                    return
                self._listed = self._objects.listing()
                self._pull(self._listed)
                self._index()
        except StoreError:
            return  # the records are there; the next command that adds some tries again

    def _without_index(self, listed: Mapping[str, State]) -> dict[str, State]:
        there = {name: state for name, state in listed.items() if is_record_name(name)}
        if len(there) < INDEXED_BY_ITSELF and not any(name.startswith(packs.FOLDER) for name in listed):
            return there
        for members in self._lists(listed).values():
            for name, state in members.items():
                if there.get(name) == state:
                    del there[name]
        return there

    def _index(self) -> int:
        count = 0
        for some in self._batches(self._without_index(self._listed or {})):
            identifier, archive, listed = packs.packed(some)
            self._objects.create(f"{packs.FOLDER}/{identifier}{packs.ARCHIVE}", archive)
            self._objects.create(f"{packs.FOLDER}/{identifier}{packs.LIST}", listed)
            count += len(some)
        return count

    def _batches(self, names: Mapping[str, State]) -> Iterator[list[tuple[str, State, bytes]]]:
        batch: list[tuple[str, State, bytes]] = []
        size = 0
        for name, state in sorted(names.items()):
            data = self._content(name)
            if len(data) != state[0]:
                continue
            if batch and (len(batch) == packs.MAX_RECORDS or size + len(data) > packs.MAX_BYTES):
                yield batch
                batch, size = [], 0
            batch.append((name, state, data))
            size += len(data)
        if batch:
            yield batch

    # --- the rest ---------------------------------------------------------------------------------

    def _content(self, name: str) -> bytes:
        """Return what the copy has under a name; nothing where that is no file any more."""
        try:
            return read_regular(self.folder / name)
        except OSError:
            return b""

    def _here(self) -> Iterator[str]:
        """Yield the names of the records in the copy."""
        skipped = len(str(self.folder)) + 1
        for parent, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            prefix = f"{parent}/"[skipped:]
            yield from (f"{prefix}{name}" for name in files if is_record_name(name))

    def _name(self, file: Path) -> str:
        return file.relative_to(self.folder).as_posix()

    def _locked(self) -> AbstractContextManager[None]:
        return lock(self.folder, lambda: None, _PATIENCE_SECONDS)

    def _together(self, call: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterator[_Result]:
        """Yield what a call returns for each item, several at a time; after one that failed no other begins."""
        if len(items) < 2:
            yield from map(call, items)
            return
        with ThreadPoolExecutor(_TRANSFERS) as threads:
            try:
                yield from threads.map(call, items)
            finally:
                threads.shutdown(cancel_futures=True)
