"""The suite notices a test that takes more memory than one may."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import memory


def test_only_the_test_that_went_beyond_is_blamed() -> None:
    small, large = memory.MOST // 2, memory.MOST + 1
    assert memory.is_too_much(small, large)
    assert not memory.is_too_much(small, small)
    assert not memory.is_too_much(large, large + 1)  # another one went beyond before


def test_what_a_process_takes_is_seen() -> None:
    text = "from support import memory; before = memory.peak(); x = b'1' * (200 << 20); print(memory.peak() - before)"
    folder = str(Path(memory.__file__).parents[1])
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True, cwd=folder)
    assert int(found.stdout) > 100 << 20


def test_the_largest_come_first_and_small_ones_are_not_shown() -> None:
    assert memory.largest([("a", 60 << 20), ("b", 1 << 20), ("c", 3 << 30)]) == [" 3,072 MB  c", "    60 MB  a"]
