"""`FROM t SYNTHETIC`: what was paid for once is asked in any SQL for nothing, and nobody's rows are read for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import tacit
from support.synthetic import COLUMNS, policy, rows
from tacit.engines.answers.process import SHARED, CodedTable
from tacit.engines.duckdb import DuckDB
from tacit.errors import QueryRefused, TacitError
from tacit.policy import BudgetPolicy, ColumnPolicy, Policy, TablePolicy
from tacit.release.synthesise.asking import synthetic_answers


def spent(db: tacit.Database) -> object:
    return db.budget.total.spent.epsilon


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(policy(tmp_path, rows(300)), analyst="ana") as opened:
        yield opened


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tacit.Database]:
    """A database whose model cost 20; nothing that is asked of it costs anything more."""
    with tacit.open(policy(tmp_path_factory.mktemp("paid"), rows(1_000)), analyst="ana") as opened:
        opened.synthesise("t", epsilon=20, method="tree")
        yield opened


def test_the_hint_where_no_model_is_released_yet_works(db: tacit.Database) -> None:
    asked = "SELECT COUNT(*) FROM t SYNTHETIC"
    for ask in (db.query, db.explain):
        with pytest.raises(QueryRefused, match="no model of t is released yet") as refused:
            ask(asked)
    assert spent(db) == 0
    hint = re.search(r"DP-SELECT .*", refused.value.hint)
    assert hint is not None
    db.query(hint[0])
    assert spent(db) == 1
    assert db.query(asked).cost.epsilon == 0
    assert spent(db) == 1


SELECTS = [
    ("SELECT COUNT(*) FROM t SYNTHETIC", "count(*)"),
    ("SELECT MEDIAN(age), MODE(town), ARG_MAX(town, age) FROM t SYNTHETIC", "median(age)"),
    ("SELECT s.town, ROW_NUMBER() OVER (ORDER BY age) AS place FROM t SYNTHETIC AS s QUALIFY place < 4", "town"),
    ("SELECT t.town FROM t synthetic WHERE t.age > ? LIMIT 2", "town"),
    ("WITH x AS (SELECT age FROM t SYNTHETIC) SELECT AVG(age) AS mean FROM x", "mean"),
    ("SELECT a.town, b.town FROM t SYNTHETIC a JOIN t SYNTHETIC b ON a.age < b.age LIMIT 3", "town"),
    ("SELECT town FROM t SYNTHETIC UNION SELECT 'x' ORDER BY 1", "town"),
    ("SELECT DISTINCT ON (town) town, age FROM t SYNTHETIC WHERE EXISTS (SELECT 1 FROM t SYNTHETIC)", "town"),
    ("SELECT REGEXP_REPLACE(town, 'a', 'b') AS r, STRING_AGG(town, ',') FROM t SYNTHETIC GROUP BY 1", "r"),
]


@pytest.mark.parametrize(("sql", "first"), SELECTS)
def test_any_select_is_free_over_a_released_model(paid: tacit.Database, sql: str, first: str) -> None:
    given = [3] if "?" in sql else []
    said = paid.explain(sql, given)
    answer = paid.query(sql, given)
    assert answer.columns[0] == first
    assert answer.columns == said.outputs
    assert len(set(answer.columns)) == len(answer.columns)
    assert answer.rows
    assert (answer.cost.epsilon, said.loss.epsilon, spent(paid)) == (0, 0, 20)


def test_an_answer_is_a_look_at_the_same_rows_as_those_that_were_asked_for(paid: tacit.Database) -> None:
    listed = paid.query("DP-SELECT 20 town, age, ok FROM t").rows
    assert spent(paid) == 20
    assert paid.query("SELECT COUNT(*) FROM t SYNTHETIC").scalar() == len(listed)
    assert sorted(map(str, paid.query("SELECT * FROM t SYNTHETIC").rows)) == sorted(map(str, listed))
    counted = dict(paid.query("SELECT town, COUNT(*) FROM t SYNTHETIC WHERE ok GROUP BY 1").rows)
    assert counted == {town: sum(row[0] == town and row[2] is True for row in listed) for town in counted}


def test_it_says_which_model_answered_and_what_is_known_of_its_error(paid: tacit.Database) -> None:
    answer = paid.query("SELECT town, COUNT(*) FROM t SYNTHETIC WHERE age > 3 GROUP BY 1")
    model = paid.synthesise("t", epsilon=20)
    notes = "\n".join(answer.notes)
    assert f"made by {model.method} for {model.loss} less than a minute ago" in notes
    assert f"about {model.rows:,} rows" in notes
    wide = model.error("town", "age")
    assert wide is not None
    assert f"within about {max(1, round(wide * model.rows))} rows of the truth" in notes
    assert "no ± is stated of drawing the rows" in notes
    assert answer.receipt.entry == model.entry
    assert str(model.loss) in answer.receipt.guarantee
    for sql in (
        "SELECT * FROM t SYNTHETIC",
        "SELECT town, age, ok FROM t SYNTHETIC",
        "SELECT COUNT(*) FROM t SYNTHETIC",
    ):
        assert "no ± is stated of what is counted on t SYNTHETIC" in "\n".join(paid.query(sql).notes)


def test_nothing_of_the_source_is_read(paid: tacit.Database) -> None:
    wanted = paid.query("SELECT town, COUNT(*) FROM t SYNTHETIC GROUP BY 1 ORDER BY 1").rows
    with patch.object(DuckDB, "execute", side_effect=AssertionError("a row was read")):
        assert paid.query("SELECT town, COUNT(*) FROM t SYNTHETIC GROUP BY 1 ORDER BY 1").rows == wanted
    assert [entry.act for entry in paid.log] == ["settle", "charge"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t JOIN t SYNTHETIC s USING (town)",
        "SELECT (SELECT COUNT(*) FROM t) FROM t SYNTHETIC",
        "WITH x AS (SELECT age FROM t) SELECT COUNT(*) FROM x, t SYNTHETIC",
        "DP-SELECT 1 COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t SYNTHETIC)",
        "DP-SELECT 1 COUNT(*) FROM t SYNTHETIC",
        "DP-SELECT CONFIDENCE 0.9 COUNT(*) FROM t SYNTHETIC",
        "DP-SELECT FRESH COUNT(*) FROM t SYNTHETIC",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) COUNT(*) FROM t SYNTHETIC",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=1) COUNT(*) FROM t SYNTHETIC",
        "SELECT COUNT(*) FROM main.t SYNTHETIC",
        "SELECT COUNT(*) FROM nope SYNTHETIC",
        "SELECT unit FROM t SYNTHETIC",
        "SELECT nope FROM t SYNTHETIC",
        "SELECT synthetic.age FROM t SYNTHETIC",
        'SELECT COUNT(*) FROM "_tacit_synthetic t"',
        "SELECT COUNT(*) FROM t SYNTHETIC, nobody",
        "SELECT random() FROM t SYNTHETIC",
        "SELECT * FROM t SYNTHETIC, read_csv('t.csv')",
        "SELECT * FROM t SYNTHETIC, 't.csv'",
        "SELECT getenv('HOME') FROM t SYNTHETIC",
        "SELECT * FROM t SYNTHETIC TABLESAMPLE 10%",
        "SELECT * FROM t SYNTHETIC SYNTHETIC SYNTHETIC",
        "SELECT COUNT(*) FROM SYNTHETIC",
    ],
)
def test_what_reads_more_than_a_model_is_refused_and_costs_nothing(paid: tacit.Database, sql: str) -> None:
    paid.default_epsilon = 1  # what is taken for a private question would be charged
    try:
        for ask in (paid.query, paid.explain):
            with pytest.raises(TacitError):
                ask(sql)
    finally:
        paid.default_epsilon = None
    assert spent(paid) == 20


def test_in_a_batch_it_is_refused_and_costs_nothing(paid: tacit.Database) -> None:
    with pytest.raises(QueryRefused, match="no private question"):
        paid.batch(["SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t SYNTHETIC"], epsilon=1)
    assert spent(paid) == 20


def test_a_name_that_is_typed_as_one_stays_one(db: tacit.Database) -> None:
    for sql in (
        "DP-SELECT 1 COUNT(*) FROM t AS synthetic WHERE synthetic.age > 1",
        'DP-SELECT 1 COUNT(*) FROM t "synthetic"',
    ):
        assert db.query(sql).cost.epsilon == 1
    assert db.query("DP-SELECT 1 COUNT(*) AS synthetic FROM t").columns == ("synthetic",)


def test_the_best_model_that_has_the_columns_answers(db: tacit.Database) -> None:
    db.synthesise("t", epsilon=3, method="tree")
    db.synthesise("t", epsilon=5, method="tree")
    db.synthesise("t", epsilon=9, method="tree", columns=["town", "age"])

    def price(sql: str) -> str:
        return re.findall(r"ε = [\d.]+", "\n".join(db.query(sql).notes))[0]

    assert price("SELECT COUNT(*) FROM t SYNTHETIC") == "ε = 9"
    assert price("SELECT town FROM t SYNTHETIC LIMIT 1") == "ε = 9"
    assert price("SELECT ok FROM t SYNTHETIC LIMIT 1") == "ε = 5"
    left = spent(db)
    assert db.query("DP-SELECT 8 town FROM t WHERE age > 3 LIMIT 1").cost.epsilon == 0, "its columns are enough"
    assert db.query("DP-SELECT 4 * FROM t LIMIT 1").cost.epsilon == 0
    assert spent(db) == left
    assert db.query("DP-SELECT 8 ok FROM t LIMIT 1").cost.epsilon == 8


def test_a_model_is_asked_by_whom_it_was_released_to(tmp_path: Path) -> None:
    for shared in (True, False):
        base = tmp_path / str(shared)
        base.mkdir()
        budget = BudgetPolicy(100, "1e-3", default_delta="1e-6", share_answers=shared)
        declared = policy(base, rows(60), budget=budget)
        with tacit.open(declared, analyst="ana") as ana, tacit.open(declared, analyst="ben") as ben:
            ana.synthesise("t", epsilon=1, method="tree")
            assert ana.query("SELECT COUNT(*) FROM t SYNTHETIC").rows
            if shared:
                assert ben.query("SELECT COUNT(*) FROM t SYNTHETIC").rows
            else:
                with pytest.raises(QueryRefused, match="no model of t"):
                    ben.query("SELECT COUNT(*) FROM t SYNTHETIC")


def test_a_model_of_earlier_data_still_answers_and_says_so(tmp_path: Path) -> None:
    with tacit.open(policy(tmp_path, rows(300)), analyst="ana") as db:
        db.synthesise("t", epsilon=1, method="tree")
    with tacit.open(policy(tmp_path, rows(310)), analyst="ana") as db:
        answer = db.query("SELECT COUNT(*) FROM t SYNTHETIC")
        assert "of an earlier state of the data" in "\n".join(answer.notes)
        db.synthesise("t", epsilon="0.5", method="tree")
        assert "earlier state" not in "\n".join(db.query("SELECT COUNT(*) FROM t SYNTHETIC").notes)


def test_public_tables_are_joined_with_synthetic_ones(tmp_path: Path) -> None:
    declared = policy(tmp_path, rows(300))
    (tmp_path / "towns.csv").write_text("name,country\na,x\nb,x\nc,y\n")
    columns = [ColumnPolicy("name", type="text"), ColumnPolicy("country", type="text")]
    both = Policy(
        tacit.Dataset("small", {"t": "t.csv", "towns": "towns.csv"}, base=tmp_path),
        declared.budget,
        tables=[*declared.tables, TablePolicy("towns", None, public=True, columns=columns)],
        analysts=declared.analysts,
    )
    with tacit.open(both, analyst="ana") as db:
        db.synthesise("t", epsilon=20, method="tree")
        sql = "SELECT country, COUNT(*) FROM t SYNTHETIC JOIN towns ON town = name GROUP BY 1 ORDER BY 1"
        assert [row[0] for row in db.query(sql).rows] == ["x", "y"]
        with pytest.raises(QueryRefused, match="towns is public"):
            db.query("SELECT COUNT(*) FROM towns SYNTHETIC")


@pytest.mark.parametrize(
    ("budget", "columns", "what"),
    [
        (BudgetPolicy(5), COLUMNS, "pure"),
        (BudgetPolicy(5, "1e-6", reuse=False), COLUMNS, "reuse = false"),
        (BudgetPolicy(5, "1e-6"), (ColumnPolicy("unit"), ColumnPolicy("town", type="text")), "none can be made"),
    ],
)
def test_where_no_model_can_be_the_reason_is_told(
    tmp_path: Path, budget: BudgetPolicy, columns: tuple[ColumnPolicy, ...], what: str
) -> None:
    with (
        tacit.open(policy(tmp_path, rows(9), budget=budget, columns=columns), analyst="ana") as db,
        pytest.raises(QueryRefused) as refused,
    ):
        db.query("SELECT COUNT(*) FROM t SYNTHETIC")
    assert what in f"{refused.value} {refused.value.hint}"


def test_where_not_all_rows_are_held_it_is_said(paid: tacit.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic_answers, "MOST_HELD", 300)
    answer = paid.query("SELECT COUNT(*) FROM t SYNTHETIC")
    assert answer.scalar() == 100
    assert "100 rows are drawn of about" in "\n".join(answer.notes)


def test_coded_columns_come_back_as_their_values() -> None:
    table = CodedTable(
        'odd " name',
        (("a", "VARCHAR"), ("b", "DATE"), ("c", "BOOLEAN")),
        (["x", "'", None], ["2024-02-29", None], [True, False]),
        (np.array([0, 1, 2, 0]), np.array([1, 0, 0, 1]), np.array([0, 1, 0, 1])),
    )
    (found,) = SHARED.compute(['SELECT a, CAST(b AS VARCHAR), c FROM "odd "" name"'], [table])
    assert found.rows == (("x", None, True), ("'", "2024-02-29", False), (None, "2024-02-29", True), ("x", None, False))
    empty = CodedTable("e", (("a", "BIGINT"),), ([],), (np.zeros(0, dtype=np.int64),))
    assert SHARED.compute(["SELECT COUNT(*) FROM e"], [empty])[0].rows == ((0,),)
