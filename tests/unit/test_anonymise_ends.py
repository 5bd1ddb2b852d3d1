"""What a cell reads as: missing values as values, and intervals that end on a grid and not on somebody."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidParameter
from tacit.release.anonymise import METHODS, Bands, Calendar, Order, Prefix, Tree, anonymise
from tacit.release.anonymise.values.coding import FREE, Ends, column
from tacit.release.anonymise.values.columns import Column

pd = pytest.importorskip("pandas")
DAYS = [datetime.date(2024, 1, day) for day in range(1, 30)]


def made(values: list[Any], *, hierarchy: Any = None, ends: Ends = FREE) -> tuple[Column, list[int]]:
    found, codes = column("c", values, counts=np.ones(len(values), dtype=np.int64), hierarchy=hierarchy, ends=ends)
    return found, codes.tolist()


def cell(found: Column, low: int, high: int) -> tuple[str, float, int, int]:
    cells = found.cells(np.array([low]), np.array([high]))
    return cells.text()[0], float(cells.loss[0]), int(cells.low[0]), int(cells.high[0])


# ── missing values ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gap", [None, np.nan])
def test_a_missing_cell_is_a_value_and_no_row_is_lost(method: str, gap: object) -> None:
    ages = [gap if i % 4 == 0 else 20 + i % 30 for i in range(120)]
    towns = [None if i % 5 == 0 else "abc"[i % 3] for i in range(120)]
    table = pd.DataFrame({"age": pd.Series(ages, dtype="float64"), "town": towns, "ill": ["x", "y"] * 60})
    result = anonymise(table, ["age", "town"], k=5, sensitive="ill", l=2, method=method)
    rows = result.rows(limit=200)[1]
    assert len(rows) == 120
    assert min(Counter(row[:2] for row in rows).values()) >= 5
    assert result.report.risk_after.smallest >= 5


def test_a_column_of_which_nothing_is_known_says_so() -> None:
    table = pd.DataFrame({"age": [None] * 6, "town": ["a", "b"] * 3})
    assert {row[0] for row in anonymise(table, ["age", "town"], k=2).rows()[1]} == {"(missing)"}


def test_what_is_missing_is_in_no_interval_of_numbers() -> None:
    found, codes = made([None, 1.0, 50.0, 100.0, float("nan")])
    assert codes == [3, 0, 1, 2, 3], "a null and what is no number are the same"
    assert cell(found, 3, 3) == ("(missing)", 0, 3, 3)
    assert cell(found, 2, 3) == ("*", 1, 0, 3), "an interval that held it would say that it is near 100"
    assert cell(found, 0, 3)[:2] == ("*", 1)
    assert found.scale[-1] - found.scale[-2] >= found.scale[-2] - found.scale[0]


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (Bands((10, 50)), [1, 12, 60, None]),
        (Prefix((2, 1)), ["1001", "1002", "2001", None]),
        (Tree({"a": ("x",), "b": ("x",), "c": ("y",)}), ["a", "b", "c", None]),
        (Tree({"a": (), "b": (), "c": ()}), ["a", "b", "c", None]),
        (Calendar(("month", "year")), [*DAYS[:3], None]),
    ],
)
def test_no_group_of_a_hierarchy_holds_what_is_missing(hierarchy: Any, values: list[Any]) -> None:
    found, codes = made(values, hierarchy=hierarchy)
    assert codes[-1] == 3
    assert cell(found, 3, 3)[:2] == ("(missing)", 0)
    assert cell(found, 2, 3)[:2] == ("*", 1)
    assert all(level.group[3] not in level.group[:3] for level in found.levels)


def test_among_categories_what_is_missing_is_one_more() -> None:
    found, codes = made(["b", None, "a"])
    assert sorted(found.text) == ["(missing)", "a", "b"]
    assert [found.text[code] for code in codes] == ["b", "(missing)", "a"]
    ordered, _ = made(["low", "high", None], hierarchy=Order(("low", "high")))
    assert ordered.text == ("low", "high", "(missing)")
    assert made(["(missing)", None])[0].text == ("(missing)", "((missing))"), "no value reads like it"


def test_beside_a_population_missing_is_the_same_as_missing() -> None:
    everybody = pd.DataFrame({"age": [None, None, None, 1.0, 1.0, 1.0, 2.0, 2.0]})
    result = anonymise(everybody.iloc[[0, 1, 3, 6]], ["age"], k_map=2, population=everybody)
    assert len(result.rows()[1]) == 4
    with pytest.raises(InvalidParameter, match="not part of the population"):
        anonymise(everybody, ["age"], k_map=2, population=everybody.iloc[3:])


# ── ends of intervals ────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_interval_ends_on_a_grid_around_it() -> None:
    ages, _ = made([17, 23, 25, 27, 31, 44, 90])
    assert cell(ages, 2, 3) == ("24-28", pytest.approx(4 / 73), 2, 3)
    assert cell(ages, 1, 3)[0] == "22-28"
    assert cell(ages, 0, 6) == ("16-90", pytest.approx(1), 0, 6)
    assert cell(ages, 3, 3) == ("27", 0, 3, 3), "a value that all of a class have is no end"
    pay, _ = made([12.34, 19.99, 1000.0])
    assert cell(pay, 0, 1)[0] == "0-20"
    few, _ = made([0, 1, 2, 5])
    assert cell(few, 1, 2)[0] == "1-2", "of a few whole numbers each is a step"


def test_a_rounded_interval_stands_for_every_value_it_covers() -> None:
    ages, _ = made([*range(20, 80)], ends=Ends(grid=10))
    text, loss, low, high = cell(ages, 5, 8)  # 25 to 28
    assert (text, ages.text[low], ages.text[high]) == ("20-30", "20", "30")
    assert loss == pytest.approx(10 / 59)


@pytest.mark.parametrize(
    ("values", "grid", "pair", "reads"),
    [
        ([datetime.date(1950, 3, 4), datetime.date(1961, 7, 9), datetime.date(2000, 1, 1)], None, (0, 1),
         "1950-01-01 to 1961-12-31"),
        ([datetime.date(1950, 3, 4), datetime.date(1961, 7, 9)], "month", (0, 1), "1950-03-01 to 1961-07-31"),
        ([datetime.date(1955, 3, 4), datetime.date(1961, 7, 9)], "decade", (0, 1), "1950-01-01 to 1969-12-31"),
        ([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], None, (0, 1), "0001-01-01 to 9999-12-31"),
        ([*map(datetime.datetime.fromisoformat, ("2024-01-01T09:14:59", "2024-01-09T17:03"))], "hour", (0, 1),
         "2024-01-01T09:00:00 to 2024-01-09T18:00:00"),
        ([Decimal("0.13"), Decimal("0.49")], 0.1, (0, 1), "0.1-0.5"),
        ([-7, 12], 5, (0, 1), "-10 to 15"),
    ],
)  # fmt: skip
def test_dates_times_and_fractions_have_grids_of_their_own(
    values: list[Any], grid: object, pair: tuple[int, int], reads: str
) -> None:
    assert cell(made(values, ends=Ends(grid=grid))[0], *pair)[0] == reads


numbers = st.lists(
    st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, width=32)), min_size=2, max_size=30, unique=True
)


@settings(max_examples=150)
@given(values=numbers, pick=st.tuples(st.integers(0, 29), st.integers(0, 29)), apart=st.booleans())
def test_whatever_the_numbers_an_interval_holds_them_and_lies_on_its_grid(
    values: list[float], pick: tuple[int, int], apart: bool
) -> None:
    found, _ = made(values, ends=Ends(apart=apart))
    low, high = sorted(place % found.size for place in pick)
    _, loss, first, last = cell(found, low, high)
    assert first <= low <= high <= last
    assert 0 <= loss <= 1 + 1e-9
    assert found.points is not None
    assert found.grid is not None
    begin, end = found.grid.begin(found.points[low]), found.grid.end(found.points[high])
    assert begin <= found.points[low]
    assert end >= found.points[high]


@settings(max_examples=60)
@given(values=numbers, apart=st.booleans(), gap=st.booleans())
def test_cells_that_are_made_together_read_as_each_does_alone(values: list[float], apart: bool, gap: bool) -> None:
    """Ends are computed once for all intervals that share them: none may take another's."""
    found, _ = made([*values, None] if gap else values, ends=Ends(apart=apart, bottom=-500, top=500))
    low, high = np.triu_indices(found.size)
    cells = found.cells(low, high)
    together = zip(cells.text(), cells.loss.tolist(), cells.low.tolist(), cells.high.tolist(), strict=True)
    assert list(together) == [cell(found, *pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]


def test_the_rows_decide_no_more_of_a_grid_than_its_magnitude() -> None:
    """One more person, inside the range or a little beyond it, moves nobody's end."""
    ages = [*range(20, 80, 3)]
    texts = [cell(made(sorted({*ages, more}))[0], 0, 3)[0] for more in (20, 79, 81)]
    assert len(set(texts)) == 1


def test_a_grid_that_makes_no_sense_is_refused() -> None:
    for values, grid, said in (
        ([1, 2], 0.5, "whole number"), ([1.5, 2], 0, "positive"), ([1.5, 2], "month", "a number"),
        (DAYS, 7, "one of day, week"), (DAYS, "hour", "one of day, week"), (["a", "b"], 5, "only numbers"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match=said):
            made(values, ends=Ends(grid=grid))
    with pytest.raises(InvalidParameter, match="does not go with a hierarchy"):
        made([1, 2], hierarchy=Bands((10,)), ends=Ends(grid=5))


def test_no_end_of_a_published_interval_is_off_the_grid() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(17, 91, 400), "pay": np.round(rng.normal(40_000, 9_000, 400), 2)})
    rows = anonymise(table, ["age", "pay"], k=7, grids={"pay": 1000}).rows(limit=400)[1]
    intervals = [str(cell).split("-") for row in rows for cell in row if "-" in str(cell)]
    assert len(intervals) > 400
    ages, pays = (
        [int(end) for age_pay in rows for end in str(age_pay[place]).split("-") if "-" in str(age_pay[place])]
        for place in (0, 1)
    )
    assert all(end % 2 == 0 for end in ages)
    assert all(end % 1000 == 0 for end in pays)


def test_beside_a_population_no_two_cells_overlap() -> None:
    """People are counted in one cell each; intervals that were rounded outward would share some."""
    everybody = pd.DataFrame({"age": np.arange(600) % 83})
    rows = anonymise(everybody.iloc[::3], ["age"], k_map=20, population=everybody).rows(limit=200)[1]
    cells = sorted({tuple(map(int, (str(row[0]).split("-") * 2)[:2])) for row in rows})
    assert len(cells) > 3
    assert all(before[1] < after[0] for before, after in pairwise(cells))
