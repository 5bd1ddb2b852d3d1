"""A plan that was kept is the plan that would be made; and nothing that shapes a plan is forgotten in its key."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import clinic
from conformance.sql_noiseless import switch_off
from tacit.curator import Curator, Session
from tacit.curator.explaining.job_explain import explain_job
from tacit.curator.jobs import plan_cache
from tacit.curator.jobs.inquiry import inquiry
from tacit.curator.jobs.plan_cache import PlanCache, plan_key
from tacit.errors import QueryRefused, TacitError

ANA = Session("ana")
KEYS = ("", "dept", "FLOOR(age / 10)", "city", "insured", "dept, insured", "ROLLUP(dept, insured)", "MONTH(seen)")
NUMBERS = ("COUNT(*)", "AVG(amount)", "SUM(age)", "MEDIAN(age)", "COUNT(DISTINCT patient_id)", "STDDEV(amount)")
NUMERIC = (1, 1.0, "1", True, None, 40, 40.0, 41, Decimal("1.0"), Decimal("1.00"), Fraction(1))
CONDITIONS = {
    "": (),
    "age > ?": NUMERIC,
    "dept = ?": ("CS", "Bio", "1", 1, True, None),
    "amount BETWEEN ? AND 400.5": NUMERIC,
    "insured": (),
    "seen >= ?": (dt.date(2024, 2, 3), dt.date(2024, 2, 4), "2024-02-03", 1),
    "age IN (?, 30)": NUMERIC,
    "age = ANY(?)": (*NUMERIC, [1], [1, 40], (1, 40), ["1"], [True], [1.5], "{1}"),
    "dept <> ALL(?)": (["CS"], ["CS", "Bio"], "{CS}", "{CS,Bio}", [None], ["CS, Bio"]),
}
PRICES = ("DP-SELECT 1 DELTA 1e-6", "DP-SELECT 1/3 DELTA 1e-6", "SELECT", "DP-SELECT WITHIN 20", "EXPLAIN DP-SELECT 1")
ALIKE = (1, 1.0, True, "1", Decimal(1), Decimal("1.0"), Fraction(1), None, "None", "True", 0, 0.0, -0.0, False, "")
ALIKE += ([1], [1.0], [True], ["1"], (1,), [1, 1], ["1", "1"], ["1, 1"], [], [None], "[1]")


def asked(rng: random.Random) -> tuple[str, list[object], Session]:
    keys, condition = rng.choice(KEYS), rng.choice([*CONDITIONS])
    numbers = ", ".join(rng.sample(NUMBERS, rng.choice((1, 2))))
    text = f"{rng.choice(PRICES)} {numbers} FROM visits"
    text += f" WHERE {condition}" if condition else ""
    text += f" GROUP BY {keys}" if keys else ""
    session = Session(rng.choice(("ana", "bob")), rng.choice((None, Fraction(1, 2), Fraction(2))), Fraction(1, 10**6))
    return text, [rng.choice(values)] if (values := CONDITIONS[condition]) else [], session


def siblings(rng: random.Random) -> list[tuple[str, list[object], Session]]:
    """One question four times: with other values, and in a session of another price."""
    text, parameters, session = asked(rng)
    condition = next(one for one in reversed(CONDITIONS) if f"WHERE {one}" in text or not one)
    others = [rng.choice(CONDITIONS[condition]) for _ in parameters]
    dearer = Session(session.analyst, (session.epsilon or 1) * Fraction(3, 2), session.delta)
    return [(text, values, who) for values in (parameters, others) for who in (session, dearer)]


def told(curator: Curator, job) -> list[object]:
    """Everything of a plan that can be told: what runs on each engine, what it costs, what is said and recorded."""
    runs = [statement for piece in job.pieces for statement in piece.plan.runs]
    return [
        job.hash,
        job.loss,
        job.event,
        [statement.sql(dialect) for statement in runs for dialect in ("duckdb", "postgres")],
        [statement.settled.canonical for statement in runs if statement.settled is not None],
        [(member.plan.key, member.plan.hash, member.plan.notes) for member in job.members],
        str(explain_job(job, dialect="duckdb")),
        inquiry(job.queries, curator.policy, loss=job.loss, words=()),
        job.answering,
        (job.fresh, job.sharper is None),
    ]


def planned(curator: Curator, plan, *question) -> object:
    try:
        return told(curator, plan(*question))
    except TacitError as error:
        return type(error), error.message, error.hint


def differences(curator: Curator, seed: int, rounds: int) -> tuple[list[object], int]:
    """Questions whose kept plan is not the one that is made anew, and how many were found in the cache."""
    rng, found, hits = random.Random(seed), [], 0
    pool = [sibling for _ in range(rounds // 4) for sibling in siblings(rng)]
    for text, parameters, session in [*pool, *rng.choices(pool, k=rounds)]:
        before = len(curator._plans)
        kept = planned(curator, lambda t, p, s: curator.prepare(t, p, session=s), text, parameters, session)
        hits += len(curator._plans) == before
        fresh = planned(curator, curator._rehearsed, text, parameters, session)
        if kept != fresh:
            found.append((text, parameters, session))
    return found, hits


@pytest.mark.parametrize("seed", range(3))
def test_a_kept_plan_is_the_plan_that_would_be_made(tmp_path, seed):
    found, hits = differences(clinic().curator(tmp_path), seed, 24)
    assert found == []
    assert hits >= 24, "every question that is repeated was found, or refused again"


FORGOTTEN = {
    "text": lambda key: key[1:],
    "parameters": lambda key: (key[0], *key[2:]),
    "types": lambda key: (key[0], tuple((name, text) for name, _, text in key[1]), *key[2:]),
    "values": lambda key: (key[0], tuple((name, kind) for name, kind, _ in key[1]), *key[2:]),
    "epsilon": lambda key: (*key[:2], *key[3:]),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_a_key_that_forgets_something_is_noticed(tmp_path, monkeypatch, what):
    if what == "types":  # as equality would: 1 == 1.0 == True
        monkeypatch.setattr(plan_cache, "repr", lambda value: str(value).removesuffix(".0"), raising=False)
    whole, forget = plan_key, FORGOTTEN[what]
    monkeypatch.setattr(
        "tacit.curator.curator.plan_key", lambda *a, **k: None if (key := whole(*a, **k)) is None else forget(key)
    )
    curator = clinic().curator(tmp_path)
    assert any(differences(curator, seed, 24)[0] for seed in range(8))


def test_values_that_are_equal_or_look_alike_are_told_apart(tmp_path):
    policy = clinic().policy
    keys = [plan_key("SELECT ?", [value], session=ANA, policy=policy) for value in ALIKE]
    assert None not in keys
    for (one, first), (other, second) in itertools.combinations(zip(ALIKE, keys, strict=True), 2):
        assert first != second, (one, other)


class Loud(str):
    """A text that is not only a text."""


@pytest.mark.parametrize(
    "parameters",
    [
        [Loud("x")],
        [np.float64(1)],
        [b"x"],
        [[[1]]],
        [[np.int64(1)]],
        [object()],
        [dt.datetime(2024, 1, 1, tzinfo=type("Zone", (dt.tzinfo,), {"utcoffset": lambda *_: dt.timedelta(0)})())],
        iter([1]),
        (value for value in [1]),
        {1: 2},
        {Loud("a"): 2},
        "text",
    ],
)
def test_what_could_mean_more_than_it_shows_is_not_kept(parameters):
    assert plan_key("SELECT ?", parameters, session=ANA, policy=clinic().policy) is None


def test_values_are_known_by_the_names_they_were_given(tmp_path):
    """The same two numbers in the same order, each under the other's name."""
    curator = clinic().curator(tmp_path)
    text = "DP-SELECT 1 COUNT(*) FROM visits WHERE age > :low AND age < :high"
    plans = [curator.prepare(text, named, session=ANA) for named in ({"low": 20, "high": 60}, {"high": 20, "low": 60})]
    assert plans[0].hash != plans[1].hash
    curator.close()


