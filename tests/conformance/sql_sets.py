"""Random ROLLUPs, CUBEs and GROUPING SETS: what one unit moves of them, and what DuckDB says to the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np

from conformance.sql_questions import KEYS, PRIVATE, _aggregate
from conformance.sql_questions import _written as _filled
from conformance.sql_sensitivity import Violation, _read, _within, check
from conformance.sql_tables import LISTED, Table, random_table
from conformance.sql_world import World, policy_of, world
from tacit.core import Loss, sqrt_above
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.job_plan import SetsPlanner
from tacit.curator.jobs.pieces import Joint, Lone
from tacit.curator.reading import histograms
from tacit.errors import TacitError
from tacit.mechanisms import Laplace
from tacit.mechanisms.calibration.gaussian_job import rho_of_job
from tacit.mechanisms.strategy import StrategyNoise
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import AtEpsilon

Rng = random.Random
TRUTHS = {"n > 0", "x IS NULL"}  # within ROLLUP and CUBE they are read in parentheses only


def grouping(rng: Rng, keys: Sequence[str]) -> str:
    """One GROUP BY over these keys that makes several sets."""
    listed = ", ".join(keys)
    shapes = [f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS ({_sets(rng, keys)})"]
    if len(keys) > 1:
        shapes += [
            f"{keys[0]}, ROLLUP ({', '.join(keys[1:])})",
            f"ROLLUP ({keys[0]}), CUBE ({', '.join(keys[1:])})",
            f"ROLLUP (({listed}), {keys[0]})",
            f"GROUPING SETS (ROLLUP ({listed}), ({keys[-1]}))",
            f"GROUPING SETS (({keys[-1]}), ({listed}))",
        ]
    return rng.choice(shapes)


def _sets(rng: Rng, keys: Sequence[str]) -> str:
    chosen = [rng.sample(keys, rng.randrange(len(keys) + 1)) for _ in range(rng.randrange(1, 5))]
    return ", ".join(f"({', '.join(each)})" for each in chosen)


# ── sensitivity ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class TriedSets:
    """What a run of the fuzz has seen."""

    pairs: int = 0
    plans: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)


def statement(rng: Rng, *, by_row: bool) -> str:
    """One DP-SELECT over the table of `sql_tables`, with its price."""
    listed = [key for key in KEYS if key not in PRIVATE and key != "d"]
    forms = dict.fromkeys(rng.choice(KEYS if rng.random() < 0.2 else listed) for _ in range(rng.choice((1, 2, 2, 3))))
    keys = [f"({form})" if form in TRUTHS else _filled(rng, form, 0) for form in forms]
    sums = rng.random() < 0.8
    measured = [_aggregate(rng, by_row=by_row, sums=sums) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.5:
        measured = [rng.choice(("COUNT(*)", "SUM(n)", "AVG(x)", "COUNT(x)", "SUM(y)"))]
    delta = " DELTA 1e-3" if any(form in PRIVATE for form in forms) or rng.random() < 0.4 else ""
    return (
        f"DP-SELECT {rng.choice(('1', '1/3', '8'))}{delta} {', '.join(measured)} FROM t GROUP BY {grouping(rng, keys)}"
    )


def margins(rng: Rng) -> str:
    """One DP-SELECT for the margins of public keys but not for their cells: each is a part of the best strategy."""
    keys = rng.sample(("g", "m", "flag", "q", "DATE_TRUNC('month', d)"), rng.choice((2, 3)))
    sets = ", ".join(f"({key})" for key in keys) + rng.choice(("", ", ()"))
    return f"DP-SELECT {rng.choice(('1', '1/3', '8'))} COUNT(*) FROM t GROUP BY GROUPING SETS ({sets})"


def planned(made: World, text: str) -> Job:
    """The statement at the price that stands in it."""
    bound = made.bound(text)
    assert isinstance(bound.query.price, AtEpsilon)
    price = Loss(bound.query.price.epsilon, bound.query.delta or 0)
    return SetsPlanner(bound, made.policy).at(price)


def fuzz_sets(seed: int, *, pairs: int, questions: int = 5) -> Iterator[TriedSets]:
    """Random tables and statements until `pairs` of piece and unit were tried. Raises Violation.

    Each table is asked for its margins as well: chance alone makes next to no strategy of several parts.
    """
    tried = TriedSets()
    while tried.pairs < pairs:
        rng = Rng(seed)
        table = random_table(rng, rows=30, units=10)
        connection = table.world.engine._connection.cursor()
        by_row = table.world.policy.tables[0].unit_column is None
        for text in (margins(rng), *(statement(rng, by_row=by_row) for _ in range(questions))):
            try:
                made = planned(table.world, text)
            except TacitError as error:
                tried.refused[error.message[:40]] += 1
                continue
            try:
                tried.pairs += check_sets(made, table, connection=connection, seen=tried.seen)
            except Violation as violation:
                raise Violation(f"{violation}\n  seed {seed}: {text}") from None
            tried.plans += 1
        connection.close()
        table.world.engine.close()
        seed += 1
        yield tried


def check_sets(
    made: Job, table: Table, *, connection: duckdb.DuckDBPyConnection, seen: Counter[str] | None = None
) -> int:
    """The pieces' prices are the price, and every unit, removed in turn, moves each piece by no more than its own."""
    paid = [piece.loss for piece in made.pieces]
    if sum((loss.epsilon for loss in paid), Fraction(0)) != made.loss.epsilon:
        raise Violation("the sets do not cost what the statement does")
    _within(sum((loss.delta for loss in paid), Fraction(0)), made.loss.delta, "the delta of all sets")
    pairs = 0
    for piece in made.pieces:
        pairs += check(piece.plan, table, connection=connection)
        if isinstance(piece, Joint):
            _check_strategy(piece, table, connection)
        if seen is not None:
            seen[type(piece).__name__] += 1
            seen["measurements of a joint"] += len(piece.plan.measurements) if isinstance(piece, Joint) else 0
            seen["private"] += isinstance(piece, Lone) and piece.plan.selection is not None
            law = type(piece.noise.noises[0]).__name__ if isinstance(piece, Joint) else "other"
            seen[law] += 1
            seen[f"{law} in parts"] += isinstance(piece, Joint) and len(piece.strategy.parts) > 1
            seen[f"{piece.plan.caps.spread} {type(piece).__name__}"] += 1
    return pairs


