"""CSV and JSON: read by the policy alone, so that no row has a say in how another is read."""

from __future__ import annotations

import gzip
from datetime import date, datetime
from pathlib import Path

import pytest

from tacit.engines import open_engine, unfit_in
from tacit.engines.columns import quoted
from tacit.engines.text import lines as text_lines
from tacit.errors import PolicyError
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy

ID = ColumnPolicy("id", type="text")


def policy_over(base: Path, file: str, *columns: ColumnPolicy, **keys: object) -> Policy:
    keys = {"unit": "row", **keys}
    table = TablePolicy("v", columns=columns, **keys)
    return Policy(Dataset("d", {"v": file}, base=base), BudgetPolicy(1), tables=[table])


def read(policy: Policy) -> list[tuple[object, ...]]:
    engine = open_engine(policy)
    try:
        names = list(engine.schema()["v"])
        exact = engine.execute(f"SELECT {', '.join(map(quoted, names))} FROM v")
        return sorted(zip(*(exact.keys(name) for name in names), strict=True), key=repr)
    finally:
        engine.close()


def rows_of(base: Path, text: str | bytes, *columns: ColumnPolicy, file: str = "v.csv", **keys: object) -> list[object]:
    (base / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(policy_over(base, file, *columns, **keys))


# ── one row and the others ───────────────────────────────────────────────────────────────────────────────────────────


def test_one_date_does_not_turn_everybodys_day_and_month_round(tmp_path):
    text = "id,day\nann,01/02/2020\n"
    day = ColumnPolicy("day", type="date")
    form = {"date": "%d/%m/%Y"}
    before = rows_of(tmp_path, text, ID, day, format=form)
    after = rows_of(tmp_path, text + "bob,01/25/2020\n", ID, day, format=form)
    assert before == [("ann", date(2020, 2, 1))]
    assert after == [("ann", date(2020, 2, 1)), ("bob", None)]
    assert rows_of(tmp_path, text, ID, day) == [("ann", None)]  # undeclared: ISO 8601, and nothing else


def test_a_line_that_begins_with_a_hash_is_a_line(tmp_path):
    text = "id,note\nann,a # b\ncar,d # e\n"
    assert rows_of(tmp_path, text + "#bob,x\n") == sorted([*rows_of(tmp_path, text), ("#bob", "x")], key=repr)


def test_one_decimal_does_not_change_how_json_numbers_are_spelled(tmp_path):
    text = '{"id": 1}\n{"id": 2}\n'
    assert rows_of(tmp_path, text + '{"id": 1.5}\n', ID, file="v.jsonl") == [("1",), ("1.5",), ("2",)]


def test_a_json_row_with_a_name_of_its_own_adds_no_column(tmp_path):
    text = '{"id": "a"}\n'
    (tmp_path / "v.jsonl").write_text(text + '{"id": "b", "canary": 7}\n')
    engine = open_engine(policy_over(tmp_path, "v.jsonl", ID))
    assert engine.schema() == {"v": {"id": "VARCHAR"}}
    engine.close()


# ── what a cell may be ───────────────────────────────────────────────────────────────────────────────────────────────


INTEGERS = {"1": 1, " -7 ": -7, "+5": 5, "9223372036854775807": 2**63 - 1}
NUMBERS = {"1": 1.0, "-.5": -0.5, "1e3": 1000.0, "inf": float("inf"), "2.": 2.0}
TIMES = {
    "2020-01-01 10:00": datetime.fromisoformat("2020-01-01 10:00"),
    "2020-01-01T10:00:00+02:00": datetime.fromisoformat("2020-01-01 08:00"),
}


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        ("integer", INTEGERS, ["1.0", "9223372036854775808", "1e2", "0x1", "1_0", "one"]),
        ("number", NUMBERS, ["1,5", "one", "1_0", "0x1", "--1", "."]),
        ("boolean", {"true": True, "F": False, "yes": True, "0": False}, ["2", "ja", "tru"]),
        (
            "date",
            {"2020-02-29": date(2020, 2, 29)},
            ["2021-02-29", "1/2/2020", "20200101", "infinity", "2020-01-01 10:00"],
        ),
        ("timestamp", TIMES, ["10:00", "now", "infinity", "2020-01-01 25:00"]),
        ("text", {"x": "x", " y ": " y ", "0": "0", "NULL": "NULL", "é": "é"}, []),
    ],
)
def test_a_cell_is_of_its_columns_type_or_null(tmp_path, kind, fits, does_not):
    for cell, value in fits.items():
        assert rows_of(tmp_path, f'id,x\na,"{cell}"\n', ID, ColumnPolicy("x", type=kind)) == [("a", value)], cell
    for cell in [*does_not, ""]:
        assert rows_of(tmp_path, f'id,x\na,"{cell}"\n', ID, ColumnPolicy("x", type=kind)) == [("a", None)], cell


