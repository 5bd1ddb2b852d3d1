"""A server that is killed leaves no twin behind: neither its processes nor its files."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacit.faces.server.wire.catalog.twin import is_there

STARTED = """
import asyncio
from tacit.faces.catalogue import Catalogue
from tacit.faces.server.wire.catalog.twin import Twin

async def run():
    twin = await Twin.start(Catalogue("clinic", ()))
    print(twin._directory, flush=True)
    await asyncio.sleep(3600)

asyncio.run(run())
"""


@pytest.mark.skipif(not is_there(), reason="no PostgreSQL on this machine: pip install tacit[twin]")
def test_nothing_is_left_of_the_twin_of_a_server_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        directory = Path(process.stdout.readline().strip())
        assert (directory / "data").is_dir()
        process.kill()
    while directory.exists() or any(str(directory) in _command(each) for each in Path("/proc").glob("[0-9]*/cmdline")):
        time.sleep(0.05)  # however long that takes


def _command(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
