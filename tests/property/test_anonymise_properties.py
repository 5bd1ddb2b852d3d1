"""Any table, any models, any method: what is published keeps every promise, counted anew in plain Python."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidParameter
from tacit.release.anonymise import METHODS, Bands, Hierarchy, Tree, anonymise
from tacit.release.anonymise.methods import refining
from tacit.release.anonymise.values import tuples

pd = pytest.importorskip("pandas")

Row = tuple[int | None, str | None, str, str]
TOWNS = ("a", "b", "c", "d", "e", "=1+1", "(missing)")  # a formula, and what a gap would read like
rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-5, 40)), st.sampled_from([*TOWNS, None]), st.sampled_from(["x", "y"]),
        st.sampled_from(["p", "q", "r"]),
    ),
    min_size=1,
    max_size=60,
)  # fmt: skip
LEVELS: tuple[dict[str, Hierarchy], ...] = (
    {},
    {"age": Bands((5, 10, 20))},
    {
        "town": Tree({town: (f"county {place // 3}",) for place, town in enumerate(TOWNS)}),
        "sex": Tree({"x": (), "y": ()}),
    },
)
COLUMNS = ["age", "town", "sex", "ill"]
QUASI = COLUMNS[:3]


def classes(published: list[tuple[object, ...]]) -> dict[tuple[object, ...], list[object]]:
    found: dict[tuple[object, ...], list[object]] = defaultdict(list)
    for *cells, ill in published:
        found[tuple(cells)].append(ill)
    return found


def covers(cell: str, value: object) -> bool:
    """Whether a cell of a table that is cut into intervals may stand for a value, read as a reader reads it."""
    if cell in {"*", str(value)}:
        return True
    if value is None or value != value:
        return any("(missing)" in part for part in cell.split("|"))
    if isinstance(value, str):
        return value in cell.split("|")
    found = re.fullmatch(r"(-?\d+)(?:-| to )(-?\d+)", cell)
    return found is not None and int(found[1]) <= int(str(value)) <= int(found[2])


def entropy(values: list[object]) -> float:
    return -sum(n / len(values) * math.log(n / len(values)) for n in Counter(values).values())


def apart(values: list[object], everything: list[object]) -> float:
    share, prior = Counter(values), Counter(everything)
    return sum(abs(share[v] / len(values) - prior[v] / len(everything)) for v in prior) / 2


@settings(max_examples=60)
@given(
    table=rows,
    method=st.sampled_from(METHODS),
    k=st.integers(1, 8),
    l=st.sampled_from([None, 1, 2, 3]),
    entropic=st.booleans(),
    t=st.sampled_from([None, 0.0, 0.2, 0.6]),
    suppression=st.sampled_from([0.0, 0.2]),
    levels=st.sampled_from(LEVELS),
    wide=st.booleans(),
)
def test_every_class_keeps_every_model_and_no_row_is_lost(
    table: list[Row],
    method: str,
    k: int,
    l: int | None,  # noqa: E741 - the model's own name for it
    entropic: bool,
    t: float | None,
    suppression: float,
    levels: dict[str, Hierarchy],
    wide: bool,
) -> None:
    frame = pd.DataFrame(table, columns=COLUMNS)
    entropic = entropic and l is not None
    try:
        with patch.object(tuples, "WIDE", 0 if wide else 64), patch.object(refining, "WIDE", 0 if wide else 64):
            result = anonymise(
                frame, QUASI, k=k, sensitive="ill", l=l, diversity="entropy" if entropic else "distinct", t=t,
                method=method, suppression=suppression, hierarchies=levels,
            )  # fmt: skip
    except InvalidParameter:
        ills = [row[3] for row in table]
        enough = math.exp(entropy(ills)) if entropic else len(set(ills))
        assert k > len(table) or (l is not None and enough < l - 1e-9)
        return
    _, published = result.rows(limit=len(table))
    ills = [row[3] for row in published]
    assert len(published) >= (1 - suppression) * len(table)
    assert not Counter(ills) - Counter(row[3] for row in table)
    if not suppression:
        assert Counter(ills) == Counter(row[3] for row in table)
    for values in classes(published).values():
        assert len(values) >= k
        if l is not None:
            assert (math.exp(entropy(values)) if entropic else len(set(values))) >= l - 1e-6
        if t is not None:
            assert apart(values, ills) <= t + 1e-6


@settings(max_examples=40)
@given(table=rows, method=st.sampled_from(["greedy", "strict", "relaxed"]), k=st.integers(1, 6))
def test_every_row_has_a_published_row_whose_cells_cover_it(table: list[Row], method: str, k: int) -> None:
    k = min(k, len(table))
    frame = pd.DataFrame(table, columns=COLUMNS)
    _, published = anonymise(frame, QUASI, k=k, sensitive="ill", method=method).rows(limit=len(table))
    for *values, ill in table:
        fitting = [row for row in published if all(covers(str(c), v) for c, v in zip(row, values, strict=False))]
        assert len(fitting) >= k, "whoever looks for a person finds k rows that fit"
        assert ill in {row[3] for row in fitting}


def test_a_cell_that_covers_too_little_would_be_noticed() -> None:
    assert covers("3-5", 5)
    assert covers("-3 to 5", -3)
    assert covers("a|b", "b")
    assert not covers("3-5", 6)
    assert not covers("a|b", "c")
    assert not covers("7", 8)
    assert covers("a|((missing))", None)
    assert not covers("3-5", None)
    assert not covers("(missing)", 5)