def test_bounds_and_domains_say_that_a_column_is_numeric(tmp_path):
    columns = [ColumnPolicy("x", lower=0, upper=9, step=1), ColumnPolicy("n", domain=[1, 2])]
    assert rows_of(tmp_path, "id,x,n\na,1.5,2\n", ID, *columns) == [("a", 1.5, 2)]


def test_numbers_with_a_comma_are_read_where_the_policy_says_so(tmp_path):
    form = {"delimiter": ";", "decimal": ","}
    text = "id;x\na;1,5\nb;1.5\n"
    assert rows_of(tmp_path, text, ID, ColumnPolicy("x", type="number"), format=form) == [("a", 1.5), ("b", None)]


# ── what a line may be ───────────────────────────────────────────────────────────────────────────────────────────────

BROKEN = {
    "too few cells": b"bob",
    "too many cells": b"bob,1,2",
    "a quote that is not closed": b'"bob,1',
    "a quote that is not closed in the last cell": b'bob,"1',
    "letters after a quote": b'"bob"x,1',
    "a quote alone": b'"',
}
ODD = {
    "a quote inside": (b'b"ob,1', 'b"ob'),
    "a carriage return inside": (b"b\rob,1", "b\rob"),
    "a NUL": (b"b\0ob,1", "b\0ob"),
    "bytes that are no letters": (b"b\xff\xfeob,1", None),
    "half a letter": (b"b\xe2,1", None),
    "a very long cell": (b"b" * 3_000_000 + b",1", "b" * 3_000_000),
    "a backslash": (b'b\\",1', 'b\\"'),
    "a comment": (b"# bob,1", "# bob"),
    "another delimiter": (b"b;o|b\t,1", "b;o|b\t"),
}
OTHERS = b'ann,1\n"car, ""c""",2\ndan,3\n'


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_line_that_is_no_row_is_a_row_of_nulls_and_leaves_the_others(tmp_path, what, at, ends):
    n = ColumnPolicy("n", type="integer")
    lines = OTHERS.splitlines()
    before = rows_of(tmp_path, ends.join([b"id,n", *lines, b""]), ID, n)
    lines.insert(at, BROKEN[what])
    assert rows_of(tmp_path, ends.join([b"id,n", *lines]), ID, n) == sorted([*before, (None, None)], key=repr)


@pytest.mark.parametrize("what", ODD)
def test_an_odd_cell_is_text_or_null_and_leaves_the_others(tmp_path, what):
    n = ColumnPolicy("n", type="integer")
    line, value = ODD[what]
    before = rows_of(tmp_path, b"id,n\n" + OTHERS, ID, n)
    assert rows_of(tmp_path, b"id,n\n" + OTHERS + line + b"\n", ID, n) == sorted([*before, (value, 1)], key=repr)


@pytest.mark.parametrize(
    "line", ["", "5", "[1]", "null", '{"id": "b"', '{"id": "b"} x', '"', "\0", "\ud800", "[" * 100_000]
)
def test_a_line_of_json_that_is_no_object_is_a_row_of_nulls(tmp_path, line):
    text = b'{"id": "a"}\n' + line.encode(errors="surrogatepass") + b'\n{"id": "c"}\n'
    assert rows_of(tmp_path, text, ID, file="v.jsonl") == [("a",), ("c",), *([(None,)] if line else [])]


@pytest.mark.parametrize("row", ["5", "[1]", "null", '{"x": [1, {"y": 2}]}', '{"id": {"z": 1}}', '{"id": [2]}'])
def test_any_value_may_stand_in_a_list_of_json(tmp_path, row):
    read_back = rows_of(tmp_path, f'[{{"id": "a"}},\n {row}]', ID, file="v.json")
    assert len(read_back) == 2
    assert ("a",) in read_back


def test_json_identifiers_keep_every_digit(tmp_path):
    text = '{"id": 123456789012345678901234567890}\n{"id": 123456789012345678901234567891}\n'
    assert len(set(rows_of(tmp_path, text, ID, file="v.jsonl"))) == 2


