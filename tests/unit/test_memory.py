"""The suite notices a test that takes more memory than one may, whatever ran before it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import memory

MB = 1 << 20
TAKES = "from support import memory; before = memory.start(); x = b'1' * (200 << 20); print(memory.peak() - before)"
HELD_MORE = "x = b'1' * (500 << 20); del x"
LINUX = sys.platform.startswith("linux")  # elsewhere the mark cannot be lowered


def printed(text: str) -> int:
    folder = str(Path(memory.__file__).parents[1])
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True, cwd=folder)
    return int(found.stdout)


def test_a_test_is_blamed_for_what_it_took_itself():
    assert memory.is_too_much(memory.MOST + 1)
    assert not memory.is_too_much(memory.MOST)


def test_what_a_process_takes_is_seen():
    assert 150 * MB < printed(TAKES) < 300 * MB


def test_what_its_parent_held_hides_nothing():
    child = f"import subprocess, sys; {HELD_MORE}; subprocess.run([sys.executable, '-c', {TAKES!r}], check=True)"
    assert 150 * MB < printed(child) < 300 * MB


def test_what_was_held_before_the_start_neither_counts_nor_hides_anything():
    found = printed(f"{HELD_MORE}; {TAKES}")
    assert 150 * MB < found < 300 * MB if LINUX else found == 0


def test_what_stays_resident_is_not_blamed_on_the_next_test():
    text = "from support import memory; x = b'1' * (500 << 20); before = memory.start(); print(memory.peak() - before)"
    assert printed(text) < 50 * MB


def test_where_the_mark_cannot_be_lowered_only_what_raises_it_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(memory, "_MARK", tmp_path / "none" / "clear_refs")
    assert memory.start() == memory.peak()


def test_where_the_system_tells_nothing_of_a_process_its_usage_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "status")
    assert memory.peak() > 10 * MB


def test_the_largest_come_first_and_small_ones_are_not_shown():
    assert memory.largest([("a", 60 * MB), ("b", MB), ("c", 3 << 30)]) == [" 3,072 MB  c", "    60 MB  a"]
