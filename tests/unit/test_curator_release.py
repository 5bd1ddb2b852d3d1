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

from tacit.core import Budget, Loss
from tacit.curator import Receipt, Release
from tacit.curator.batch_release import BatchRelease

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


def release(rows, errors=None, columns=("key", "n"), **change):
    blank = tuple(tuple(None if i == 0 else 1.5 for i in range(len(row))) for row in rows)
    values = {
        "confidence": Fraction(95, 100),
        "cost": Loss(Fraction(1, 2)),
        "left": Budget(3),
        "reused": None,
        "notes": ("<i>note</i>",),
        "receipt": Receipt("p" * 64, "v" * 64, "e" * 64, "ε = 0.5 for one row", "one row (add/remove)", ("m",)),
    }
    return Release(columns=columns, rows=rows, errors=errors or blank, **(values | change))


@pytest.fixture
def hostile():
    return release(tuple((key, place) for place, key in enumerate(HOSTILE)))


def test_html_escapes_every_key_note_and_heading(hostile):
    shown = release(hostile.rows, columns=("<b>key</b>", "n"))._repr_html_()
    assert set(re.findall(r"</?([a-z]+)", shown)) <= {"table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li"}
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
        assert row[0][:1] not in {"=", "+", "-", "@", "\t", "\r"}


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


def test_frames_carry_the_error_bars_beside_the_values():
    made = release((("a", 1), ("b", 2)))
    assert made.to_pandas().attrs["errors"] == [[None, 1.5], [None, 1.5]]
    assert made.to_arrow().column_names == ["key", "n", "n_error"]


def test_an_empty_answer_has_its_columns_in_every_format():
    made = release((), errors=())
    assert json.loads(made.to_json())["columns"] == ["key", "n"]
    assert made.to_csv().splitlines() == ["key,n"]
    assert made.to_markdown().startswith("| key | n |")
    assert "<th>key</th>" in made._repr_html_()
    assert list(made.to_pandas().columns) == ["key", "n"]


def test_a_plot_has_a_bar_and_an_error_bar_for_each_key():
    import matplotlib as mpl

    mpl.use("Agg")
    axes = release((("a", 3), ("b", 5))).plot()
    assert [bar.get_height() for bar in axes.patches] == [3, 5]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    mpl.pyplot.close("all")


def test_a_plot_leaves_the_key_of_a_total_and_a_missing_number_blank():
    import matplotlib as mpl

    mpl.use("Agg")
    axes = release(((None, 8), ("b", None))).plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["–", "b"]
    assert [str(float(bar.get_height())) for bar in axes.patches] == ["8.0", "nan"]
    mpl.pyplot.close("all")


def test_the_footer_says_cost_rest_confidence_and_unit(hostile):
    footer = hostile.to_markdown().splitlines()[-1]
    for part in ("ε = 0.5", "left ε = 3", "± covers the noise alone, 95% of the time", "one row (add/remove)"):
        assert part in footer
    assert "free" in release((), errors=(), reused="the same question").footer()
