"""What `make mutate` plants is planted where it says, runs, and is counted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
TEXT = '''
LIMIT = 3

def covers(limit: int, spent: int) -> bool:
    """Whether something is left."""
    def left() -> int:
        return limit - spent

    if limit < 0:
        raise ValueError(limit)
    return left() > 0 and not spent < 0
'''


@pytest.fixture
def planting(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import mutate_faults

    path = tmp_path / "guarded.py"
    path.write_text(TEXT)
    monkeypatch.setattr(mutate_faults, "SOURCES", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import guarded

    yield mutate_faults, guarded, path
    del sys.modules["guarded"]


def test_every_fault_is_named_once_with_its_line_and_only_those_in_functions_can_be_planted(planting):
    module, _, path = planting
    faults = list(module.faults(path))
    assert len({fault.key for fault in faults}) == len(faults)
    assert {(fault.line, fault.what) for fault in faults} == {
        (2, "3 becomes 4"),
        (7, "Sub becomes Add"),
        (9, "Lt becomes LtE"),
        (9, "0 becomes 1"),
        (9, "the guard limit < 0 is left out"),
        (11, "And becomes Or"),
        (11, "Gt becomes GtE"),
        (11, "0 becomes 1"),
        (11, "not is left out"),
        (11, "Lt becomes LtE"),
    }
    assert [fault.line for fault in faults if fault.within is None] == [2]


@pytest.mark.parametrize(
    ("what", "spent", "told"),
    [("Sub becomes Add", 3, True), ("Gt becomes GtE", 3, True), ("not is left out", 1, False)],
)
def test_a_fault_is_planted_in_the_functions_that_are_there_already(planting, what, spent, told):
    module, guarded, path = planting
    covers = guarded.covers
    assert covers(3, spent) is not told
    (fault,) = (fault for fault in module.faults(path) if fault.what == what)
    assert module.plant(fault) == 1
    assert covers(3, spent) is told


def test_verdicts_are_counted_by_file(planting):
    import mutate

    rows = [row.split() for row in mutate.table({"a.py:1:0: x": "killed", "a.py:2:0: x": "survives"}).splitlines()]
    assert rows[1:] == [["a.py", "2", "1", "1", "0", "0"], ["together", "2", "1", "1", "0", "0"]]