def test_a_generator_of_parameters_is_read_once_and_answered(tmp_path):
    curator = clinic().curator(tmp_path)
    text = "DP-SELECT 1 COUNT(*) FROM visits WHERE age > ?"
    kept = curator.prepare(text, [30], session=ANA)
    assert curator.prepare(text, iter([30]), session=ANA).hash == kept.hash
    assert len(curator._plans) == 1


def test_everything_that_shapes_a_plan_stands_in_its_key(monkeypatch):
    one, other = clinic().policy, clinic(max_rows=4).policy
    text, usual = "SELECT COUNT(*) FROM visits", {"session": ANA, "policy": one}
    keys = [
        plan_key(text, [], **usual),
        plan_key(text + " ", [], **usual),
        plan_key(text, [1], **usual),
        plan_key(text, {"1": 1, "2": 2}, **usual),
        plan_key(text, {"2": 2, "1": 1}, **usual),
        plan_key(text, [], session=Session("ana", Fraction(1)), policy=one),
        plan_key(text, [], session=Session("ana", None, Fraction(1, 9)), policy=one),
        plan_key(text, [], session=ANA, policy=other),
    ]

    class Tomorrow(dt.datetime):
        @classmethod
        def now(cls, tz=None):
            return dt.datetime.now(tz) + dt.timedelta(days=1)

    monkeypatch.setattr(plan_cache, "datetime", Tomorrow)
    keys.append(plan_key(text, [], **usual))
    assert len(set(keys)) == len(keys)


