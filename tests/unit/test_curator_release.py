"""What leaves: every format says the same, and a hostile key is a key in all of them."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from datetime import date, datetime
from fractions import Fraction

import pytest

from support.releases import release
from tacit.curator.forms.batch_release import BatchRelease
from tacit.errors import InvalidParameter
from tacit.faces.formats import OutputFormat
from tacit.faces.formatting import show

HARMLESS = {"table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li", "svg", "text", "rect", "line"}
HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    "a\\|b",
    "back\\",
    "line\nbreak\r\n| x |",
    "=SUM(A1:A9)",
    "+1+1",
    "-2",
    "@cmd",
    "\tTAB",
    '"quoted", comma',
    "[x](javascript:alert(1))",
    "`code`",
    "&lt;b&gt;",
    "<img src=x onerror=alert(1)>",
    "\u202egnp.exe",
    "",
]


@pytest.fixture
def hostile():
    return release(tuple((key, place) for place, key in enumerate(HOSTILE)))


def test_html_escapes_every_key_note_and_heading(hostile):
    shown = release(hostile.rows, columns=("<b>key</b>", "n"))._repr_html_()
    assert set(re.findall(r"</?([a-z]+)", shown)) <= HARMLESS
    assert "<script" not in shown
    for key in HOSTILE:
        assert html.escape(key) in shown


def test_markdown_keeps_one_line_and_one_cell_to_a_key(hostile):
    lines = hostile.to_markdown().split("\n\n")[0].splitlines()
    assert len(lines) == 2 + len(HOSTILE)
    for line in lines:
        unescaped = re.sub(r"\\.", "", line)  # what Markdown sees after its own escapes
        assert unescaped.count("|") == 3
    text = hostile.to_markdown()
    assert "<script" not in text
    assert "<img" not in text
    assert "[x](javascript" not in text


def test_csv_reads_back_and_runs_no_formula(hostile):
    rows = list(csv.reader(io.StringIO(hostile.to_csv())))
    assert rows[0] == ["key", "n", "n_error"]
    for key, row in zip(HOSTILE, rows[1:], strict=True):
        assert row[0] in {key, f"'{key}"}
        assert row[0][:1] not in {"=", "+", "-", "@", "\t", "\r"} or row[0] == "-2", "which is a number"


CONTROLS = ["\x1b[2J", "\x07", "\x9b31m", "\x7f", "a\rb", "\x00", "\ud800", "\x0c", "\x85"]


@pytest.mark.parametrize("key", CONTROLS, ids=ascii)
def test_no_text_that_leaves_holds_what_a_terminal_would_obey(key):
    made = release(((key, 1),), columns=(f"k{key}", "n"))
    batch = BatchRelease((made,), made.cost, made.left, None, (), made.receipt)
    for text in (made.to_csv(), made.to_markdown(), made.to_json(), batch.to_json(), batch.to_markdown()):
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)", text)
        assert text.encode()
    if key != "\ud800":  # which JSON can spell, and no text can hold
        assert json.loads(made.to_json())["rows"] == [[key, 1]]


def test_numbers_in_csv_stay_numbers():
    text = release((("a", -5), ("b", -0.25))).to_csv()
    assert [row[1] for row in csv.reader(io.StringIO(text))][1:] == ["-5", "-0.25"]


def test_json_is_json_whatever_the_keys_are():
    keys = [
        *HOSTILE,
        None,
        True,
        3,
        Fraction(1, 3),
        0.5,
        math.nan,
        math.inf,
        -math.inf,
        date(2024, 2, 29),
        datetime.fromisoformat("2024-01-01T05:00:00"),
    ]
    made = release(tuple((key, 1) for key in keys))
    plain = json.loads(made.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert [row[0] for row in plain["rows"]][: len(HOSTILE)] == HOSTILE
    assert [row[0] for row in plain["rows"]][-5:] == ["nan", "inf", "-inf", "2024-02-29", "2024-01-01T05:00:00"]


def test_json_says_what_the_command_line_promises(hostile):
    plain = json.loads(hostile.to_json())
    assert {"columns", "rows", "errors", "confidence", "epsilon", "delta", "left", "reused", "receipt"} <= plain.keys()
    assert plain["epsilon"] == "0.5"
    assert plain["delta"] == "0"
    assert plain["left"] == {"epsilon": "3", "delta": "0"}
    assert len(plain["errors"]) == len(plain["rows"])
    assert plain["receipt"]["plan"] == "p" * 64


def test_every_format_carries_the_same_value():
    value = 1234567.890625
    made = release((("a", value),))
    assert json.loads(made.to_json())["rows"][0][1] == value
    assert float(next(iter(list(csv.reader(io.StringIO(made.to_csv())))[1:]))[1]) == value
    assert made.to_pandas()["n"][0] == value
    assert made.to_arrow()["n"][0].as_py() == value
    assert "1,234,568 ± 2" in made.to_markdown() or "1,234,567.9 ± 1.5" in made.to_markdown()


def test_an_empty_answer_has_its_columns_in_every_format():
    made = release((), errors=())
    assert json.loads(made.to_json())["columns"] == ["key", "n"]
    assert made.to_csv().splitlines() == ["key,n"]
    assert made.to_markdown().startswith("| key | n |")
    assert "<th>key</th>" in made._repr_html_()
    assert list(made.to_pandas().columns) == ["key", "n"]
    assert made.to_arrow().column_names == ["key", "n"]
    assert str(made).splitlines()[0].split() == ["key", "n"]


def test_the_footer_says_cost_rest_confidence_and_unit(hostile):
    footer = hostile.to_markdown().splitlines()[-1]
    for part in ("ε = 0.5", "left ε = 3", "± covers the noise alone, 95% of the time", "one row (add/remove)"):
        assert part in footer
    assert "free" in release((), errors=(), reused="the same question").footer()


# ── in Python ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_as_long_as_its_rows_and_goes_over_them():
    made = release((("a", 1), ("b", 2)))
    assert len(made) == 2
    assert [f"{key}{count}" for key, count in made] == ["a1", "b2"]
    assert list(release((), errors=())) == []


def test_a_scalar_is_one_number_and_nothing_else_is():
    assert release(((7,),), columns=("n",)).scalar() == 7
    for made in (release((("a", 7),)), release(((7,), (8,)), columns=("n",)), release((), errors=(), columns=("n",))):
        with pytest.raises(InvalidParameter, match="not one number"):
            made.scalar()


def test_printing_shows_the_table_its_price_and_its_notes():
    lines = str(release((("ward", 1234), (None, 5)))).splitlines()
    assert lines[0].split() == ["key", "n"]
    assert set(lines[1]) == {"─"}
    assert lines[2].split() == ["ward", "1,234", "±", "2"]
    assert lines[3].split() == ["NULL", "5", "±", "2"]
    assert lines[4] == ""
    assert lines[5].startswith("cost ε = 0.5; left ε = 3; ± covers")
    assert lines[6] == "note: <i>note</i>"


def test_printing_says_what_the_command_line_says(hostile, capsys):
    show(hostile, OutputFormat.TABLE)
    assert capsys.readouterr().out == f"{hostile}\n"


@pytest.mark.parametrize("key", CONTROLS, ids=ascii)
def test_printing_obeys_no_key(key):
    made = release(((f"a{key}b", 1),), columns=(f"k{key}", "n"), notes=(f"n{key}",))
    batch = BatchRelease((made,), made.cost, made.left, None, (f"s{key}",), made.receipt)
    for text in (str(made), repr(made), str(batch), repr(batch)):
        assert all(mark.isprintable() or mark == "\n" for mark in text)


def test_a_repr_of_many_rows_is_short_and_says_so():
    made = release(tuple((f"k{i}", i) for i in range(1000)))
    assert len(repr(made).splitlines()) < 30
    assert "… and 980 rows more" in repr(made)
    assert len(str(made).splitlines()) > 1000
