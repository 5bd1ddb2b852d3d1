"""Law 4: an error is a release. Canaries in every cell; none in any message, log, explanation, receipt or repr.

Threats E1-E6, E10-E12, I4, I6, F14, F21: a refusal looks the same whatever the data hold, and so does its price.
"""

from __future__ import annotations

import logging
import pickle
import traceback
from fractions import Fraction

import duckdb
import pytest

from conformance.sql_world import World, policy_of, world
from support.sources import Seeded
from tacit.curator import Curator, Explanation, Release, Session
from tacit.curator.measuring.measure import measure
from tacit.errors import EngineError, TacitError
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy

ANA = Session("ana")
TEXT, NUMBER, DAY = "XENOPS", "73573573", "1973-05-07"  # in every text, every number, every date of the table
CANARIES = (TEXT, TEXT.lower(), NUMBER, "73,573,573", "73573573.0", DAY, "1973, 5, 7")
ROW = "'{who}', '{word}-name-{i}', '{word}-town', 73573573, 73573573.0, 73573573.00, DATE '1973-05-07', {flag}"
COLUMNS = (
    ColumnPolicy("name"),
    ColumnPolicy("town"),
    ColumnPolicy("pay", lower=0, upper=100, step=1),
    ColumnPolicy("score", lower=0, upper=1, step="0.1"),
    ColumnPolicy("cost", lower=0, upper=10, step="0.01"),
    ColumnPolicy("born", type="date", lower="2000-01-01", upper="2000-12-31", domain="range"),
    ColumnPolicy("ill"),
)
KINDS = "uid VARCHAR, name VARCHAR, town VARCHAR, pay BIGINT, score DOUBLE, cost DECIMAL(18,2), born DATE, ill BOOLEAN"


def people(*, units=range(6), word=TEXT, **budget) -> World:
    """Six people with three rows each; every cell holds a canary."""
    table = TablePolicy("people", "uid", columns=COLUMNS, max_groups=2, max_rows=2)
    limits = BudgetPolicy(**({"epsilon": 1000, "delta": Fraction(1, 10)} | budget))
    policy = policy_of([table], budget=limits, analysts=[AnalystPolicy("ana", 1000)])
    rows = [
        f"({ROW.format(who=f'{word}-unit-{unit}', word=word, i=place, flag='TRUE' if unit == 0 else 'FALSE')})"
        for unit in units
        for place in range(3)
    ]
    return world(policy, f"CREATE TABLE people ({KINDS})", f"INSERT INTO people VALUES {', '.join(rows)}")


ANSWERED = [
    "DP-SELECT 0.5 COUNT(*), SUM(pay), AVG(score), VAR_POP(cost) FROM people",
    "DP-SELECT 0.5 MEDIAN(pay), MIN(score), MAX(cost), QUANTILE(pay, 0.9) FROM people",
    "DP-SELECT 0.5 COUNT(DISTINCT uid), COUNT(DISTINCT name), COUNT(name) FROM people",
    "DP-SELECT 0.5 DELTA 1e-9 name, COUNT(*) FROM people GROUP BY name",
    "DP-SELECT 0.5 DELTA 1e-9 town, SUM(pay) FROM people WHERE ill GROUP BY town",
    "DP-SELECT 0.5 DELTA 1e-9 SUBSTRING(name, 1, 5), COUNT(*) FROM people GROUP BY 1",
    "DP-SELECT 0.5 ill, COUNT(*) FROM people WHERE name LIKE 'A%' GROUP BY ill",
    "DP-SELECT 0.5 EXTRACT(MONTH FROM born), HISTOGRAM(ill) FROM people GROUP BY 1",
    "DP-SELECT 0.5 SUM(CASE WHEN name = 'x' THEN pay ELSE score END) FROM people WHERE born > '1900-01-01'",
]
REFUSED = [
    "DP-SELECT 1 SUM(CAST(name AS INTEGER)) FROM people",
    "DP-SELECT 1 COUNT(*) FROM people WHERE CAST(name AS INTEGER) = 1",
    "DP-SELECT 1 COUNT(*) FROM people WHERE name::date > '2000-01-01'",
    "DP-SELECT 1 COUNT(*) FROM people WHERE error(name)",
    "DP-SELECT 1 COUNT(*) FROM people WHERE strptime(name, '%Y') IS NULL",
    "DP-SELECT 1 SUM(1 // pay) FROM people",
    "DP-SELECT 1 SUM(pay / score) FROM people",
    "DP-SELECT 1 COUNT(*) FROM people WHERE pay = (SELECT pay FROM people)",
    "DP-SELECT 1 SUM(CASE WHEN ill THEN error('x') ELSE 1 END) FROM people",
    "DP-SELECT 1 COUNT(CASE WHEN ill THEN repeat('x', 2000000000) END) FROM people",
    "DP-SELECT 1 COUNT(*) FROM people WHERE ill AND sleep_ms(1000) = 1",
    "DP-SELECT 1 name FROM people",
    "DP-SELECT 1 * FROM people",
    "DP-SELECT 1 uid, COUNT(*) FROM people GROUP BY uid",
    "DP-SELECT 1 town, COUNT(*) FROM people GROUP BY town",
    "DP-SELECT 1 SUM(nothing) FROM people",
    "DP-SELECT 1 COUNT(*) FROM nobody",
    "DP-SELECT 1 COUNT(*) FROM people WHERE born = 'not a day'",
    "DP-SELECT 1 FIRST(name) FROM people",
    "DP-SELECT 1 STRING_AGG(name, ',') FROM people",
    "SELECT COUNT(*) FROM people",
    "SUMMARIZE people",
    "DP-SELECT 1 COUNT(*) FROM people WHERE",
    "DP-SELECT 5000 COUNT(*) FROM people",
]