def test_a_changed_policy_or_source_never_finds_the_old_plans(tmp_path):
    text = "DP-SELECT 1 COUNT(*) FROM visits"
    (tmp_path / "other").mkdir()
    first = clinic().curator(tmp_path)
    second = clinic(max_rows=5).curator(tmp_path / "other")
    assert first.prepare(text, session=ANA).hash != second.prepare(text, session=ANA).hash
    first.policy = second.policy
    assert first.prepare(text, session=ANA).hash == second.prepare(text, session=ANA).hash


def test_answering_and_explaining_leave_a_plan_as_it_was(tmp_path):
    curator = clinic().curator(tmp_path)
    rng = random.Random(7)
    for text, parameters, session in (asked(rng) for _ in range(25)):
        try:
            job = curator.prepare(text, parameters, session=session)
        except TacitError:
            continue
        before = told(curator, job)
        for _ in range(2):
            curator.explain(text, parameters, session=session)
            try:
                curator.ask(text, parameters, session=session)
            except TacitError:
                break
        assert told(curator, job) == before
        assert told(curator, curator.prepare(text, parameters, session=session)) == before


def test_answers_of_many_threads_from_one_kept_plan_are_the_same_and_each_is_charged(tmp_path, monkeypatch):
    switch_off(monkeypatch)
    curator = clinic().curator(tmp_path)
    text = "DP-SELECT 0.5 FRESH COUNT(*) AS n, AVG(amount) AS a FROM visits GROUP BY dept"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: curator.ask(text, session=ANA), range(24)))
    assert len({answer.rows for answer in answers}) == 1
    assert len(curator._plans) == 1
    assert curator.balance("ana").analyst.spent.epsilon == 12


def test_a_question_within_an_accuracy_is_kept_and_one_with_a_pilot_is_not(tmp_path):
    curator = clinic().curator(tmp_path)
    sure, pilot = "DP-SELECT WITHIN 20 COUNT(*) FROM visits", "DP-SELECT WITHIN 20% COUNT(*) FROM visits"
    assert curator.prepare(sure, session=ANA) is curator.prepare(sure, session=ANA)
    assert curator.prepare(pilot, session=ANA) is not curator.prepare(pilot, session=ANA)
    assert len(curator._plans) == 1
    for _ in range(2):
        assert curator.ask(sure, session=ANA).rows


def test_analysts_plans_are_kept_apart(tmp_path):
    """Or the time that planning takes would tell what others have asked."""
    curator = clinic().curator(tmp_path)
    text = "DP-SELECT 1 COUNT(*) FROM visits"
    assert curator.prepare(text, session=ANA) is not curator.prepare(text, session=Session("bob"))
    assert curator.prepare(text, session=ANA) is curator.prepare(text, session=ANA)


def test_a_refusal_is_made_anew_each_time(tmp_path):
    curator = clinic().curator(tmp_path)
    for _ in range(2):
        with pytest.raises(QueryRefused):
            curator.ask("DP-SELECT 1 secret FROM visits", session=ANA)
    assert len(curator._plans) == 0


def test_the_cache_is_bounded_in_number_and_in_size_and_forgets_the_longest_unused(tmp_path):
    curator = clinic().curator(tmp_path)
    curator._plans = plans = PlanCache(most=5, most_text=10**9)
    texts = [f"DP-SELECT 1 COUNT(*) FROM visits WHERE age > {age}" for age in range(20, 28)]
    kept = curator.prepare(texts[0], session=ANA)
    for text in texts:
        curator.prepare(text, session=ANA)
        assert curator.prepare(texts[0], session=ANA) is kept, "asked again and again"
    assert len(plans) == 5
    curator._plans = plans = PlanCache(most=100, most_text=3_000)
    for text in texts:
        curator.prepare(text, session=ANA)
    assert 1 <= len(plans) < 8
    assert plans._shelves["ana"].text <= 3_000
    assert plans._shelves["ana"].text == sum(size for _, size in plans._shelves["ana"].plans.values())
    curator._plans = plans = PlanCache(most_text=10)
    curator.prepare(texts[0], session=ANA)
    assert len(plans) == 0


def test_words_are_recorded_as_they_were_written_each_time(tmp_path):
    curator = clinic(dataset={"keep_words": True}).curator(tmp_path)
    for text in ("DP-SELECT 1 FRESH COUNT(*) FROM visits", "DP-SELECT 1 FRESH  COUNT(*) FROM visits -- mine"):
        curator.ask(text, session=ANA)
        curator.ask(text, session=ANA)
    charges = [entry for entry in curator.log("ana") if entry.act == "charge"]
    assert [entry.asked.words[0].endswith("mine") for entry in charges] == [True, True, False, False]
    assert len({entry.asked.questions for entry in charges}) == 1
