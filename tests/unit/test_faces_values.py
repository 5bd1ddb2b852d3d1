"""Small values of the doors: what is typed, what is shown, what is listed."""

from __future__ import annotations

import io
import threading
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.core import Budget
from tacit.curator.forms.cells import in_one_line
from tacit.errors import InvalidParameter, QueryRefused, UnknownName
from tacit.faces import terminal
from tacit.faces.budget_status import Account, BudgetStatus, budget_status
from tacit.faces.catalogue import catalogue
from tacit.faces.cli.values import sql_text, typed_value
from tacit.faces.owner.grids import bound_edges, cap_edges, rounded_outward, typed_edges
from tacit.faces.terminal import print_error, print_table
from tacit.ledger import AccountLine, Balance, Spent, Zcdp
from tacit.policy import ColumnType, parse_policy

# ── what is typed ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("CS", "CS"),
        ("30", 30),
        ("-4", -4),
        ("0.5", Fraction(1, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("'30'", "30"),
        ("'it''s'", "it's"),
        ("''", ""),
        ("true", True),
        ("NULL", None),
        ("1/3", "1/3"),
        ("2024-05-01", "2024-05-01"),
        ("", ""),
        ("'", "'"),
    ],
)
def test_a_typed_value_means_what_it_looks_like(text: str, value: object) -> None:
    assert typed_value(text) == value
    assert type(typed_value(text)) is type(value)


