"""No two questions share a kept answer: another zone, format, unit, constant or name is another question.

Everything is asked without noise, of rows that are their own units: a kept answer is then what a fresh one would be.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import World, policy_of, world
from tacit.curator import Curator, Session
from tacit.curator.computing import computing
from tacit.curator.jobs.job import Job
from tacit.errors import QueryRefused, RequestConflict
from tacit.ledger import SqliteLedger
from tacit.policy import BudgetPolicy, ColumnPolicy, TablePolicy

ANA = Session("ana")
BUDGET = BudgetPolicy(10**9, Fraction(1, 10), default_epsilon=3, default_delta=Fraction(1, 10**6))  # shows every key
Rng = random.Random
SEEN = (
    "seen",
    "at",
    "at AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'",
    "at AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Dubai'",
)
KEYS = (
    *(f"DATE_TRUNC('{unit}', {{}})" for unit in ("week", "month", "quarter")),
    *(f"STRFTIME({{}}, '{form}')" for form in ("%Y-%m", "%m-%Y", "%m", "%j", "%B", "%b", "%d")),
    *(f"EXTRACT({part} FROM {{}})" for part in ("MONTH", "DAY", "DOW", "ISODOW", "QUARTER", "WEEK")),
    *(f"HOUR({{}}){by}" for by in ("", " // 6", " // 6 * 6", " % 6")),
    *(f"DATE_DIFF('{unit}', DATE '{day}', {{}})" for unit in ("day", "month") for day in ("2024-01-01", "2024-01-15")),
    *(f"EXTRACT(MONTH FROM AGE({{}}, DATE '{day}'))" for day in ("2023-12-31", "2024-01-01")),
    *(f"ROUND(amount, {places})" for places in (0, -1, -2)),
    *(f"TRUNC(amount / {by}){times}" for by in (50, 100) for times in ("", " * 50", " * 100")),
    *(f"CASE WHEN age < {end} THEN '{low}' ELSE 'old' END" for end in (40, 41) for low in ("young", "minor")),
    *(f"CASE WHEN age < 40 THEN {low} ELSE {high} END" for low, high in ((0, 1), (1, 0), (1, 2))),
    *(f"WIDTH_BUCKET(age, 18, 90, {count})" for count in (3, 4)),
    *(f"{case}(LEFT(dept, {count}))" for case in ("UPPER", "LOWER") for count in (1, 2)),
    *(f"DATE_TRUNC('quarter', {{}} + age % 3 * INTERVAL {count} MONTH)" for count in (1, 2)),
    *(f"LEAST(LENGTH(dept), {most})" for most in (2, 3)),
    *(f"REGEXP_REPLACE(dept, '{old}', 'x'{every})" for old in ("o", "[co]") for every in ("", ", 'g'", ", 'gi'")),
    *(f"REGEXP_EXTRACT(dept, '(.)(.)', {group})" for group in (0, 1, 2)),
    *(f"LEFT(CAST({{}} AS VARCHAR), {count})" for count in (7, 10)),
    "age >= 40",
    "age > 40",
    "NOT age >= 40",
    "dept",
    "COALESCE(dept, 'none')",
    "dept || '!'",
)
AGGREGATES = (
    *("COUNT(*)", "COUNT(*) * 2", "COUNT(*) + 1", "-COUNT(*)", "COUNT(*) / 2", "COUNT(*) // 2", "100.0 * COUNT(*)"),
    *(
        f"SUM({value})"
        for value in ("age", "age * 2", "age + 1", "-age", "ROUND(amount)", "ROUND(amount, -1)", "age % 3")
    ),
    *(f"COUNT(*) FILTER (WHERE age {sign} {end})" for sign in ("<", "<=", ">") for end in (40, 41)),
    *(f"AVG({value})" for value in ("age", "age / 2", "DATE_DIFF('day', seen, DATE '2024-12-31')", "HOUR(at)")),
    *(f"SUM(age) {sign} COUNT(*)" for sign in ("+", "-", "/")),
    *(f"SUM(LEAST(LENGTH(dept), {most}))" for most in (2, 3)),
    *(f"COUNT(*) FILTER (WHERE at::TIME {sign} '{time}')" for sign in ("<", ">=") for time in ("06:00", "18:30:01")),
    *(
        "SQRT(ABS(SUM(age)))",
        "LN(1 + ABS(SUM(age)))",
        "EXP(COUNT(*) / 100.0)",
        "POWER(COUNT(*), 2)",
        "POWER(COUNT(*), 3)",
    ),
    *("CORR(age, amount)", "CORR(amount, age)", "COVAR_POP(age, amount)", "COVAR_SAMP(age, amount)"),
    *("REGR_SLOPE(age, amount)", "REGR_SLOPE(amount, age)", "STDDEV_POP(age)", "STDDEV_SAMP(age)", "VAR_POP(age)"),
    *(
        "MEDIAN(age)",
        "QUANTILE(age, 0.25)",
        "QUANTILE(age, 0.75)",
        "MIN(seen)",
        "MAX(seen)",
        "MEDIAN(seen)",
        "AVG(seen)",
    ),
    *("COUNT(DISTINCT age)", "COUNT(DISTINCT age % 7)", "MODE(dept)", "MODE(LOWER(dept))", "TOP_K(age, 2)"),
)
WHOLE = (  # ◇ is a key, ° an aggregate
    "SELECT ◇ AS k, ° AS n FROM visits GROUP BY 1",
    "SELECT ° AS n, ◇ AS k FROM visits GROUP BY ALL",
    "SELECT ◇ AS n, ° AS k FROM visits GROUP BY 1 ORDER BY 2 DESC",
    "SELECT ◇ AS k, ° AS n FROM visits WHERE age > 30 GROUP BY 1",
    "SELECT ◇ AS k, ° AS n FROM visits WHERE NOT age > 30 GROUP BY 1",
    "SELECT ◇ AS k, ° AS n FROM visits GROUP BY 1 HAVING COUNT(*) > 9",
    "SELECT ◇ AS k, ° AS n, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) AS s FROM visits GROUP BY 1",
    "SELECT ◇ AS k, ° AS n FROM visits GROUP BY 1 QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*)) <= 2",
    "SELECT ◇ AS k, ° AS n FROM visits GROUP BY 1 QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2",
    "SELECT k, n FROM (SELECT ◇ AS k, ° AS n FROM visits GROUP BY 1) UNION ALL SELECT NULL, COUNT(*) FROM visits",
    "SELECT * FROM (SELECT ◇ AS k, dept FROM visits) PIVOT (COUNT(*) FOR dept IN ('CS', 'Bio'))",
    "SELECT * FROM (SELECT ◇ AS k, dept FROM visits) PIVOT (COUNT(*) FOR dept IN ('Bio', 'CS'))",
    "SELECT * FROM (SELECT ◇ AS k, dept, age FROM visits) PIVOT (SUM(age) FOR dept IN ('CS', 'Bio'))",
    "SELECT * FROM (SELECT ◇ AS k, dept, age FROM visits) PIVOT (SUM(age) FOR dept IN ('CS' AS x, 'Econ' AS y))",
)


def hours() -> World:
    """Visits at every hour of a few months, each a person of its own."""
    columns = [
        ColumnPolicy("amount", lower=0, upper=500, step="0.01"),
        ColumnPolicy("age", lower=18, upper=90, step=1, domain="range"),
        ColumnPolicy("dept", domain=["CS", "Econ", "Bio"]),
        ColumnPolicy("seen", type="date", lower="2024-01-01", upper="2024-04-30", domain="range"),
        ColumnPolicy(
            "at", type="timestamp", lower="2024-01-01", upper="2024-04-30 23:00:00", step="1h", domain="range"
        ),
    ]
    return world(
        policy_of([TablePolicy("visits", "row", columns=columns)], budget=BUDGET),
        """CREATE TABLE visits AS SELECT (i * 37 % 50000) / 100.0 AS amount, (18 + i * 7 % 73)::INTEGER AS age,
        ['CS', 'Econ', 'Bio'][1 + i * i % 3] AS dept, DATE '2024-01-01' + (i * 5 % 121)::INTEGER AS seen,
        TIMESTAMP '2024-01-01' + to_hours(i * 61 % 2900) AS at FROM range(400) AS made(i)""",
    )


class WithoutShelf(SqliteLedger):
    """A ledger that keeps no answer: everything is asked anew."""

    def kept(self, *given, **named):
        return ()


def variants(rng: Rng) -> list[str]:
    """Questions that are nearly the same: neighbours in the lists above."""

    def near(words: tuple[str, ...]) -> list[str]:
        at = rng.randrange(len(words))
        return [words[(at + off) % len(words)] for off in (0, 0, 1, 2)]

    keys, numbers, wholes = near(KEYS), near(AGGREGATES), near(WHOLE)
    moment = rng.sample(SEEN, 2)
    found = [
        rng.choice(wholes).replace("◇", rng.choice(keys).format(rng.choice(moment))).replace("°", rng.choice(numbers))
        for _ in range(5)
    ]
    return list(dict.fromkeys(found))


def asked(curator: Curator, text: str, request_id: str | None = None):
    """What an answer says; the refusal, where there is one."""
    try:
        release = curator.ask(text, session=ANA, request_id=request_id)
    except RequestConflict:
        raise
    except QueryRefused as refused:
        return None, refused.message
    return release.reused, (release.columns, sorted(map(repr, release.rows)))


def compared(seed: int, directory: Path, *, rounds: int) -> Counter[str | None]:
    """Kept answers beside fresh ones; how many of each kind there were."""
    rng, made, seen = Rng(seed), hours(), Counter()
    shelf, anew = (kind(directory / f"{kind.__name__}.ledger", create=True) for kind in (SqliteLedger, WithoutShelf))
    keeping, fresh = Curator(made.policy, made.engine, shelf), Curator(made.policy, made.engine, anew)
    for number in range(rounds):
        said = {}
        for place, text in enumerate(variants(rng)):
            how, kept = asked(keeping, text)
            _, truth = asked(fresh, text)
            assert kept == truth, f"{text} ({how})"
            seen["refused" if isinstance(truth, str) else how] += 1
            said[text] = truth
            try:  # one request id for all of a round: it stands for the first that was answered
                _, again = asked(fresh, text, f"r{number}")
            except RequestConflict:
                seen["conflict"] += 1
            else:
                assert again == truth, f"{text} (the request of another question, {place})"
    shelf.close()
    anew.close()
    return seen


@pytest.fixture
def noiseless(monkeypatch):
    switch_off(monkeypatch)
    monkeypatch.setattr(computing, "draws_for", lambda *given: 0)  # errors are not looked at
    return monkeypatch


def test_what_is_kept_of_one_question_answers_no_other(tmp_path, noiseless):
    seen = compared(1, tmp_path, rounds=22)
    assert seen["refused"] < sum(seen.values()) / 3
    assert seen["conflict"] >= 10
    assert sum(count for how, count in seen.items() if how not in {None, "refused", "conflict"}) >= 2


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(10, 13))
def test_what_is_kept_of_one_question_answers_no_other_in_many_rounds(seed, tmp_path, noiseless):
    compared(seed, tmp_path, rounds=60)


COMPUTED = [
    (
        "SELECT dept, COUNT(*) AS n FROM visits GROUP BY 1",
        "QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*){}) <= 2",
        " DESC",
    ),
    ("SELECT dept, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY dept{}) AS s FROM visits GROUP BY 1", "", " DESC"),
    (
        "SELECT dept, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (){}, 1) AS s FROM visits GROUP BY 1",
        "",
        " / 2",
    ),
]


def computed(case: tuple[str, str, str]) -> tuple[str, str]:
    whole = " ".join(case[:2])
    return whole.format(""), whole.format(case[2])


def conflict(case: tuple[str, str, str], directory: Path) -> bool:
    """Whether one request id is refused for the other of two questions."""
    made = hours()
    curator = Curator(made.policy, made.engine, WithoutShelf(directory / "d.ledger", create=True))
    first, other = computed(case)
    said = asked(curator, first, "r")
    assert asked(curator, first, "r") == ("the same request", said[1])
    assert said[1] != asked(curator, other)[1]
    try:
        asked(curator, other, "r")
    except RequestConflict:
        return True
    return False


@pytest.mark.parametrize("case", COMPUTED)
def test_a_request_id_stands_for_what_is_computed_too(case, tmp_path, noiseless):
    assert conflict(case, tmp_path)


def test_a_hash_that_forgets_what_is_computed_is_caught(tmp_path, noiseless):
    noiseless.setattr(Job, "hash", property(lambda job: job._questions_hash))
    assert not conflict(COMPUTED[0], tmp_path)
