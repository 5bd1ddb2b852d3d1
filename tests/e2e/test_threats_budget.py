"""F9, F10, F12-F14, F17-F21, I3, I5, I7 where curator and ledger meet: what is charged, to whom, and what is free."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest

from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.core import Loss
from tacit.curator import Curator, Session
from tacit.errors import BudgetExceeded, EngineError, LedgerError, NoiseUnavailable, QueryRefused, TacitError
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, GroupPolicy, Policy, TablePolicy

ANA, BOB = Session("ana"), Session("bob")
COLUMNS = [ColumnPolicy("g"), ColumnPolicy("x", lower=0, upper=9, step=1)]


def shop(directory, *, budget=None, analysts=None, groups=(), rows=300, table="t", name=None, data="i", **dataset):
    """A curator over `rows` people, on the ledger that lies in the directory."""
    tables = [TablePolicy(table, "uid", columns=COLUMNS, max_rows=1, max_groups=1)]
    people = analysts or [AnalystPolicy("ana", 1000), AnalystPolicy("bob", 1000)]
    limit = budget or BudgetPolicy(1000, Fraction(1, 10))
    named = policy_of(tables, **dataset).dataset
    policy = Policy(named, limit, tables=tables, analysts=people, groups=groups)
    over = world(
        policy,
        f"CREATE TABLE {table} AS SELECT i AS uid, 'g' || (i % 3) AS g, {data} % 10 AS x FROM range({rows}) AS made(i)",
    )
    path = directory / (name or "d.ledger")
    return Curator(policy, over.engine, SqliteLedger(path, create=not path.exists()), source=Seeded(1))


def spent(curator, who="ana"):
    return curator.balance(who).total.spent.epsilon


def test_f9_ten_tenths_fit_into_one_and_the_eleventh_does_not(tmp_path):
    curator = shop(tmp_path, budget=BudgetPolicy(1))
    for n in range(10):
        curator.ask(f"DP-SELECT 0.1 COUNT(*) FROM t WHERE x > {n}", session=ANA)
    assert spent(curator) == 1
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT 0.1 COUNT(*) FROM t WHERE x > 99", session=ANA)
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT 1e-9 COUNT(*) FROM t WHERE x >= 99", session=ANA)
    assert spent(curator) == 1


def test_f10_three_thirds_fit_exactly_and_a_hair_more_does_not(tmp_path):
    curator = shop(tmp_path, budget=BudgetPolicy(1))
    for n in range(3):
        curator.ask(f"DP-SELECT 1/3 COUNT(*) FROM t WHERE x > {n}", session=ANA)
    assert curator.ask("DP-SELECT 1/3 COUNT(*) FROM t WHERE x > 0", session=ANA).reused  # what was paid stays free
    other = shop(tmp_path, budget=BudgetPolicy(1), name="other.ledger")
    other.ask("DP-SELECT 0.99999999999999999 COUNT(*) FROM t", session=ANA)
    with pytest.raises(BudgetExceeded):
        other.ask("DP-SELECT 0.1 COUNT(*) FROM t WHERE x > 0", session=ANA)


def test_f12_new_data_do_not_bring_a_new_budget(tmp_path):
    shop(tmp_path, budget=BudgetPolicy(1)).ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    for change in ({"rows": 5}, {"data": "0"}, {"data_version": "2"}):
        with pytest.raises(BudgetExceeded):
            shop(tmp_path, budget=BudgetPolicy(1), **change).ask("DP-SELECT 1 COUNT(*) FROM t WHERE x > 1", session=ANA)


@pytest.mark.parametrize("table", ["T", "renamed"])
def test_f13_another_name_of_the_table_is_the_same_account(tmp_path, table):
    shop(tmp_path, budget=BudgetPolicy(1)).ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    with pytest.raises(BudgetExceeded):
        shop(tmp_path, budget=BudgetPolicy(1), table=table).ask(
            f"DP-SELECT 1 COUNT(*) FROM {table} WHERE x > 1", session=ANA
        )


def test_f14_a_refusal_is_free_and_leaves_no_trace(tmp_path):
    curator = shop(tmp_path)
    for text in (
        "DP-SELECT 1 SUM(g) FROM t",
        "DP-SELECT 1 uid FROM t",
        "DP-SELECT 0 COUNT(*) FROM t",
        "DROP TABLE t",
        "SELECT COUNT(*) FROM t",
    ):
        with pytest.raises(QueryRefused):
            curator.ask(text, session=ANA)
    assert spent(curator) == 0
    assert curator.log("ana") == ()


def test_f14_what_fails_for_the_data_s_sake_is_charged(tmp_path, monkeypatch):
    curator = shop(tmp_path)
    monkeypatch.setattr("tacit.curator.reading.measure", lambda *args, **named: 1 / 0)
    with pytest.raises(EngineError):
        curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    assert spent(curator) == 1


def test_f17_a_transaction_around_a_question_is_no_question(tmp_path):
    curator = shop(tmp_path)
    for text in ("BEGIN", "ROLLBACK", "SAVEPOINT a", "BEGIN; DP-SELECT 1 COUNT(*) FROM t; ROLLBACK"):
        with pytest.raises(QueryRefused):
            curator.ask(text, session=ANA)
    curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    with pytest.raises(QueryRefused):
        curator.ask("ROLLBACK", session=ANA)
    assert spent(curator) == 1


def test_f18_a_retry_is_one_charge_and_one_answer_and_another_question_is_refused(tmp_path):
    curator = shop(tmp_path, budget=BudgetPolicy(100, reuse=False))
    first = curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA, request_id="r1")
    again = curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA, request_id="r1")
    assert again.rows == first.rows
    assert again.cost == Loss(0)
    assert again.receipt.entry == first.receipt.entry
    assert spent(curator) == 1
    for other in ("DP-SELECT 2 COUNT(*) FROM t", "DP-SELECT 1 COUNT(*) FROM t WHERE x > 1"):
        with pytest.raises(QueryRefused):
            curator.ask(other, session=ANA, request_id="r1")
    assert spent(curator) == 1
    assert curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA, request_id="r2").reused is None


def test_f18_the_answer_to_bob_s_request_is_not_ana_s(tmp_path):
    curator = shop(tmp_path, budget=BudgetPolicy(100, reuse=False))
    curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA, request_id="r1")
    try:
        bobs = curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=BOB, request_id="r1")
    except TacitError:
        return  # refused: an id is one request
    assert bobs.cost == Loss(1)


def test_f19_two_analysts_together_spend_no_more_than_the_total(tmp_path):
    people = [AnalystPolicy("ana", 1), AnalystPolicy("bob", 1)]
    curator = shop(tmp_path, budget=BudgetPolicy(Fraction(3, 2), share_answers=False), analysts=people)
    curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=BOB)
    curator.ask("DP-SELECT 0.5 COUNT(*) FROM t", session=BOB)
    assert spent(curator) == Fraction(3, 2)


def test_f19_a_group_is_held_to_its_own_cap(tmp_path):
    people = [AnalystPolicy(name, 10, groups=["class"]) for name in ("ana", "bob")]
    curator = shop(
        tmp_path, budget=BudgetPolicy(10, share_answers=False), analysts=people, groups=[GroupPolicy("class", 1)]
    )
    curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT 0.1 COUNT(*) FROM t WHERE x > 1", session=BOB)


def test_an_analyst_s_window_gives_back_the_analyst_s_cap_and_never_the_total(tmp_path):
    people = [AnalystPolicy("ana", 1, window=timedelta(seconds=60))]
    policy_budget = BudgetPolicy(Fraction(3, 2))
    now = [1_000.0]
    tables = [TablePolicy("t", "uid", columns=COLUMNS, max_rows=1, max_groups=1)]
    over = world(
        policy_of(tables, budget=policy_budget, analysts=people), "CREATE TABLE t (uid INTEGER, g VARCHAR, x INTEGER)"
    )
    curator = Curator(over.policy, over.engine, SqliteLedger(tmp_path / "w.ledger", create=True, clock=lambda: now[0]))
    curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT 0.5 COUNT(*) FROM t WHERE x > 1", session=ANA)
    now[0] += 61
    curator.ask("DP-SELECT 0.5 COUNT(*) FROM t WHERE x > 1", session=ANA)
    now[0] += 10**6
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT 0.5 COUNT(*) FROM t WHERE x > 2", session=ANA)


@pytest.mark.parametrize("epsilon", ["-1", "0", "-1/3", "1e-400"])
def test_f20_no_negative_or_empty_price_reaches_the_ledger(tmp_path, epsilon):
    curator = shop(tmp_path)
    with pytest.raises(QueryRefused):
        curator.ask(f"DP-SELECT {epsilon} COUNT(*) FROM t", session=ANA)
    assert curator.log("ana") == ()


def test_f21_what_is_left_does_not_depend_on_how_many_keys_passed(tmp_path):
    left = set()
    for rows in (0, 3, 3000):
        (tmp_path / str(rows)).mkdir()
        curator = shop(tmp_path / str(rows), rows=rows)
        released = curator.ask("DP-SELECT 1 DELTA 1e-6 g, COUNT(*) FROM t GROUP BY g", session=ANA)
        left.add((released.left, released.cost, curator.balance("ana").total.spent.epsilon))
    assert len(left) == 1


def test_the_charge_is_on_the_disk_before_the_first_row_is_read(tmp_path, monkeypatch):
    curator = shop(tmp_path)
    seen = []
    execute = type(curator._engine).execute

    def looks(self, sql):
        seen.append(spent(curator))
        return execute(self, sql)

    monkeypatch.setattr(type(curator._engine), "execute", looks)
    curator.ask("DP-SELECT 1 COUNT(*), MEDIAN(x) FROM t", session=ANA)
    assert seen == [1, 1]


def test_an_answer_leaves_only_after_it_is_settled(tmp_path, monkeypatch):
    curator = shop(tmp_path)

    def fails(self, *args, **named):
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "settle", fails)
        with pytest.raises(LedgerError):
            curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    assert spent(curator) == 1
    assert curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA).reused is None


def test_without_random_bits_nothing_is_released_and_the_charge_stays(tmp_path, monkeypatch):
    curator = shop(tmp_path)

    class Dry:
        def draw(self, count):
            raise NoiseUnavailable("no random bits")

    monkeypatch.setattr(curator, "_source", Dry())
    with pytest.raises(NoiseUnavailable):
        curator.ask("DP-SELECT 1 COUNT(*) FROM t", session=ANA)
    assert spent(curator) == 1


def test_i5_the_number_of_rows_is_neither_free_nor_exact(tmp_path):
    curator = shop(tmp_path, rows=1000)
    with pytest.raises(QueryRefused, match="no price"):
        curator.ask("SELECT COUNT(*) FROM t", session=ANA)
    counts = {curator.ask("DP-SELECT 0.1 FRESH COUNT(*) FROM t", session=ANA).rows[0][0] for _ in range(8)}
    assert len(counts) > 2
    assert spent(curator) == Fraction(8, 10)


def test_a_default_price_is_the_session_s_or_the_policy_s_and_is_charged(tmp_path):
    curator = shop(tmp_path, budget=BudgetPolicy(10, default_epsilon=Fraction(1, 4)))
    assert curator.ask("SELECT COUNT(*) FROM t", session=ANA).cost == Loss(Fraction(1, 4))
    assert curator.ask(
        "SELECT COUNT(*) FROM t WHERE x > 1", session=Session("ana", epsilon=Fraction(1, 2))
    ).cost == Loss(Fraction(1, 2))


def test_no_single_question_costs_more_than_the_policy_allows(tmp_path):
    curator = shop(tmp_path, budget=BudgetPolicy(10, max_epsilon=1))
    with pytest.raises(BudgetExceeded, match="at most"):
        curator.ask("DP-SELECT 2 COUNT(*) FROM t", session=ANA)
    assert spent(curator) == 0


def test_a_stranger_is_told_nothing_but_that_they_are_one(tmp_path):
    with pytest.raises(TacitError) as refusal:
        shop(tmp_path).ask("DP-SELECT 1 COUNT(*) FROM t", session=Session("mallory"))
    assert "ana" not in refusal.value.explain().replace("analyst", "")


@pytest.mark.parametrize("accounting", ["pure", "approximate", "zcdp", "pld"])
def test_every_way_of_accounting_stops_in_the_end(tmp_path, accounting):
    grain = Fraction(1, 10) if accounting == "pld" else None
    budget = BudgetPolicy(1, 0 if accounting == "pure" else Fraction(1, 10**6), accounting=accounting, grain=grain)
    curator = shop(tmp_path, budget=budget)
    answered = sum(_answers(curator, n) for n in range(40))
    counted = {"pure": 10, "approximate": 10, "pld": 10}  # so few that composition gains nothing
    assert answered == counted[accounting] if accounting in counted else 2 < answered < 40
    assert not _answers(curator, 41)


def _answers(curator, n):
    try:
        curator.ask(f"DP-SELECT 0.1 COUNT(*) FROM t WHERE x > {n}", session=ANA)
    except BudgetExceeded:
        return False
    return True
