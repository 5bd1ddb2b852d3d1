"""Text in CSV files: answers, anonymised tables and synthetic rows neutralise the same texts, in the same way."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.releases import release
from tacit.curator.forms.cells import neutral
from tacit.policy import ColumnType
from tacit.release.anonymise.writing.formulas import harmless
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.table import SyntheticTable

STARTS = ["=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n", " ", "\xa0", "\v", "\u2003", "\ufeff", "'", ""]
TEXTS = st.builds(
    lambda *parts: "".join(parts),
    st.sampled_from(STARTS),
    st.sampled_from(STARTS),
    st.one_of(
        st.from_regex(r"\A-?[0-9.e]{0,6}( to -?[0-9]{1,3})?\n?\Z"), st.text(st.characters(codec="utf-8"), max_size=8)
    ),
).filter(lambda text: "\x00" not in text)


def by_engine(texts: list[str]) -> list[str]:
    """What the anonymised table's CSV would hold."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE made (place INTEGER, cell VARCHAR)")
        connection.executemany("INSERT INTO made VALUES (?, ?)", list(enumerate(texts)))
        return [row[0] for row in connection.execute(f"SELECT cell FROM {harmless(connection, 'made')}").fetchall()]


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=20))
@example(["-5", "-5\n", "\xa0=1", "\v=1", "-1 to 3", "-1 to 3=", "1e5", "-1e", "＝1", "\u2003@x", "\x1f+1", "\x85=1"])
def test_the_engine_neutralises_what_python_does(texts: list[str]) -> None:
    assert by_engine(texts) == [neutral(text) for text in texts]


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_answers_neutralise_their_keys_and_their_headings_so(text: str) -> None:
    made = release(((text, 1),), columns=(text, "n"))
    heading, row = list(csv.reader(io.StringIO(made.to_csv(), newline="")))
    for cell in (heading[0], row[0]):
        assert cell.startswith("'") == neutral(text).startswith("'")


@settings(max_examples=30, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=9, unique=True))
@example(["=cmd()", "+1", "-1 to 3", "\t@x"])
def test_synthetic_rows_and_counts_of_trees_neutralise_theirs_so(texts: list[str]) -> None:
    attribute = Attribute("=town()", ColumnType.TEXT, ordered=False, nullable=False, values=tuple(texts))
    codes = np.arange(len(texts))
    table = SyntheticTable("people", (attribute,), (codes,), (np.zeros_like(codes),))
    with tempfile.TemporaryDirectory() as folder:
        table.write(path := Path(folder, "rows.csv"))
        heading, *rows = csv.reader(io.StringIO(path.read_bytes().decode(), newline=""))
    assert heading == ["'=town()"]
    assert [row[0] if row else "" for row in rows] == [neutral(text) for text in texts]


def test_numbers_and_intervals_stay_what_they_are() -> None:
    assert [neutral(text) for text in ("-5", "-0.5e-3", "-5 to -1", "5")] == ["-5", "-0.5e-3", "-5 to -1", "5"]
    assert [neutral(text)[0] for text in ("-5-1", "-5 to x", "--5", " =1", "=1", "-")] == ["'"] * 6
