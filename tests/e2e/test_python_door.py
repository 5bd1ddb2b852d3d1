"""The Python door: what it answers, what it costs, and that nothing public in it leads to the data."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit
from e2e.cli_clinic import CANARY, POLICY, build, environment, here
from tacit.curator import Curator
from tacit.engines import Exact
from tacit.engines.duckdb import DuckDB
from tacit.faces.opening import Opened, Rehearsal
from tacit.ledger import SqliteLedger

BY_DEPT = "DP-SELECT 0.5 dept, COUNT(*) AS n FROM visits GROUP BY dept"
SECRET_KINDS = (Curator, DuckDB, SqliteLedger, Exact, Opened, Rehearsal, duckdb.DuckDBPyConnection, tacit.Policy)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(build(tmp_path), analyst="ana") as database:
        yield database


def answer(database: tacit.Database, sql: str, *values: object, **more: Any) -> tacit.Release:
    found = database.query(sql, values, **more)
    assert isinstance(found, tacit.Release)
    return found


def test_a_question_with_parameters_is_answered_and_paid_for(db: tacit.Database) -> None:
    release = answer(db, "DP-SELECT ? AVG(amount) AS a FROM visits WHERE dept = ? AND age >= ?", 0.5, "CS", 18)
    assert release.columns == ("a",)
    assert isinstance(release.rows[0][0], float)
    assert release.cost == tacit.Loss("0.5")
    assert db.budget.total.spent == tacit.Budget("0.5")
    assert db.budget.left == tacit.Budget("3.5", "1e-6")
    assert "analyst ana" in str(db.budget)
    assert db.budget._repr_html_().startswith("<table>")
    assert [entry.act for entry in db.log] == ["settle", "charge"]


def test_explaining_is_free_with_the_word_and_without_it(db: tacit.Database) -> None:
    assert db.explain(f"EXPLAIN {BY_DEPT}") == db.explain(BY_DEPT)
    assert db.budget.total.spent == tacit.Budget(0)
    assert db.log == ()


@pytest.mark.parametrize("lead", ["EXPLAIN ", " \n explain\n", "EXPLAIN ANALYZE ", "EXPLAIN nonsense "])
def test_a_question_that_asks_for_no_answer_is_sent_to_explain(db: tacit.Database, lead: str) -> None:
    for door in (db, db.dummy()):
        with pytest.raises(tacit.QueryRefused) as caught:
            door.query(lead + BY_DEPT)
        assert caught.value.hint == "db.explain(sql) is free"
    assert db.budget.total.spent == tacit.Budget(0)


def test_an_answer_prints_as_the_command_line_prints_it(tmp_path: Path) -> None:
    with tacit.open(build(tmp_path), analyst="ana") as database:
        table, _, rest = str(database.query(BY_DEPT)).partition("\n\n")
    said = here("query", "--as", "ana", BY_DEPT, cwd=tmp_path)
    assert said.out.startswith(f"{table}\n\nreused: ")
    assert [line for line in rest.splitlines()[1:] if line not in said.out] == []


def test_a_door_says_how_many_rows_and_which_number(db: tacit.Database) -> None:
    release = db.query(BY_DEPT)
    assert len(release) == len(release.rows) == len(list(release))
    count = db.query("DP-SELECT 0.1 COUNT(*) AS n FROM visits")
    assert count.scalar() == count.rows[0][0]


def test_answers_of_a_batch_are_printed_one_after_another(db: tacit.Database) -> None:
    batch = db.batch(["SELECT COUNT(*) AS n, dept FROM visits GROUP BY dept"] * 2, epsilon="0.1")
    assert str(batch) == f"1\n{batch[0].text_table()}\n2\n{batch[1].text_table()}\n" + "\n".join(
        [batch.footer(), *(f"note: {text}" for text in batch.strategies)]
    )


def test_a_policy_made_in_python_opens_as_well_as_a_file(tmp_path: Path) -> None:
    build(tmp_path)
    policy = tacit.parse_policy(POLICY, tmp_path)
    with tacit.open(policy, analyst="ANA") as database:
        assert database.analyst == "ana"
        assert answer(database, BY_DEPT).rows
    assert tacit.load_policy(tmp_path / "tacit.toml").version == policy.version


def test_a_plain_select_costs_what_the_session_says(db: tacit.Database) -> None:
    plain = "SELECT COUNT(*) AS n FROM visits"
    with pytest.raises(tacit.QueryRefused, match="no price"):
        db.query(plain)
    db.default_epsilon = "1/3"
    assert db.default_epsilon == Fraction(1, 3)
    assert answer(db, plain).cost == tacit.Loss("1/3")
    with pytest.raises(tacit.InvalidParameter):
        db.default_epsilon = 0
    db.default_epsilon = None
    assert db.default_epsilon is None


def test_refusals_carry_a_message_and_a_hint_and_cost_nothing(db: tacit.Database) -> None:
    for sql, kind in (
        ("DP-SELECT 1 secret FROM visits", tacit.UnknownName),
        ("DP-SELECT 1 SUM(city) FROM visits", tacit.QueryRefused),
        ("DP-SELECT 5 COUNT(*) FROM visits", tacit.BudgetExceeded),
    ):
        with pytest.raises(kind) as caught:
            db.query(sql)
        assert caught.value.message
        assert CANARY not in caught.value.explain()
    assert db.budget.total.spent == tacit.Budget(0)


def test_ten_tenths_fit_and_the_eleventh_is_refused(tmp_path: Path) -> None:
    path = build(tmp_path)
    path.write_text(POLICY.replace("epsilon = 4", "epsilon = 1"), encoding="utf-8")
    with tacit.open(path, analyst="ana") as database:
        for _ in range(10):
            answer(database, "DP-SELECT 0.1 FRESH COUNT(*) FROM visits")
        with pytest.raises(tacit.BudgetExceeded):
            database.query("DP-SELECT 0.1 FRESH COUNT(*) FROM visits")


def test_strangers_and_misfits_are_refused_at_the_door(tmp_path: Path) -> None:
    path = build(tmp_path)
    with pytest.raises(tacit.PolicyError, match="no analyst 'eve'"):
        tacit.open(path, analyst="eve")
    with pytest.raises(tacit.PolicyError, match="no such file"):
        tacit.open(tmp_path / "none.toml", analyst="ana")
    with pytest.raises(tacit.InvalidParameter):
        tacit.open(path, analyst="ana", default_epsilon=-1)
    assert not (tmp_path / "clinic.ledger").exists()


def test_after_closing_nothing_is_charged_or_answered(tmp_path: Path) -> None:
    database = tacit.open(build(tmp_path), analyst="ana")
    database.close()
    with pytest.raises(tacit.LedgerError):
        database.query(BY_DEPT)
    with tacit.open(tmp_path / "tacit.toml", analyst="ana") as again:
        assert again.budget.total.spent == tacit.Budget(0)


def test_a_door_carried_over_a_fork_is_refused_before_any_charge(
    db: tacit.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as forked:
        forked.setattr("tacit.faces.database.os.getpid", lambda: -1)
        with pytest.raises(tacit.InvalidParameter, match="another process"):
            db.query(BY_DEPT)
    assert db.budget.total.spent == tacit.Budget(0)


# ── dummy rows ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_dummy_rows_are_free_however_often_they_are_asked(db: tacit.Database) -> None:
    for _ in range(3):
        release = answer(db.dummy(), "DP-SELECT 3 FRESH dept, COUNT(*) AS n FROM visits GROUP BY dept")
        assert [row[0] for row in release.rows] == ["CS", "Econ", "Bio"]
        assert release.cost == tacit.Loss(0)
        assert "dummy data" in release.notes[0]
        assert "ε = 3" in release.notes[0], "what it would cost is told"
        assert release.left == tacit.Budget(4, "1e-6")
    assert db.budget.total.spent == tacit.Budget(0)
    assert db.log == ()
    assert "dummy" in repr(db.dummy())
    assert db.dummy().dummy().query(BY_DEPT)


def test_what_no_budget_covers_is_refused_on_dummy_rows_too(db: tacit.Database) -> None:
    with pytest.raises(tacit.BudgetExceeded):
        db.dummy().query("DP-SELECT 5 COUNT(*) FROM visits")


def test_dummy_rows_are_made_from_the_policy_alone(db: tacit.Database) -> None:
    release = answer(db.dummy(), "DP-SELECT 3 DELTA 1e-7 city, COUNT(*) AS n FROM visits GROUP BY city")
    assert release.rows, "made-up keys are shared by many"
    assert CANARY not in release.to_json()


def test_closing_the_dummy_leaves_the_real_door_open(db: tacit.Database) -> None:
    with db.dummy() as dummy:
        dummy.query(BY_DEPT)
    assert answer(db, BY_DEPT).rows
    assert answer(db.dummy(), BY_DEPT).rows


# ── nothing public leads to the data ─────────────────────────────────────────────────────────────────────────────────


def reachable(start: object) -> Iterator[tuple[str, object]]:
    """Everything that can be got at by public names, items and iteration, without calling anything."""
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("it", start)]
    while waiting:
        path, value = waiting.pop()
        if id(value) in seen or isinstance(value, (str, bytes, int, float, Fraction, type(None), type)):
            continue
        seen.add(id(value))
        yield path, value
        for name in dir(value):
            if not name.startswith("_"):
                inner = getattr(value, name)
                if not callable(inner):
                    waiting.append((f"{path}.{name}", inner))
        if isinstance(value, dict):
            waiting += [(f"{path}[{key!r}]", inner) for key, inner in value.items()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting += [(f"{path}[{place}]", inner) for place, inner in enumerate(value)]


def leaks(start: object) -> list[str]:
    return [path for path, value in reachable(start) if isinstance(value, SECRET_KINDS)]


def test_no_public_name_leads_to_the_engine_the_ledger_or_the_policy(db: tacit.Database) -> None:
    release = answer(db, BY_DEPT)
    for thing in (db, db.dummy(), release, db.explain(BY_DEPT), db.budget, db.log, db.schema):
        assert leaks(thing) == []
        assert CANARY not in repr(thing) + str(thing)
    assert {path for path, _ in reachable(db)} >= {"it.budget", "it.log", "it.schema"}, "the walk goes somewhere"


def test_a_public_name_that_leaked_would_be_found(db: tacit.Database) -> None:
    class Leaking:
        def __init__(self) -> None:
            self.inside = {"curator": [db._Database__curator]}  # type: ignore[attr-defined]

    assert "it.inside['curator'][0]" in leaks(Leaking())


def test_a_door_is_neither_copied_nor_pickled(db: tacit.Database) -> None:
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            act(db)
    assert not hasattr(db, "__dict__")


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_has_every_form(db: tacit.Database) -> None:
    release = answer(db, BY_DEPT)
    assert json.loads(release.to_json())["columns"] == ["dept", "n"]
    assert release.to_csv().startswith("dept,n,n_error\n")
    assert release.to_markdown().startswith("| dept | n |")
    assert release._repr_html_().startswith("<table>")
    frames = pytest.importorskip("pandas")
    assert isinstance(release.to_pandas(), frames.DataFrame)


def test_many_threads_ask_one_door(db: tacit.Database) -> None:
    answers: list[tacit.Release] = []
    threads = [
        threading.Thread(target=lambda: answers.append(answer(db, "DP-SELECT 0.1 FRESH COUNT(*) AS n FROM visits")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({release.receipt.entry for release in answers}) == 8
    assert db.budget.total.spent == tacit.Budget("0.8")


def test_importing_tacit_loads_no_engine(tmp_path: Path) -> None:
    heavy = ("duckdb", "sqlglot", "numpy", "typer", "rich", "prompt_toolkit", "cryptography", "tomlkit")
    code = f"import sys, tacit; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(), cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"


def test_an_answer_knows_its_keys(db: tacit.Database) -> None:
    assert db.query(BY_DEPT).keys == (0,)
    assert db.query("DP-SELECT 0.1 COUNT(*) AS n FROM visits").keys == ()
    rolled = db.query("DP-SELECT 0.1 age, dept, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept, age) LIMIT 5")
    assert rolled.keys == (0, 1)
    assert db.batch(["SELECT COUNT(*) AS n, dept FROM visits GROUP BY dept"], epsilon="0.1")[0].keys == (1,)
    median = db.query("DP-SELECT 0.1 dept, MEDIAN(amount) AS middle FROM visits GROUP BY dept")
    assert [axes.get_ylabel() for axes in median.plot().axes] == ["middle"]
