"""A kept answer is what a fresh one would be: whatever is renamed, rescaled or put in another order in between."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_noiseless import switch_off
from tacit.curator import Session
from tacit.errors import QueryRefused
from tacit.sql import Additive
from tacit.sql.expressions import keys, measures
from tacit.sql.expressions.names.printing import text_of

ANA = Session("ana")
FACTORS = ("", "", "", "", " * 10", " * -1", " / 4", " + 5", " * 0.5", " - 0.25")
KEYS = ("FLOOR(age / 10)", "age", "age % 7", "ROUND(age / 20)", "CEIL(age / 9)", "dept", "insured", "MONTH(seen)")
CHOSEN = ("FLOOR(age / 10)", "age", "age % 7")  # with a public domain, and numbers
MEASURED = ("SUM({})", "AVG({})", "MEDIAN(ROUND({}))", "MIN(ROUND({}))", "STDDEV({})", "COUNT({})")
CHOICES = ("MODE({})", "HISTOGRAM({})", "TOP_K({}, 2)", "COUNT(DISTINCT {})")
ROUNDS = 8
NAMES = ("", " AS n", " AS s", ' AS "odd name"', " AS k0", " AS m0")

Rng = random.Random


def scaled(rng: Rng, number: str) -> str:
    return f"{number}{rng.choice(FACTORS)}" if number not in {"dept", "insured"} else number


def measured(rng: Rng) -> tuple[str, str]:
    """An aggregate, and what it is of."""
    if rng.random() < 0.5:
        return rng.choice(CHOICES), rng.choice(CHOSEN)
    return rng.choice(MEASURED), rng.choice(("age", "amount"))


def variant(rng: Rng, grouped: list[str], numbers: list[tuple[str, str]]) -> str:
    """One question with these keys and numbers, each at any scale, under any name, in any order."""
    by = [scaled(rng, key) for key in rng.sample(grouped, len(grouped))]
    calls = [call.format(scaled(rng, inner)) for call, inner in numbers]
    items = rng.sample([*by, *calls], len(by) + len(calls))
    names = rng.sample(NAMES, len(items))
    kept = items[: -1 if len(items) > 1 and rng.random() < 0.2 else None]
    text = f"{', '.join(f'{item}{name}' for item, name in zip(kept, names, strict=False))} FROM visits"
    return text + (f" GROUP BY {', '.join(by)}" if by else "")


def questions(rng: Rng) -> list[str]:
    grouped = rng.sample(KEYS, rng.choice((0, 1, 1, 1, 2)))
    numbers = [measured(rng) for _ in range(rng.choice((1, 1, 2)))]
    return [variant(rng, grouped, numbers) for _ in range(4)]


def ask(curator, text, *, fresh=False):
    """The answer; None where the question is refused."""
    try:
        return curator.ask(f"DP-SELECT 1 {'FRESH ' if fresh else ''}{text}", session=ANA)
    except QueryRefused:
        return None


def shown(release, *, exactly):
    """What an answer says, in no order; unless `exactly`, only its shape: one sample is as good as another."""
    return release.columns, sorted(map(repr, release.rows)) if exactly else len(release.rows)


def compare(seed, made, directory):
    """Answers that were kept, beside fresh ones; how many of each kind there were."""
    rng, seen = Rng(seed), Counter()
    by_row = made.policy.table("visits").unit_column is None
    for place in range(ROUNDS):
        (directory / str(place)).mkdir()
        curator = made.curator(directory / str(place))
        for text in questions(rng):
            kept, fresh = ask(curator, text), ask(curator, text, fresh=True)
            assert (kept is None) == (fresh is None), text
            if kept is not None and fresh is not None:
                exactly = by_row or kept.reused in {None, "the same question"}
                assert shown(kept, exactly=exactly) == shown(fresh, exactly=exactly), f"{text} ({kept.reused})"
                seen[kept.reused] += 1
        curator._ledger.close()
    return seen


WORLDS = {"people": clinic, "rows": row_clinic, "sampled": lambda: clinic(bounding="sample")}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("over", WORLDS)
def test_a_kept_answer_says_what_a_fresh_one_says(tmp_path, monkeypatch, over, seed):
    switch_off(monkeypatch)
    seen = compare(seed, WORLDS[over](), tmp_path)
    assert sum(seen.values()) - seen[None] >= 2
    assert seen[None] >= 6


def forgotten_steps(patch):
    patch.setattr(keys.Key, "__post_init__", lambda key: object.__setattr__(key, "signature", text_of(key.sql)))


def forgotten_domains(patch):
    patch.setattr(measures, "_domain", lambda values, step: "")


def forgotten_scale(patch):
    def sign(measure):
        text = "" if measure.value is None else text_of(measure.value)
        object.__setattr__(measure, "signature", f"{measure.counted.value}|{text}")

    patch.setattr(Additive, "__post_init__", sign)


def several(made, directory):
    for seed in range(8):
        (directory / str(seed)).mkdir()
        compare(seed, made, directory / str(seed))


@pytest.mark.parametrize("planted", [forgotten_steps, forgotten_domains, forgotten_scale])
def test_a_key_that_forgets_something_is_caught(tmp_path, monkeypatch, planted):
    switch_off(monkeypatch)
    planted(monkeypatch)
    with pytest.raises(AssertionError):
        several(row_clinic(), tmp_path)


PAIRS = [
    (
        "FLOOR(age / 10) AS k, COUNT(*) AS n FROM visits GROUP BY 1",
        "FLOOR(age / 10) * 10 AS k, COUNT(*) AS n FROM visits GROUP BY 1",
    ),
    ("MODE(FLOOR(age / 10)) AS k FROM visits", "MODE(FLOOR(age / 10) * 10) AS k FROM visits"),
    ("HISTOGRAM(age % 7) AS k FROM visits", "HISTOGRAM((age % 7) * 3) AS k FROM visits"),
    ("TOP_K(age, 2) AS k FROM visits", "TOP_K(age * 0.5, 2) AS k FROM visits"),
    ("SUM(age) AS k FROM visits", "SUM(age * 2) AS k FROM visits"),
    ("MEDIAN(age) AS k FROM visits", "MEDIAN(age * 2) AS k FROM visits"),
    (
        "dept, FLOOR(age / 10) AS k, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept, FLOOR(age / 10))",
        "dept, FLOOR(age / 10) * 10 AS k, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept, FLOOR(age / 10) * 10)",
    ),
]


@pytest.mark.parametrize(("one", "other"), [*PAIRS, *((b, a) for a, b in PAIRS)])
def test_a_constant_factor_makes_another_question_of_it(tmp_path, monkeypatch, one, other):
    switch_off(monkeypatch)
    curator = row_clinic().curator(tmp_path)
    curator.ask(f"DP-SELECT 1 {one}", session=ANA)
    found = curator.ask(f"DP-SELECT 1 {other}", session=ANA)
    assert found.reused is None
    assert found.rows == curator.ask(f"DP-SELECT 1 FRESH {other}", session=ANA).rows


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_request_id_stands_for_one_scale_alone(tmp_path, one, other):
    curator = row_clinic().curator(tmp_path)
    first = curator.ask(f"DP-SELECT 1 FRESH {one}", session=ANA, request_id="r1")
    with pytest.raises(QueryRefused, match="another question"):
        curator.ask(f"DP-SELECT 1 FRESH {other}", session=ANA, request_id="r1")
    assert curator.ask(f"DP-SELECT 1 FRESH {one}", session=ANA, request_id="r1").rows == first.rows


@pytest.mark.parametrize(("one", "other"), PAIRS[:6])
def test_a_request_id_of_a_batch_stands_for_one_scale_alone(tmp_path, one, other):
    curator = row_clinic().curator(tmp_path)
    curator.batch([f"SELECT {one}"], session=ANA, epsilon=1, request_id="r1")
    with pytest.raises(QueryRefused, match="another question"):
        curator.batch(
            [f"SELECT FRESH {other}" if False else f"SELECT {other}"], session=ANA, epsilon=1, request_id="r1"
        )


@pytest.mark.parametrize("call", ["MODE({})", "HISTOGRAM({})", "TOP_K({}, 2)", "MEDIAN({})", "SUM({})"])
def test_two_scales_in_one_question_are_two_numbers(tmp_path, monkeypatch, call):
    switch_off(monkeypatch)
    both = ", ".join(f"{call.format(inner)} AS c{place}" for place, inner in enumerate(("age", "age * 10")))
    curator = row_clinic().curator(tmp_path)
    ((one, ten),) = curator.ask(f"DP-SELECT 1 {both} FROM visits", session=ANA).rows
    for inner, found in (("age", one), ("age * 10", ten)):
        ((alone,),) = curator.ask(f"DP-SELECT 1 FRESH {call.format(inner)} FROM visits", session=ANA).rows
        assert found == alone


def test_batches_tell_scales_apart(tmp_path, monkeypatch):
    switch_off(monkeypatch)
    curator = row_clinic().curator(tmp_path)
    texts = list(itertools.chain.from_iterable(PAIRS[:6]))
    batch = curator.batch([f"SELECT {text}" for text in texts], session=ANA, epsilon=1)
    for text, found in zip(texts, batch, strict=True):
        assert found.rows == curator.ask(f"DP-SELECT 1 FRESH {text}", session=ANA).rows