def test_a_question_is_typed_or_read_but_not_both(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("SELECT 1", encoding="utf-8")
    assert sql_text("SELECT 2", None) == "SELECT 2"
    assert sql_text(None, file) == "SELECT 1"
    with pytest.raises(InvalidParameter, match="give one of them"):
        sql_text("SELECT 2", file)
    with pytest.raises(InvalidParameter, match="cannot be read"):
        sql_text(None, tmp_path / "none.sql")


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cell_cannot_move_the_cursor_or_start_a_line() -> None:
    assert in_one_line("a\x1b[2Jb\nc\r\u2028") == "a\\x1b[2Jb\\nc\\r\\u2028"
    assert in_one_line("Neuchâtel ε ± 数") == "Neuchâtel ε ± 数"


def test_an_error_is_one_line_and_its_hint_another(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(QueryRefused("no\nsuch [red]thing[/red]: x", hint="try\r\nthis"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: no\\nsuch [red]thing[/red]: x\nhint: try\\r\\nthis\n"
    print_error(QueryRefused("no hint"))
    assert capsys.readouterr().err == "error: no hint\n"


def test_a_table_keeps_long_cells_whole_and_reads_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    print_table(["[bold]k", "n"], [["[link=evil]a[/link]", long]], right=[1])
    out = capsys.readouterr().out
    assert long in out
    assert "[bold]k" in out
    assert "[link=evil]a[/link]" in out


class Screen(io.StringIO):
    """A terminal, as far as anyone asks."""

    def isatty(self) -> bool:
        return True


def test_a_sign_of_life_is_for_those_who_wait_and_look(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = threading.Event()
    for patience, stream, seen in ((0.0, Screen(), True), (3600.0, Screen(), False), (0.0, io.StringIO(), False)):
        monkeypatch.setattr(terminal, "PATIENCE", patience)
        monkeypatch.setattr("sys.stderr", stream)
        with terminal.working("asking"):
            shown.wait(0.3)
        assert ("asking …" in stream.getvalue()) == seen


# ── what is listed ───────────────────────────────────────────────────────────────────────────────────────────────────

POLICY = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 1
[tables.visits]
unit = "who"
max_rows = 3
description = "what happened"
[tables.visits.columns]
amount = { lower = 0, upper = 5, step = 0.5, description = "euros" }
dept = { domain = ["a", "b", "c", "d", "e", "f", "g"] }
day = { lower = 2024-01-01, upper = 2024-12-31, domain = "range" }
city = { domain = { table = "cities", column = "name" } }
word = {}
secret = { hidden = true }
[tables.cities]
public = true
"""
SCHEMA = {
    "visits": {
        "who": "VARCHAR", "amount": "DOUBLE", "dept": "VARCHAR", "day": "DATE", "city": "VARCHAR",
        "word": "VARCHAR", "secret": "VARCHAR", "unnamed": "VARCHAR",
    },
    "cities": {"name": "VARCHAR"},
}  # fmt: skip


def test_the_catalogue_says_what_is_public_and_nothing_else() -> None:
    text = str(catalogue(parse_policy(POLICY), SCHEMA))
    assert text.splitlines() == [
        "visits: hides one who (add/remove)",
        "  what happened",
        "  at most 3 rows of a unit in a group",
        "  who     unit: only in COUNT(DISTINCT …)",
        "  amount  number: [0, 5] by 0.5; euros",
        "  dept    text: one of a, b, c, d, e, f, … 7 values",
        "  day     date: [2024-01-01, 2024-12-31]; every value of its grid is a group",
        "  city    text: one of cities.name",
        "  word    text: its keys are private",
        "",
        "cities: public",
        "  name  text",
    ]
    with pytest.raises(UnknownName, match="no table 'secret'"):
        catalogue(parse_policy(POLICY), SCHEMA).table("secret")


def line(spent: str, cap: str | None) -> AccountLine:
    return AccountLine(Spent(Fraction(spent)), None if cap is None else Budget(cap))


def test_a_standing_lists_every_cap_and_knows_the_least() -> None:
    balance = Balance(total=line("1", "10"), analyst=line("1", None), groups=(("students", line("2", "2.5")),))
    found = budget_status("clinic", {"ana": balance})
    assert found.left == Budget("0.5")
    assert str(found).splitlines() == [
        "budget          spent  left               of",
        "total           ε = 1  ε = 9              ε = 10",
        "analyst ana     ε = 1  no cap of its own",
        "group students  ε = 2  ε = 0.5            ε = 2.5",
    ]
    assert found.to_dict()["groups"] == {
        "students": {
            "spent": {"epsilon": "2", "delta": "0"},
            "left": {"epsilon": "0.5", "delta": "0"},
            "cap": {"epsilon": "2.5", "delta": "0"},
        }
    }


def test_a_budget_counted_in_zcdp_is_shown_in_rho() -> None:
    spent = AccountLine(Spent(Fraction(1), Fraction(0), Fraction(1, 2), Fraction(0)), Zcdp("0.75", "1e-6"))
    account = Account.of("total", "total", line=spent)
    assert account.row() == ("total", "ρ = 0.5", "ρ = 0.25, δ = 0.000001", "ρ = 0.75, δ = 0.000001")
    assert BudgetStatus("d", account, (), ()).left == Zcdp("0.25", "1e-6")
    assert account.to_dict()["spent"] == {"rho": "0.5", "delta": "0"}


# ── grids ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_grids_are_sorted_and_wide_and_small_enough() -> None:
    for edges in (
        cap_edges(),
        *(
            bound_edges(kind, upper=upper)
            for kind in (ColumnType.INTEGER, ColumnType.NUMBER)
            for upper in (True, False)
        ),
        bound_edges(ColumnType.DATE, upper=True),
        bound_edges(ColumnType.TIMESTAMP, upper=False),
    ):
        assert list(edges) == sorted(set(edges))  # type: ignore[type-var]
        assert len(edges) <= 1_000
    assert cap_edges()[:6] == (1, 2, 3, 5, 7, 10)
    numbers = bound_edges(ColumnType.NUMBER, upper=True)
    assert set(numbers) == {-edge for edge in numbers}  # type: ignore[operator]
    assert bound_edges(ColumnType.DATE, upper=True)[0] == date(1900, 12, 31)
    assert bound_edges(ColumnType.TIMESTAMP, upper=False)[-1] == datetime(2100, 1, 1)  # noqa: DTZ001 - zoneless


def test_a_typed_grid_is_its_edges() -> None:
    assert typed_edges("0:1:0.25") == (0, Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), 1)
    for wrong in ("0:1", "1:0:1", "0:1:0", "0:1:0.3", "0:10000:1", "a:b:c"):
        with pytest.raises(InvalidParameter):
            typed_edges(wrong)


@pytest.mark.parametrize(("lower", "upper"), [("0", "700"), ("0.003", "1000"), ("-5", "7"), ("-1500000", "0.2")])
def test_bounds_are_rounded_outward_onto_a_fine_enough_grid(lower: str, upper: str) -> None:
    low, high, step = rounded_outward(Fraction(lower), Fraction(upper), step=None)
    assert low <= Fraction(lower) < Fraction(upper) <= high
    assert (low / step).denominator == (high / step).denominator == 1
    assert 1_000 <= (high - low) / step <= 10_010
    assert rounded_outward(Fraction("0.5"), Fraction("9.5"), step=Fraction(1)) == (0, 10, 1)
