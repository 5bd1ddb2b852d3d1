"""Synthetic tables through their door: what comes out, what is refused, and what is free afterwards."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from unittest.mock import patch

import duckdb
import numpy as np
import pytest

from support.synthetic import COLUMNS, Row, policy, publisher, rows
from tacit.core import Loss
from tacit.errors import BudgetExceeded, EngineError, InvalidParameter, QueryRefused, TacitError
from tacit.policy import BudgetPolicy, ColumnPolicy, ColumnType, Policy
from tacit.release.publishing import Publication
from tacit.release.synthesise import SynthesisRequest, SyntheticModel, SyntheticTable
from tacit.release.synthesise import model as models
from tacit.release.synthesise.columns import MOST_CELLS, Attribute
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.ruling import keeping
from tacit.release.synthesise.table import made_table

NAMED = ("town", "age", "ok")


def made(
    base: Path, data: list[Row], *, epsilon: object = 1, method: str = "tree", unit: str = "row"
) -> Publication[SyntheticModel]:
    declared = policy(base, data, unit=unit)
    with publisher(declared) as door:
        request = SynthesisRequest("t", epsilon, "1e-6", NAMED, method)  # type: ignore[arg-type]
        return door.publish(request, declared.analyst("ana"))


@pytest.mark.parametrize("method", ["auto", "hybrid", "aim", "mst"])
def test_rows_look_like_the_table_when_much_is_paid(tmp_path: Path, method: str) -> None:
    found = made(tmp_path, rows(3_000), epsilon=50, method=method).value
    drawn = found.sample()
    assert 2_900 < len(drawn) < 3_100
    towns, ages, oks = drawn.lists()
    assert {"a", "b", "c"} <= set(towns) <= {"a", "b", "c", None}
    fits = {("a", 0, False), ("a", 1, False), ("b", 3, True), ("b", 4, True), ("c", 6, True), ("c", 7, True)}
    assert np.mean([row in fits for row in drawn]) > 0.9, "a shuffle of the columns would have a sixth of them right"
    assert all(age is None or (type(age) is int and 0 <= age <= 9) for age in ages)
    assert {type(ok) for ok in oks} <= {bool, type(None)}


@pytest.mark.parametrize("data", [[], [(1, "a", 3, True)], [(1, None, None, None)]])
@pytest.mark.parametrize("method", ["hybrid", "tree", "aim", "mst"])
def test_a_table_of_nobody_or_of_one_unit_works(tmp_path: Path, data: list[Row], method: str) -> None:
    drawn = made(tmp_path, data, method=method, unit="unit").value.sample(20)
    assert len(drawn) == 20
    assert all(town in {"a", "b", "c", None} and (age is None or 0 <= age <= 9) for town, age, _ in drawn)


def test_a_domain_of_one_value_works(tmp_path: Path) -> None:
    columns = (ColumnPolicy("unit"), ColumnPolicy("town", type="text", domain=["a"], null="a"), COLUMNS[3])
    declared = policy(tmp_path, rows(30), columns=columns)
    for named in (("town",), ("town", "ok")):
        with publisher(declared) as door:
            request = SynthesisRequest("t", 1, "1e-6", named)
            drawn = door.publish(request, declared.analyst("ana")).value.sample(9)
        assert set(drawn.lists()[0]) == {"a"}


def test_the_same_table_at_no_higher_a_price_is_free(tmp_path: Path) -> None:
    declared = policy(tmp_path, rows(60))

    def paid(epsilon: object, who: str = "ana", **asked: object) -> tuple[Loss, str]:
        with publisher(declared) as door:
            request = SynthesisRequest("t", epsilon, "1e-6", NAMED, **{"method": "tree", **asked})  # type: ignore[arg-type]
            found = door.publish(request, declared.analyst(who))
            return found.cost, found.value.entry

    first, entry = paid(1)
    assert first == Loss(1, "1e-6")
    assert paid("0.5") == (Loss(0), entry)
    assert paid(1, "ben") == (Loss(0), entry)
    assert paid(1, method="auto") == (Loss(0), entry), "any method will do where none is named"
    assert paid(1, method="mst")[0] == Loss(1, "1e-6")
    assert paid(1, fresh=True)[0] == Loss(1, "1e-6")
    assert paid("1.5")[0] == Loss("1.5", "1e-6")
    with pytest.raises(BudgetExceeded):
        paid("1.75", "ben")


def test_a_kept_model_gives_the_same_rows_to_everybody(tmp_path: Path) -> None:
    model = made(tmp_path, rows(200), epsilon=5).value
    again = SyntheticModel.from_bytes(model.to_bytes())
    assert list(model.rows_drawn) == list(again.rows_drawn)
    assert list(model.sample(50)) != list(model.sample(50))


@pytest.mark.parametrize(("block", "fine"), [(30, 2_000_000), (10**9, 1), (30, 1)])
def test_rows_in_blocks_and_by_bins_are_as_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, fine: int
) -> None:
    monkeypatch.setattr(models, "_BLOCK", block)
    monkeypatch.setattr(models, "_MOST_FINE", fine)
    model = made(tmp_path, rows(3_000), epsilon=50, method="hybrid").value
    drawn = model.sample(1_003)
    fits = {("a", 0, False), ("a", 1, False), ("b", 3, True), ("b", 4, True), ("c", 6, True), ("c", 7, True)}
    assert len(drawn) == 1_003
    assert np.mean([row in fits for row in drawn]) > 0.9
    assert list(model.drawn(40)) == list(model.drawn(40))


def test_a_model_of_a_huge_table_says_how_large_it_is_and_draws_what_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "MOST_ROWS", 500)
    model = made(tmp_path, rows(3_000), epsilon=50).value
    assert 2_900 < model.rows < 3_100
    assert len(model.sample()) == len(model.rows_drawn) == 500
    with pytest.raises(InvalidParameter, match="0 to 500 rows"):
        model.sample(501)


def test_a_model_is_asked_in_sql_for_nothing(tmp_path: Path) -> None:
    model = made(tmp_path, rows(2_000), epsilon=20).value
    ((count,),) = model.query("SELECT COUNT(*) FROM t")
    assert count == len(model.rows_drawn)
    assert {town for (town,) in model.query("SELECT DISTINCT town FROM t WHERE town IS NOT NULL")} == {"a", "b", "c"}
    with pytest.raises(InvalidParameter, match="could not be asked"):
        model.query("SELECT * FROM read_csv('t.csv')")
    assert model.error("town") is not None
    assert model.error("age", "town") == model.error("town", "age")
    with pytest.raises(InvalidParameter):
        model.error("salary")


def test_a_saved_model_is_the_same_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    model = made(tmp_path, rows(80)).value
    model.save(tmp_path / "t.model")
    assert SyntheticModel.load(tmp_path / "t.model").to_bytes() == model.to_bytes()
    with pytest.raises(InvalidParameter, match="already"):
        model.save(tmp_path / "t.model")
    good = (tmp_path / "t.model").read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            body = old.read(name)
            new.writestr(name, body.replace(b'"rows": ', b'"rows": 1') if name == "about.json" else body)
    for bad in (good[:-40], b"", b"PK\x05\x06" + bytes(18), packed.getvalue()):
        (tmp_path / "bad.model").write_bytes(bad)
        with pytest.raises(InvalidParameter, match="no model"):
            SyntheticModel.load(tmp_path / "bad.model")
    with pytest.raises(InvalidParameter, match="cannot be read"):
        SyntheticModel.load(tmp_path / "none.model")


def test_a_model_with_pickled_objects_is_not_opened(tmp_path: Path) -> None:
    body = io.BytesIO()
    np.lib.format.write_array(body, np.array([{}], dtype=object), allow_pickle=True)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("about.json", '{"format": 1}')
        file.writestr("bins0.npy", body.getvalue())
        file.writestr("sha256", "")
    with pytest.raises(InvalidParameter, match="no model"):
        SyntheticModel.from_bytes(out.getvalue())


def test_rows_are_written_as_parquet_and_csv(tmp_path: Path) -> None:
    drawn = made(tmp_path, rows(300), epsilon=5).value.sample(100)
    for name in ("out.parquet", "out.csv"):
        drawn.write(tmp_path / name)
        with duckdb.connect() as reader:
            found = reader.execute(f"SELECT town, age, ok FROM '{tmp_path / name}'").fetchall()
        assert sorted(map(str, found)) == sorted(map(str, drawn))
    for name in ("out.csv", "out.xlsx", "no/out.csv"):
        with pytest.raises(InvalidParameter):
            drawn.write(tmp_path / name)


def test_dates_and_decimals_fall_into_public_bins(tmp_path: Path) -> None:
    lines = [f"{i},2024-0{1 + i % 9}-1{i % 9},{i * 2.5 % 100},2024-01-0{1 + i % 9} 10:00:00" for i in range(500)]
    columns = (
        ColumnPolicy("unit"),
        ColumnPolicy("town", type="date", lower=date(2024, 1, 1), upper=date(2024, 12, 31)),
        ColumnPolicy("age", type="number", lower=0, upper=100, step="0.5"),
        ColumnPolicy("ok", type="timestamp", lower=date(2024, 1, 1), upper=date(2024, 1, 31)),
    )
    declared = policy(tmp_path, [], columns=columns, unit="unit", max_rows=1)
    (tmp_path / "t.csv").write_text("\n".join(["unit,town,age,ok", *lines]) + "\n")
    with publisher(declared) as door:
        found = door.publish(SynthesisRequest("t", 20, "1e-6", method="tree"), declared.analyst("ana")).value
    drawn = found.sample(300)
    kinds = [{type(value) for value in column} - {type(None)} for column in drawn.lists()]
    assert kinds == [{date}, {float}, {datetime}]
    days, numbers, _ = drawn.lists()
    assert sum(day is not None and day.month <= 9 for day in days) > 290
    assert all(number is None or (0 <= number <= 100 and number * 2 == int(number * 2)) for number in numbers)
    with drawn.connection() as held:
        assert held.execute("SELECT * FROM t").fetchall() == list(drawn)


WRONG: list[tuple[dict[str, object], str, str]] = [
    ({"table": "none"}, "unknown table", ""),
    ({"columns": ("salary",)}, "unknown column", ""),
    ({"columns": ("unit",)}, "is the unit", ""),
    ({"columns": ("town", "town")}, "named twice", ""),
    ({"columns": ("free",)}, "no public domain", 'add free = { domain = ["…"] } to [tables.t.columns]'),
    ({"columns": ("open",)}, "no public domain", "add open = { lower = …, upper = … } to [tables.t.columns]"),
    ({"columns": ("many",)}, f"at most {MOST_CELLS:,}", "coarser"),
    ({"method": "best"}, "no method", "auto, hybrid"),
    ({"epsilon": 0}, "epsilon", ""),
    ({"epsilon": "x"}, "epsilon", ""),
    ({"delta": 0}, "delta", ""),
    ({"delta": 1}, "delta", ""),
]


@pytest.mark.parametrize(("asked", "what", "hint"), WRONG)
def test_what_makes_no_sense_is_refused_and_costs_nothing(
    tmp_path: Path, asked: dict[str, object], what: str, hint: str
) -> None:
    more = (
        ColumnPolicy("free", type="text"),
        ColumnPolicy("open", type="integer"),
        ColumnPolicy("many", type="text", domain=[f"v{i}" for i in range(MOST_CELLS + 1)]),
    )
    declared = policy(tmp_path, [], columns=(*COLUMNS, *more))
    (tmp_path / "t.csv").write_text("unit,town,age,ok,free,open,many\n1,a,2,true,secret,3,v1\n")
    with publisher(declared) as door:
        request = {"table": "t", "epsilon": 1, "delta": "1e-6", "columns": NAMED, **asked}
        with pytest.raises(TacitError) as refused:
            door.publish(SynthesisRequest(**request), declared.analyst("ana"))  # type: ignore[arg-type]
        assert what in str(refused.value)
        assert hint in refused.value.hint
        assert "secret" not in str(refused.value)
        assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))


def test_gaussian_noise_is_refused_where_there_is_no_delta(tmp_path: Path) -> None:
    for budget, what in ((BudgetPolicy(5), "pure"), (BudgetPolicy(5, "1e-6"), "need a delta")):
        declared = policy(tmp_path, rows(9), budget=budget)
        with publisher(declared) as door, pytest.raises(QueryRefused, match=what):
            door.publish(SynthesisRequest("t", 1, columns=NAMED), declared.analyst("ana"))


def test_a_concentrated_budget_pays_in_rho(tmp_path: Path) -> None:
    declared = policy(tmp_path, rows(40), budget=BudgetPolicy(3, "1e-6", accounting="zcdp"))
    with publisher(declared) as door:
        found = door.publish(SynthesisRequest("t", 1, "1e-7", NAMED, "tree"), declared.analyst("ana"))
        charge = next(entry for entry in door.ledger.entries(limit=9) if entry.act == "charge")
    assert (charge.kind, charge.rho) == ("synthesise", found.value.rho)
    assert charge.asked is not None
    assert charge.asked.questions[0].startswith("SYNTHESISE 1 DELTA 1e-7")


def test_what_fails_while_counting_stays_charged_and_tells_nothing(tmp_path: Path) -> None:
    declared = policy(tmp_path, rows(40))
    with publisher(declared) as door:
        broken = patch("tacit.release.synthesise.counting.execute", side_effect=ValueError("SECRET"))
        with broken, pytest.raises(EngineError, match="the synthetic table could not be computed") as failed:
            door.publish(SynthesisRequest("t", 1, columns=NAMED), declared.analyst("ana"))
        assert [entry.act for entry in door.ledger.entries(limit=9)] == ["fail", "charge", "open"]
    assert failed.value.__cause__ is failed.value.__context__ is None


def test_a_synthetic_table_says_what_it_is(tmp_path: Path) -> None:
    model = made(tmp_path, rows(80)).value
    assert repr(model).startswith("<model of t: 3 columns")
    assert isinstance(model.sample(3), SyntheticTable)
    assert repr(model.sample(3)) == "<synthetic table t: 3 rows, 3 columns>"
    with pytest.raises(InvalidParameter):
        model.sample(-1)


RULES = ("age < 8 OR town = 'c'", "NOT (town = 'a' AND ok)")


def test_declared_rules_hold_in_every_row(tmp_path: Path) -> None:
    data: list[Row] = [(i, "abc"[i % 3], i % 10, i % 2 == 0) for i in range(2_000)]
    for declared in (RULES, ()):
        ruled = with_rules(policy(tmp_path, data, unit="row"), declared)
        with publisher(ruled) as door:
            request = SynthesisRequest("t", 20, "1e-6", NAMED, "tree", fresh=True)
            model = door.publish(request, ruled.analyst("ana")).value
        again = SyntheticModel.from_bytes(model.to_bytes())
        assert len(again.sample(700)) == 700
        broken = [
            (town, age, ok)
            for town, age, ok in (*model.sample(), *again.rows_drawn)
            if (town not in {"c", None} and age is not None and age >= 8) or (town == "a" and ok)
        ]
        assert bool(broken) is not bool(declared), "without the rules the same table has such rows"


def test_a_rule_that_no_row_keeps_is_told_of(tmp_path: Path) -> None:
    ruled = with_rules(policy(tmp_path, rows(50), unit="row"), ("1 = 0",))
    with publisher(ruled) as door:
        model = door.publish(SynthesisRequest("t", 1, "1e-6", NAMED, "tree"), ruled.analyst("ana")).value
    with pytest.raises(InvalidParameter, match="keeps the rules"):
        model.sample(5)


@pytest.mark.parametrize(
    "rule",
    [
        "age >",
        "age > 1 LIMIT 3",
        "age > (SELECT 1)",
        "COUNT(*) > 1",
        "salary > 1",
        "age + town",
        "getenv('HOME') = ''",
        "1 = 1; DROP TABLE t",
        "age IN (SELECT * FROM read_csv('t.csv'))",
        "1=1) OR (1=1 ORDER BY age",
    ],
)
def test_a_rule_that_is_no_condition_is_refused_and_costs_nothing(tmp_path: Path, rule: str) -> None:
    ruled = with_rules(policy(tmp_path, rows(9), unit="row"), (rule,))
    with publisher(ruled) as door:
        with pytest.raises(TacitError):
            door.publish(SynthesisRequest("t", 1, "1e-6", NAMED, "tree"), ruled.analyst("ana"))
        assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))


def test_noise_that_nobody_could_draw_is_refused_before_it_is_paid(tmp_path: Path) -> None:
    declared = policy(tmp_path, rows(9))
    with publisher(declared) as door:
        with pytest.raises(TacitError):
            door.publish(SynthesisRequest("t", "1e-12", "1e-30", NAMED), declared.analyst("ana"))
        assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))


def test_a_table_is_modelled_at_the_least_and_the_largest_prices(tmp_path: Path) -> None:
    for epsilon, method in (("1e-5", "auto"), ("1e-5", "hybrid"), (40, "tree"), (40, "mst")):
        assert len(made(tmp_path, rows(60), epsilon=epsilon, method=method).value.sample(10)) == 10


def with_rules(declared: Policy, rules: tuple[str, ...]) -> Policy:
    (table,) = declared.tables
    return replace(declared, tables=(replace(table, rules=rules),))


@pytest.mark.parametrize("name", ["t", "cells of t", "made", "v0", 'odd " name', "select"])
def test_rows_go_out_under_whatever_names_a_table_has(tmp_path: Path, name: str) -> None:
    """Names that are our own words, too: in a table of cells, in its values, and in SQL."""
    names = ("c1", "made", 'a "b"', "v", "cell", "s0")
    kinds = [
        Attribute(each, ColumnType.TEXT, ordered=False, nullable=True, values=("x", "y"))
        if place % 2
        else Attribute(each, ColumnType.INTEGER, ordered=True, nullable=True, lows=(0, 5), widths=(5, 5))
        for place, each in enumerate(names)
    ]
    codes = np.random.default_rng(1).integers(0, 3, (50, len(names)))
    table = made_table(name, kinds, codes, chance=Chance())
    with table.connection() as held:
        quoted = name.replace('"', '""')
        assert held.execute(f'SELECT * FROM "{quoted}"').fetchall() == list(table)
    table.write(tmp_path / "out.parquet")
    with duckdb.connect() as reader:
        assert reader.execute(f"SELECT * FROM '{tmp_path}/out.parquet'").fetchall() == list(table)


def test_rows_stay_in_order_beside_a_long_list_of_values() -> None:
    """A join may be turned round where the list is longer than the table; rules are told row by row."""
    many = Attribute("many", ColumnType.TEXT, ordered=False, nullable=False, values=tuple(f"v{i}" for i in range(900)))
    few = Attribute("few", ColumnType.INTEGER, ordered=True, nullable=False, lows=(0, 1), widths=(1, 1))
    random = np.random.default_rng(2)
    for number in (40, 300_000):
        codes = np.stack([random.integers(0, 900, number), random.integers(0, 2, number)], axis=1)
        table = made_table("t", [many, few], codes, chance=Chance())
        assert np.array_equal(keeping(table, ["few = 1", "many <> 'v7'"]), (codes[:, 1] == 1) & (codes[:, 0] != 7))
