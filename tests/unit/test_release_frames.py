"""Answers as data frames: error columns beside the values, real dates, nothing lost and nothing that fails."""

from __future__ import annotations

import csv
import io
import math
import sys
from datetime import date, datetime
from fractions import Fraction

import pandas
import pyarrow
import pytest

from support.releases import release
from tacit.curator.forms.shape import ColumnShape
from tacit.errors import InvalidParameter

FIRST, LAST = date(1, 1, 1), date(9999, 12, 31)
NOON = datetime.fromisoformat("2024-02-29T12:30:00.000001")


def test_every_noisy_column_is_followed_by_its_half_width():
    made = release((("a", 1), ("b", 2)))
    frame, table = made.to_pandas(), made.to_arrow()
    assert list(frame.columns) == table.column_names == ["key", "n", "n_error"]
    assert frame["n_error"].tolist() == table["n_error"].to_pylist() == [1.5, 1.5]
    assert frame.attrs == {"cost": "ε = 0.5", "covers": "the noise alone", "notes": ["<i>note</i>"]}


def test_an_answer_without_rows_has_the_columns_and_types_that_it_would_have_had():
    kinds = [("text", False), ("date", False), ("boolean", False), ("integer", True), ("number", True)]
    shapes = (
        *(ColumnShape(kind, noisy=noisy) for kind, noisy in kinds),
        ColumnShape("number", noisy=True, stated=False),
    )
    made = release((), errors=(), columns=("w", "d", "b", "n", "s", "median"), shapes=shapes)
    names = ["w", "d", "b", "n", "n_error", "s", "s_error", "median"]
    frame, table = made.to_pandas(), made.to_arrow()
    assert (
        list(frame.columns)
        == table.column_names
        == made.to_polars().columns
        == made.to_csv().strip().split(",")
        == names
    )
    assert [str(kind) for kind in frame.dtypes][1:] == ["datetime64[s]", "bool", "int64", *["float64"] * 4]
    assert [str(kind) for kind in table.schema.types] == ["string", "date32[day]", "bool", "int64", *["double"] * 4]


@pytest.mark.parametrize("names", [("n", "n_error"), ("n_error", "n"), ("n", "n"), ("n_error_2", "n")])
def test_no_two_columns_have_one_name(names):
    made = release(((1, 2), (3, 4)), errors=((0.5, 0.25), (0.5, None)), columns=names)
    frame, table = made.to_pandas(), made.to_arrow()
    header = next(csv.reader(io.StringIO(made.to_csv())))
    assert list(frame.columns) == table.column_names == header
    assert len(set(header)) == 4
    assert header[0] == names[0]
    assert header[2] == names[1] or names[0] == names[1], "a column keeps its name"
    assert frame.iloc[:, 0].tolist() == [1, 3]
    assert frame.iloc[:, 2].tolist() == [2, 4]
    assert frame.iloc[:, 1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("keys", [(FIRST, LAST), (date(2024, 2, 29), None)])
def test_dates_are_dates(keys):
    made = release(tuple((key, 1) for key in keys))
    column = made.to_pandas()["key"]
    assert pandas.api.types.is_datetime64_any_dtype(column)
    assert [None if pandas.isna(day) else day.date() for day in column] == list(keys)
    assert made.to_arrow().schema.field("key").type == pyarrow.date32()
    assert made.to_arrow()["key"].to_pylist() == list(keys)


def test_times_keep_their_microseconds():
    made = release(((NOON, 1), (None, 2), (datetime(1, 1, 1), 3)))  # noqa: DTZ001 - columns have no zone
    column = made.to_pandas()["key"]
    assert [None if pandas.isna(time) else time.to_pydatetime() for time in column] == [row[0] for row in made.rows]
    assert made.to_arrow()["key"].to_pylist() == [row[0] for row in made.rows]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, -(2**63)), "int64"),
        ((1, None), "Int64"),
        ((2**63, 1), "object"),
        ((10**50, None), "object"),
        ((10**90, 1), "object"),
        ((0.5, None), "float64"),
        ((Fraction(1, 3), 2), "float64"),
        ((Fraction(10**400), 0.0), "float64"),
        ((math.nan, math.inf), "float64"),
        ((5e-324, -0.0), "float64"),
        ((True, False), "bool"),
        ((True, None), "boolean"),
        ((None, None), "object"),
        ((1, "one"), "object"),
        ((date(2024, 1, 1), "beyond the calendar"), "object"),
        ((["a", "b"], []), "object"),
        (({"a": 3, "b": 2**70}, {}), "object"),
        (({"a": 0.5}, None), "object"),
    ],
    ids=str,
)
def test_every_kind_of_value_is_kept(values, kind):
    made = release(tuple((value, 1) for value in values))
    frame, table = made.to_pandas(), made.to_arrow()
    assert str(frame["key"].dtype) == kind
    assert len(frame) == table.num_rows == len(values)
    for was, now, arrow in zip(values, frame["key"], table["key"].to_pylist(), strict=True):
        if was is None:
            assert pandas.isna(now)
            assert arrow is None
        elif isinstance(was, int) and kind != "object":
            assert now == arrow == was
        elif isinstance(was, int):
            assert now == was
            assert int(arrow) == was if isinstance(values[1], int | None) else str(arrow) == str(was)


@pytest.mark.parametrize("text", ["", "a", "naïve ☃ 字", "\x00", "\ud800", "=SUM(1)"], ids=ascii)
def test_text_is_kept_whatever_it_holds(text):
    made = release(((text, 1), (None, 2)))
    assert made.to_pandas()["key"][0] == text
    assert pandas.isna(made.to_pandas()["key"][1])
    assert made.to_arrow()["key"][1].as_py() is None
    if text != "\ud800":
        assert made.to_arrow()["key"][0].as_py() == text


def test_whole_numbers_beyond_64_bits_stay_numbers_while_arrow_has_digits():
    for largest, kind in ((2**63, "decimal128"), (10**37, "decimal128"), (-(10**50), "decimal256"), (10**80, "string")):
        assert str(release(((largest, 1),)).to_arrow().schema.field("key").type).startswith(kind)


def test_a_histogram_is_a_map_in_parquet_and_comes_back(tmp_path):
    import pyarrow.parquet

    made = release((("a", {"x": 3, "y": 4}), ("b", {})), errors=((None, None), (None, None)))
    pyarrow.parquet.write_table(made.to_arrow(), tmp_path / "made.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "made.parquet")["n"].to_pylist() == [[("x", 3), ("y", 4)], []]


def test_polars_has_the_same_table():
    polars = pytest.importorskip("polars")
    made = release(((date(2024, 1, 1), 5), (None, 7)))
    frame = made.to_polars()
    assert frame.columns == ["key", "n", "n_error"]
    assert frame.schema["key"] == polars.Date
    assert frame.rows() == [(date(2024, 1, 1), 5, 1.5), (None, 7, 1.5)]


@pytest.mark.parametrize(
    ("form", "module", "extra"),
    [
        ("to_pandas", "pandas", "frames"),
        ("to_arrow", "pyarrow", "frames"),
        ("to_polars", "polars", "polars"),
        ("plot", "matplotlib", "plot"),
    ],
)
def test_what_is_not_installed_is_named(form, module, extra, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidParameter, match=f"^{module} is not installed\n") as caught:
        getattr(release((("a", 1),)), form)()
    assert caught.value.hint == f"pip install 'tacit[{extra}]'"