@pytest.mark.parametrize("file", ["v.csv", "v.jsonl"])
def test_an_identifier_is_never_a_number_that_would_be_rounded(tmp_path, file):
    with pytest.raises(PolicyError, match="two people could become one"):
        rows_of(tmp_path, "id\n9007199254740993\n", ColumnPolicy("id", type="number"), file=file, unit="id")


# ── formats ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_delimiter_quote_and_encoding_are_the_policys(tmp_path):
    form = {"delimiter": "|", "quote": "'", "encoding": "windows-1252"}
    text = "id|x\n'a|b'|\"c\"\nZürich|€\n".encode("cp1252")
    assert rows_of(tmp_path, text, format=form) == [("Zürich", "€"), ("a|b", '"c"')]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, encoding):
    text = "\ufeffid,x\nä,1\n".encode("utf-8" if encoding == "utf-8" else "utf-16-le")
    assert rows_of(tmp_path, text, ID, format={"encoding": encoding}) == [("ä", "1")]


def test_tabs_stand_between_the_cells_of_a_tsv_file(tmp_path):
    assert rows_of(tmp_path, "id\tx\na,b\t1\n", file="v.tsv") == [("a,b", "1")]


def test_a_compressed_file_is_read_as_what_it_holds(tmp_path):
    assert rows_of(tmp_path, gzip.compress(b"id,x\na,1\n"), file="v.csv.gz") == [("a", "1")]


def test_line_breaks_in_cells_are_read_where_the_policy_says_so(tmp_path):
    text = 'id,x\n"a\nb",1\n"c\n\nd","2"\ne,3\n'
    assert rows_of(tmp_path, text, format={"newlines": True}) == [("a\nb", "1"), ("c\n\nd", "2"), ("e", "3")]
    assert rows_of(tmp_path, text + '"f,4\n', format={"newlines": True})[-1] == ("e", "3")


def test_one_object_a_line_may_stand_in_a_json_file(tmp_path):
    text = '{"id": "a"}\n{"id": "b"}\n'
    assert rows_of(tmp_path, text, ID, file="v.json", format={"lines": True}) == [("a",), ("b",)]
    with pytest.raises(PolicyError, match="is not JSON that is one list of objects") as caught:
        rows_of(tmp_path, text, ID, file="v.json")
    assert "lines = true" in caught.value.hint


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_what_is_read_at_once_does_not_show(tmp_path, monkeypatch, batch, ends):
    monkeypatch.setattr(text_lines, "BATCH", batch)
    lines = ["id,x", *(f"é{i},{'y' * (i % 70)}z" for i in range(60)), '"a,b",1']
    found = rows_of(tmp_path, ends.join(lines))
    assert found == sorted([("a,b", "1"), *((f"é{i}", "y" * (i % 70) + "z") for i in range(60))], key=repr)


@pytest.mark.parametrize("text", ["", "\n1,2\n", '"id,x\n1,2\n', "id,ID\n1,2\n"])
def test_a_first_line_that_names_no_columns_is_refused(tmp_path, text):
    with pytest.raises(PolicyError, match=r"the first line of 'v\.csv'"):
        rows_of(tmp_path, text)


def test_files_of_one_table_have_the_same_first_line(tmp_path):
    (tmp_path / "1.csv").write_text("id,x\na,1\n")
    (tmp_path / "2.csv").write_text("x,id\n1,a\n")
    with pytest.raises(PolicyError, match="differ in their first lines"):
        read(policy_over(tmp_path, "*.csv"))


# ── what the curator is told ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_curator_is_told_how_many_cells_did_not_fit_with_an_example_and_its_line(tmp_path):
    (tmp_path / "v.csv").write_text("id,n,day\na,1,2020-01-01\nb,,\nc,x,01/02/2020\nd,y,2020-01-02\n\ne,5\n")
    policy = policy_over(tmp_path, "v.csv", ID, ColumnPolicy("n", type="integer"), ColumnPolicy("day", type="date"))
    found = {each.column: (each.count, each.rows, each.example, each.line) for each in unfit_in(policy)}
    assert found == {None: (1, 5, "e,5", 7), "n": (2, 5, "x", 4), "day": (1, 5, "01/02/2020", 4)}


def test_nothing_is_said_where_every_cell_fits(tmp_path):
    (tmp_path / "v.jsonl").write_text('{"id": "a", "n": 1}\n{"id": "b"}\n{"id": null, "n": null}\n')
    policy = policy_over(tmp_path, "v.jsonl", ID, ColumnPolicy("n", type="integer"))
    assert list(unfit_in(policy)) == []