def _check_strategy(joint: Joint, table: Table, connection: duckdb.DuckDBPyConnection) -> None:
    """What gets noise are the bars of the strategy's parts: all of them together cost no more than the piece."""
    whole, *others, _ = _read(joint.plan, table, connection)
    before = histograms(joint, whole[0])
    for without in others:
        spent = Fraction(0)
        for noise, one, other in zip(joint.noises, before, histograms(joint, without[0]), strict=True):
            spent += _spent(noise, one, other)
        steps = joint.plan.unit.adjacency.steps
        if isinstance(joint.noise.noises[0], Laplace):
            _within(spent * steps, joint.loss.epsilon, "the epsilon of a strategy")
        else:
            _within(spent, rho_paid_for(joint), "the rho of a strategy")


def rho_paid_for(joint: Joint) -> Fraction:
    """What Gaussian noise may cost between neighbours one step apart: from the price, not from what was drawn."""
    steps = joint.plan.unit.adjacency.steps
    norms = [(sqrt_above(Fraction(joint.strategy.squared_norm(part))), part.share) for part in joint.strategy.parts]
    moves = [(steps * m.l1 * norm, m.share * share) for m in joint.plan.measurements for norm, share in norms]
    return rho_of_job(joint.loss, moves) / steps**2


def _spent(noise: StrategyNoise, one: np.ndarray, other: np.ndarray) -> Fraction:
    """Σ over parts of the epsilon, or the rho, that moving from one histogram to another is worth."""
    spent = Fraction(0)
    for law, before, after in zip(noise.noises, noise.exact(one), noise.exact(other), strict=True):
        moves = (before - after).ravel().tolist()
        if isinstance(law, Laplace):
            spent += sum(map(abs, moves)) / law.scale
        else:
            spent += Fraction(sum(move * move for move in moves)) / (2 * law.sigma**2)
    return spent


# ── what DuckDB says to the same GROUP BY ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class RawKey:
    """A key as the analyst writes it, as it reads over raw rows, and the raw rows that are in its domain."""

    asked: str
    raw: str
    within: str