def said(error: BaseException) -> str:
    """All that a stranger could read off an error: its words, its repr, what hangs on it, and its traceback."""
    parts = [str(error), repr(error), str(getattr(error, "hint", "")), repr(error.args), repr(vars(error))]
    parts += traceback.format_exception(error)
    chained = error.__cause__ or error.__context__
    return "\n".join(parts) + (said(chained) if chained is not None else "")


def outcome(curator: Curator, text: str) -> Release | Explanation | TacitError:
    try:
        return curator.ask(text, session=ANA)
    except TacitError as error:
        return error


def clean(text: str) -> bool:
    return not any(canary in text for canary in CANARIES)


@pytest.fixture
def curator(tmp_path):
    return people().curator(tmp_path)


class Heard(logging.Handler):
    """What reaches the root logger, as any program around tacit would see it. The curator's own log does not."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += self.format(record) + repr(record.args) + "\n"


@pytest.fixture
def analysts_log():
    heard, root = Heard(), logging.getLogger()
    level = root.level
    root.addHandler(heard)
    root.setLevel(logging.DEBUG)
    yield heard
    root.removeHandler(heard)
    root.setLevel(level)


def test_no_canary_in_any_refusal(curator, analysts_log):
    for text in REFUSED:
        error = outcome(curator, text)
        assert isinstance(error, TacitError), text
        assert clean(said(error)), text
    assert clean(analysts_log.text)
    assert curator.balance("ana").total.spent.epsilon == 0


def test_no_canary_in_any_answer_explanation_receipt_or_log(curator, analysts_log):
    for text in ANSWERED:
        released, shown = outcome(curator, text), outcome(curator, f"EXPLAIN {text}")
        assert isinstance(released, Release), text
        assert isinstance(shown, Explanation)
        for made in (
            released.to_json(),
            repr(released),
            released.to_markdown(),
            released._repr_html_(),
            released.to_csv(),
        ):
            assert clean(made), text
        for made in (shown.to_json(), repr(shown), str(shown)):
            assert clean(made), text
    assert clean(repr(curator.log("ana")))
    assert clean(repr(curator.balance("ana")))
    assert clean(analysts_log.text)


def test_no_canary_in_the_repr_of_anything_that_has_seen_the_data(tmp_path):
    over = people()
    curator = over.curator(tmp_path)
    for text in ANSWERED:
        made = over.plan(text)
        exact = over.exact(made)
        noisy = measure(made, exact, public={}, source=Seeded(1))
        for thing in (made, exact, *exact, noisy, curator, over.engine, made.measurements, made.statements, made.keys):
            assert clean(repr(thing)), text
            assert clean(f"{thing}"), text


def test_the_control_has_power_a_canary_is_found_where_there_is_one(curator, analysts_log):
    logging.getLogger("tacit.somewhere").warning("read %s", TEXT)
    assert not clean(analysts_log.text)
    assert not clean(said(ValueError(f"could not convert {TEXT}-name-0")))
    assert not clean(said(EngineError("x", hint=NUMBER)))
    released = curator.ask("DP-SELECT 900 DELTA 0.09 town, COUNT(*) FROM people GROUP BY town", session=ANA)
    assert not clean(released.to_json())  # six people share a town, and nine hundred epsilon show it


def _fails_with_a_cell(*_):
    raise duckdb.ConversionException(f"Could not convert string '{TEXT}-name-0' to INT32 ({NUMBER}, {DAY})")


@pytest.mark.parametrize("where", ["read", "measure"])
def test_a_failure_after_the_charge_says_nothing_and_stays_charged(curator, monkeypatch, analysts_log, where):
    target = "tacit.engines.columns.Readable.read" if where == "read" else "tacit.curator.reading.measure"

    def fails(*args, **named):
        _fails_with_a_cell()

    monkeypatch.setattr(target, fails)
    errors = [outcome(curator, f"DP-SELECT 0.25 COUNT(*) FROM people WHERE pay > {n}") for n in range(3)]
    assert all(isinstance(error, EngineError) for error in errors)
    assert {error.explain() for error in errors} == {errors[0].explain()}
    assert all(clean(said(error)) for error in errors)
    assert all(error.__context__ is None and error.__cause__ is None for error in errors)
    assert all(clean(said(pickle.loads(pickle.dumps(error)))) for error in errors)
    assert clean(analysts_log.text)
    assert curator.balance("ana").total.spent.epsilon == Fraction(3, 4)
    assert [entry.outcome for entry in curator.log("ana") if entry.act == "charge"] == ["fail"] * 3


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, MemoryError])
def test_a_question_that_is_cut_off_stays_charged_and_the_next_try_is_a_new_charge(curator, monkeypatch, stop):
    execute = type(curator._engine).execute

    def cut_off(self, sql):
        raise stop

    monkeypatch.setattr(type(curator._engine), "execute", cut_off)
    with pytest.raises((stop, EngineError)):
        curator.ask("DP-SELECT 0.5 COUNT(*) FROM people", session=ANA)
    monkeypatch.setattr(type(curator._engine), "execute", execute)
    assert curator.balance("ana").total.spent.epsilon == Fraction(1, 2)
    assert curator.ask("DP-SELECT 0.5 COUNT(*) FROM people", session=ANA).reused is None
    assert curator.balance("ana").total.spent.epsilon == 1


def test_a_timeout_is_the_one_generic_error_whatever_the_data_hold(tmp_path, monkeypatch):
    messages = set()
    for units in (range(6), range(1, 6)):
        directory = tmp_path / str(len(units))
        directory.mkdir()
        curator = people(units=units).curator(directory)

        def times_out(*args, **named):
            raise duckdb.InterruptException(f"INTERRUPT Error: Interrupted! {TEXT}")

        with monkeypatch.context() as patch:
            patch.setattr("tacit.engines.columns.Readable.read", times_out)
            error = outcome(curator, "DP-SELECT 0.5 COUNT(*) FROM people")
        assert isinstance(error, EngineError)
        messages.add(error.explain())
        assert curator.balance("ana").total.spent.epsilon == Fraction(1, 2)
    assert len(messages) == 1


@pytest.mark.parametrize("gone", range(6))
def test_refusals_have_the_same_bytes_and_price_whoever_is_missing(tmp_path, gone):
    curators = []
    for name, units in (("whole", range(6)), ("without", [unit for unit in range(6) if unit != gone])):
        (tmp_path / name).mkdir()
        curators.append(people(units=units).curator(tmp_path / name))
    for text in REFUSED:
        one, other = (outcome(curator, text) for curator in curators)
        assert isinstance(one, TacitError)
        assert isinstance(other, TacitError)
        assert (type(one), one.explain()) == (type(other), other.explain()), text
    assert curators[0].balance("ana") == curators[1].balance("ana")


def test_what_is_shown_beside_the_numbers_does_not_depend_on_the_data(tmp_path):
    """Error bars, notes, price, what is left and the receipt: the same on the whole table and on an empty one."""
    shown = []
    for name, units in (("whole", range(6)), ("empty", [9])):
        (tmp_path / name).mkdir()
        curator = people(units=units).curator(tmp_path / name)
        released = [curator.ask(text, session=ANA) for text in ANSWERED if "DELTA" not in text]
        shown.append(
            [(r.columns, len(r.rows), r.cost, r.left, r.notes, r.confidence, r.receipt.plan) for r in released]
        )
        linear = [r.errors[0][0] for r in released[:1]]
        shown[-1].append(linear)
    assert shown[0] == shown[1]


def test_canaries_in_names_that_the_policy_hides_do_not_leave_either(tmp_path):
    table = TablePolicy(
        "people",
        "uid",
        columns=[ColumnPolicy("pay", lower=0, upper=1, step=1), ColumnPolicy(f"{TEXT}_hidden", hidden=True)],
        max_rows=1,
        max_groups=1,
    )
    over = world(
        policy_of([table]),
        f"CREATE TABLE people (uid VARCHAR, pay INTEGER, {TEXT}_hidden VARCHAR, {TEXT}_undeclared VARCHAR)",
    )
    curator = over.curator(tmp_path)
    for text in ["SUM(payy)", "SUM(XENOP)", "SUM(hidden)", "COUNT(*)", "SUM(p)"]:
        result = outcome(curator, f"DP-SELECT 1 {text} FROM people")
        text_of = said(result) if isinstance(result, TacitError) else result.to_json()
        assert f"{TEXT}_" not in text_of
