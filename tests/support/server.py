"""A server on loopback for tests: in this process, with the hub at hand; or the real command, to be killed."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from e2e.cli_clinic import environment
from tacit.faces.server.running import Doors, serve
from tacit.faces.server.serving import Hub


@dataclass(frozen=True)
class Served:
    """A server that runs: its hub and its address."""

    hub: Hub
    url: str

    def token(self, name: str, *, role: str = "analyst") -> str:
        """A new token of an account, which is made if it is not there."""
        if self.hub.accounts.find(name) is None:
            self.hub.accounts.add(name, None, policy=self.hub.policy, role=role)
        return self.hub.accounts.new_token(name)

    def client(self, name: str, *, role: str = "analyst") -> httpx.Client:
        """A client that bears a token of this account."""
        return client(self.url, self.token(name, role=role))


def client(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60)


@contextmanager
def serving(hub: Hub) -> Iterator[Served]:
    """Serve HTTP in a thread of this process, on any free port."""
    said: list[str] = []
    started, stop, loops = threading.Event(), asyncio.Event(), []

    def say(line: str) -> None:
        said.append(line)
        started.set()

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        await serve(hub, Doors("127.0.0.1", 0, None), say=say, stop=stop)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert started.wait(30)
        yield Served(hub, said[0].split()[1].rstrip("/"))
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def serve_command(policy: Path, *options: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`tacit serve` in a process of its own, and the address it prints. It is killed at the end, if it still runs."""
    path = ":".join(part for part in (environment()["PYTHONPATH"], *sys.path) if part)
    process = subprocess.Popen(
        [sys.executable, "-m", "tacit", "serve", "-p", str(policy), "--http-port", "0", "--pg-port", "0", *options],
        env=environment(**{"PYTHONPATH": path, "PYTHONWARNINGS": "default", **variables}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=policy.parent,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.search(r"HTTP +(\S+)", line)
            if found:
                yield process, found[1].rstrip("/")
                return
        raise AssertionError("the server said no address")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        process.stdout.close()
