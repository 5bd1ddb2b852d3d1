"""How much memory each test took: a test that takes gigabytes cannot run beside another one."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable

MOST = 2 << 30  # bytes that one test may bring a worker to
_UNIT = 1 if sys.platform == "darwin" else 1024


def peak() -> int:
    """The most that this process has held so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def is_too_much(before: int, after: int) -> bool:
    """Whether it was this test that took the process beyond what one may. The mark never falls again."""
    return before <= MOST < after


def largest(grown: Iterable[tuple[str, int]], count: int = 10) -> list[str]:
    """The tests that raised the mark the most, one line each."""
    found = sorted(((size, name) for name, size in grown if size >= 50 << 20), reverse=True)
    return [f"{size >> 20:6,} MB  {name}" for size, name in found[:count]]
