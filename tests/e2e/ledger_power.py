"""A disk that forgets: replay a recorded run of writes and syncs up to any moment, and lose what was not synced.

The rules are POSIX's, not any one file system's: a write is safe after a sync of its file, a name (made or removed)
after a sync of its directory. Of what is not safe, anything may survive: nothing, all, a part, out of order, torn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ledger_tracer import Call, run

Step = tuple[str, str, int, bytes]  # what is done, to which name, where, with which bytes
KNOWN = ("open", "openat", "unlink", "unlinkat", "write", "pwrite64", "fsync", "fdatasync", "ftruncate")
STRANGE = ("writev", "pwritev", "fallocate", "rename", "renameat", "renameat2")


@dataclass
class File:
    safe: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # (offset, data), or (size, None): cut there

    def sync(self) -> None:
        self.safe, self.pending = self.survive(self.pending), []

    def survive(self, edits: list[tuple[int, bytes | None]]) -> bytearray:
        content = bytearray(self.safe)
        for place, data in edits:
            if data is None:
                content = content[:place].ljust(place, b"\0")
            else:
                content = content.ljust(place, b"\0")
                content[place : place + len(data)] = data
        return content


@dataclass
class Disk:
    names: dict[str, File] = field(default_factory=dict)
    safe_names: dict[str, File] = field(default_factory=dict)
    released: int = 0

    def do(self, step: Step) -> None:
        action, name, number, data = step
        if action == "create":
            self.names.setdefault(name, File())
        elif action == "unlink":
            self.names.pop(name, None)
        elif action == "sync names":
            self.safe_names = dict(self.names)
        elif action == "release":
            self.released += 1
        elif name in self.names:
            file = self.names[name]
            if action == "write":
                file.pending.append((number, data))
            elif action == "truncate":
                file.pending.append((number, None))
            else:
                file.sync()

    def images(self) -> Iterator[dict[str, bytes]]:
        """What may be found on this disk after the power comes back."""
        seen = set()
        for names in (self.safe_names, self.names):
            for survivors in self._choices(names):
                image = {name: bytes(file.survive(survivors(file))) for name, file in names.items()}
                mark = hash(tuple(sorted(image.items())))
                if mark not in seen:
                    seen.add(mark)
                    yield image

    def _choices(self, names: dict[str, File]) -> Iterator[Callable[[File], list[tuple[int, bytes | None]]]]:
        yield lambda file: []
        yield lambda file: file.pending
        yield lambda file: file.pending[:-1]
        yield lambda file: file.pending[-1:]
        yield lambda file: file.pending[:-1] + [_torn(edit) for edit in file.pending[-1:]]
        for lucky in names.values():
            yield lambda file, lucky=lucky: file.pending if file is lucky else []
            yield lambda file, lucky=lucky: [] if file is lucky else file.pending


def _torn(edit: tuple[int, bytes | None]) -> tuple[int, bytes | None]:
    place, data = edit
    return place, data if data is None else data[: len(data) // 2]


def record(work: Callable[[], None], *, directory: Path, releases: Path) -> list[Step]:
    """Run `work`, and write down everything it does to the files of `directory`."""
    steps: list[Step] = []

    def visit(call: Call) -> None:
        if call.result is not None and call.result >= 0:
            steps.extend(_steps(call, directory=directory, releases=releases))

    run(work, visit)
    return steps


def _steps(call: Call, *, directory: Path, releases: Path) -> Iterator[Step]:
    if call.name in STRANGE:
        raise NotImplementedError(call.name)  # the ledger has learnt something new: teach this program too
    if call.name not in KNOWN:
        return
    path = Path(_target(call))
    if path == releases:
        if call.name == "write":
            yield "release", "", 0, b""
    elif path == directory:
        if call.name in ("fsync", "fdatasync"):
            yield "sync names", "", 0, b""
    elif path.parent == directory and not path.name.endswith("-shm"):
        yield _step(call, path.name)


def _target(call: Call) -> str:
    if call.name in ("open", "openat"):
        return call.path(call.result or 0)
    if call.name in ("unlink", "unlinkat"):
        return call.text(call.args[0 if call.name == "unlink" else 1])
    return call.path(call.args[0])


def _step(call: Call, name: str) -> Step:
    if call.name == "ftruncate":
        return "truncate", name, call.args[1], b""
    if call.name == "pwrite64":
        return "write", name, call.args[3], call.memory(call.args[1], call.result or 0)
    if call.name == "write":
        raise NotImplementedError("a write without an offset")
    return (
        {"open": "create", "openat": "create", "unlink": "unlink", "unlinkat": "unlink"}.get(call.name, "sync"),
        name,
        0,
        b"",
    )