IN_RANGE = "d BETWEEN DATE '2020-01-01' AND DATE '2020-03-31'"
SIGN = "CASE WHEN n > 0 THEN 'up' WHEN n < 0 THEN 'down' END"
RAW_KEYS = (
    RawKey("m", "m", "m BETWEEN 0 AND 5"),
    RawKey("g", "g", f"g IN {LISTED}"),
    RawKey("flag", "flag", "flag IS NOT NULL"),
    RawKey("DATE_TRUNC('month', d)", "DATE_TRUNC('month', d)", IN_RANGE),
    RawKey("YEAR(d)", "YEAR(d)", "YEAR(d) = 2020"),
    RawKey("FLOOR(m / 2)", "FLOOR(LEAST(GREATEST(m, 0), 5) / 2)", "m IS NOT NULL"),
    RawKey(SIGN, SIGN, f"{SIGN} IS NOT NULL"),
    RawKey("(n > 2)", "(n > 2)", "n IS NOT NULL"),
)
CLAMPED = "CASE WHEN n IS NULL THEN NULL ELSE LEAST(GREATEST(n, -3), 8) END"


def raw_world(rng: Rng, *, by_row: bool, rows: int = 60) -> World:
    """A table whose caps nobody reaches, with rows inside and outside of every domain."""

    def maybe(text: str) -> str:
        return "NULL" if rng.random() < 0.1 else text

    cells = [
        f"({rng.randrange(9)}, {maybe(str(rng.randrange(-6, 12)))}, {maybe(str(rng.randrange(-1, 7)))},"
        f" {maybe(repr(rng.choice((*LISTED, 'Art'))))}, {maybe(rng.choice(('TRUE', 'FALSE')))},"
        f" {maybe(f'DATE {chr(39)}2019-12-20{chr(39)} + {rng.randrange(120)}')})"
        for _ in range(rows)
    ]
    columns = [
        ColumnPolicy("n", lower=-3, upper=8, step=1),
        ColumnPolicy("m", lower=0, upper=5, step=1, domain="range"),
        ColumnPolicy("g", domain=LISTED),
        ColumnPolicy("flag"),
        ColumnPolicy("d", type="date", lower="2020-01-01", upper="2020-03-31", domain="range"),
    ]
    caps = {} if by_row else {"max_groups": 400, "max_rows": rows, "bounding": rng.choice(("sample", "weigh"))}
    policy = policy_of([TablePolicy("t", "row" if by_row else "uid", columns=columns, **caps)])
    kinds = "uid INTEGER, n INTEGER, m INTEGER, g VARCHAR, flag BOOLEAN, d DATE"
    return world(policy, f"CREATE TABLE t ({kinds})", f"INSERT INTO t VALUES {', '.join(cells)}")


@dataclass(frozen=True)
class Pair:
    """The same question in our words and in DuckDB's."""

    asked: str
    raw: str


def pair(rng: Rng, *, tail: bool) -> Pair:
    """A random statement; with a tail, one that filters, orders and cuts the rows of all sets."""
    drawn = {f"<{place}>": key for place, key in enumerate(rng.sample(RAW_KEYS, rng.choice((1, 2, 2, 3))))}
    shape = ""
    while not any(mark in shape for mark in drawn):  # GROUPING SETS (()) has no keys
        shape = grouping(rng, list(drawn))
    keys = {mark: key for mark, key in drawn.items() if mark in shape}
    end = ""
    if tail:
        order = ", ".join(str(place + 1) + rng.choice(("", " DESC")) for place in range(len(keys)))
        end = f" HAVING COUNT(*) > {rng.randrange(4)} ORDER BY z DESC, r, {order} LIMIT {rng.randrange(1, 9)}"
        end += rng.choice(("", " OFFSET 2"))
    within = " AND ".join(key.within for key in keys.values())
    asked = _written(shape, {mark: key.asked for mark, key in keys.items()}, numbers="SUM(n)", rows="t")
    raw = _written(
        shape,
        {mark: key.raw for mark, key in keys.items()},
        numbers=f"COALESCE(SUM({CLAMPED}), 0)",
        rows=f"t WHERE {within}",
    )
    return Pair(f"DP-SELECT 1 {asked}{end}", f"SELECT {raw}{end}")


def _written(shape: str, keys: dict[str, str], *, numbers: str, rows: str) -> str:
    for mark, text in keys.items():
        shape = shape.replace(mark, text)
    listed = ", ".join(keys.values())
    return (
        f"{listed}, GROUPING({listed}) AS r, COUNT(*) AS z, COUNT(n) AS c, {numbers} AS s FROM {rows} GROUP BY {shape}"
    )


def plain_rows(rows: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
    """Rows that compare: whole numbers, dates as texts, groups of nobody left out."""
    return [tuple(_plain(cell) for cell in row) for row in rows if round(float(str(row[-3]))) != 0]


def _plain(cell: object) -> object:
    if isinstance(cell, bool) or cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, (int, float, Fraction, Decimal)):
        return round(cell)
    return str(cell.date() if isinstance(cell, datetime) else cell)
