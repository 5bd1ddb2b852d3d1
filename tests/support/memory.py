"""How much memory each test took: a test that takes gigabytes cannot run beside another one."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable
from pathlib import Path

MOST = 2 << 30  # bytes that one test may take on top of what its worker holds already
_UNIT = 1 if sys.platform == "darwin" else 1024
_STATUS, _MARK = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_LOWER_THE_MARK = "5"  # to what is resident now: see proc(5)


def peak() -> int:
    """The most that this process has held so far, in bytes: since `start` where the mark can be lowered.

    Linux keeps it for each process that it starts; what getrusage says there is inherited from the parent.
    """
    found = _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT if found is None else found


def start() -> int:
    """What is resident now, in bytes, from where a test's own peak is counted.

    Where no one may lower the mark it is the mark itself: then a test is not blamed for what another one took.
    """
    try:
        _MARK.write_text(_LOWER_THE_MARK, encoding="ascii")
    except OSError:
        return peak()
    found = _status("VmRSS")
    return peak() if found is None else found


def is_too_much(grown: int) -> bool:
    """Whether a test took more than one may, by its own peak less what was resident at its start."""
    return grown > MOST


def largest(grown: Iterable[tuple[str, int]], count: int = 10) -> list[str]:
    """The tests that took the most, one line each."""
    found = sorted(((size, name) for name, size in grown if size >= 50 << 20), reverse=True)
    return [f"{size >> 20:6,} MB  {name}" for size, name in found[:count]]


def _status(field: str) -> int | None:
    """One of the sizes that Linux tells of this process."""
    try:
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), None)
