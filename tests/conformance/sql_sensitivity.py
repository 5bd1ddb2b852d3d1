"""The sensitivity of a plan, found by brute force: every unit is taken out in turn, on the exact integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import duckdb
import numpy as np
from numpy.typing import NDArray

from conformance.sql_names import confusing
from conformance.sql_questions import Rng, question
from conformance.sql_sources import over_another_source, pivoted
from conformance.sql_tables import COLUMNS, PLAIN, Table, random_table
from tacit.curator.measuring.bias import cell_counts, excess_totals, level_scores
from tacit.curator.measuring.measure import KeyTuple, encoded, listed  # what is looked at is what gets noise
from tacit.curator.measuring.ranks import quantile_scores
from tacit.engines import Exact
from tacit.engines.columns import readable
from tacit.errors import QueryRefused, TacitError
from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from tacit.policy import TableDomain
from tacit.sql import Additive, Histogram, Measurement, Mode, Plan, Quantile, Statement
from tacit.sql.planning.bounding import MOST_GROUPS
from tacit.sql.planning.excess import SHARES
from tacit.sql.planning.plan import Excess
from tacit.sql.rules import Spread
from tacit.sql.rules.sample_groups import TIES

FROM_TABLE = 'FROM "t"'
Numbers = dict[KeyTuple, int]
Tally = dict[KeyTuple, Counter[object]]


class Violation(AssertionError):
    """One unit moves a measurement farther than its plan says, or makes the engine fail."""


@dataclass
class Tried:
    """What a run of the fuzz has seen."""

    pairs: int = 0
    plans: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)


def fuzz(
    seed: int,
    *,
    pairs: int,
    questions: int = 6,
    rows: int = 40,
    units: int = 14,
    bias: bool = False,
    sources: bool = False,
    rare: bool = False,
    hostile: bool = False,
) -> Iterator[Tried]:
    """Random tables and questions until `pairs` of question and unit were tried. Raises Violation.

    With `sources`, questions are of what is made of the table: its windows, unions, patterns and pivots. With `rare`,
    one of each table has an aggregate that is seldom drawn otherwise. With `hostile`, columns are called like others.
    """
    tried = Tried()
    world_seed = seed
    while tried.pairs < pairs:
        rng = Rng(world_seed)
        called = confusing(rng, COLUMNS, never=("w", "rid")) if hostile else PLAIN
        table = random_table(rng, rows=rows, units=units, called=called)
        connection = table.world.engine._connection.cursor()
        by_row = table.world.policy.tables[0].unit_column is None
        for number in range(questions):
            text = question(rng, by_row=by_row, bias=bias, rare=rare and not number)
            text = over_another_source(rng, text, by_row=by_row) if sources else text
            text = pivoted(rng) if sources and not by_row and not number else text
            text = called.sql(text) if hostile else text
            try:
                made = table.world.plan(text)
            except QueryRefused as error:
                tried.refused[error.message[:40]] += 1
                continue
            except TacitError as error:  # a scale that overflows, for one: refused as well, before any charge
                tried.refused[f"{type(error).__name__} {error.message[:30]}"] += 1
                continue
            try:
                tried.pairs += check(made, table, connection=connection)
            except Violation as violation:
                raise Violation(f"{violation}\n  seed {world_seed}: {text}") from None
            tried.plans += 1
            _note(made, tried.seen)
        connection.close()
        table.world.engine.close()
        world_seed += 1
        yield tried


def _note(made: Plan, seen: Counter[str]) -> None:
    seen[str(made.caps.spread)] += 1
    seen["private keys" if made.selection else "public keys" if made.keys else "no keys"] += 1
    for measurement in made.measurements:
        asked = measurement.measure
        seen[asked.counted.value if isinstance(asked, Additive) else type(asked).__name__] += 1
        seen[type(measurement.noise).__name__] += 1
    seen["bias"] += len(made.bias)
    seen["clamped bias"] += sum("v1" in excess.sums.canonical for excess in made.bias)


def check(made: Plan, table: Table, *, connection: duckdb.DuckDBPyConnection) -> int:
    """Every unit removed in turn; how many there were."""
    whole, *others, without_unowned = _read(made, table, connection)
    if table.unowned:  # rows that belong to nobody do not count at all
        _same(made, whole, without_unowned)
    for without in others:
        compare(made, whole, without)
    return len(others)


def compare(made: Plan, whole: Sequence[Exact], without: Sequence[Exact]) -> None:
    """Whether what a plan's statements return with and without one unit is as near as the plan says."""
    for measurement in made.measurements:
        _compare(made, measurement, whole, without)
    for number, excess in enumerate(made.bias):
        place = len(made.statements) + 2 * number
        _compare_excess(made, excess, whole[place : place + 2], without[place : place + 2])
    _compare_keys(made, whole, without)


def _read(made: Plan, table: Table, connection: duckdb.DuckDBPyConnection) -> list[list[Exact]]:
    """For each world of the table what every statement returns in it."""
    count = len(table.units) + 2
    try:
        columns = [_settled(statement, connection, count) for statement in made.runs]
    except Exception as error:
        raise Violation(f"the engine fails: {error}") from None
    return [list(world) for world in zip(*columns, strict=True)]


def _settled(statement: Statement, connection: duckdb.DuckDBPyConnection, count: int) -> list[Exact]:
    """What the curator's `execute` returns in each world: with ties settled in those that have any."""
    found = _in_every_world(statement.sql("duckdb"), connection, count)
    tied = [statement.settled is not None and bool(exact.integers(TIES).any()) for exact in found]
    if statement.settled is None or not any(tied):
        return found
    settled = _in_every_world(statement.settled.sql("duckdb"), connection, count)
    return [other if ties else exact for exact, other, ties in zip(found, settled, tied, strict=True)]


def _in_every_world(sql: str, connection: duckdb.DuckDBPyConnection, count: int) -> list[Exact]:
    """One statement run in all worlds at once: each is a copy of the table, told apart by a lateral join."""
    one_world = "FROM (FROM alive WHERE alive.w = worlds.w)"
    lateral = f"SELECT worlds.w, found.* FROM worlds, LATERAL ({sql.replace(FROM_TABLE, one_world)}) AS found"
    columns = readable(connection, lateral).read(connection)
    worlds = np.asarray(columns.pop("w"))
    rows = [np.flatnonzero(worlds == world) for world in range(count)]
    return [
        Exact({n: c[places] if isinstance(c, np.ndarray) else [c[i] for i in places] for n, c in columns.items()})
        for places in rows
    ]


def agrees_with_the_engine(made: Plan, table: Table, *, connection: duckdb.DuckDBPyConnection, place: int) -> bool:
    """Whether one world, run on its own, says what it said among the others: the lateral join is only a short cut."""
    rids = [[], *table.units.values(), table.unowned][place]
    gone = ", ".join(map(str, rids)) or "-1"
    one_world = f"FROM (FROM base WHERE rid NOT IN ({gone}))"
    for place_of, statement in enumerate(made.statements):
        alone = readable(connection, statement.sql("duckdb").replace(FROM_TABLE, one_world)).read(connection)
        if statement.settled is not None and Exact(alone).integers(TIES).any():
            alone = readable(connection, statement.settled.sql("duckdb").replace(FROM_TABLE, one_world)).read(
                connection
            )
        among = _read(made, table, connection)[place][place_of]
        pairs = [
            list(zip(*(listed([_plain(value) for value in side[name]]) for name in sorted(alone)), strict=True))
            for side in (alone, among._columns)
        ]
        if Counter(map(repr, pairs[0])) != Counter(map(repr, pairs[1])):
            return False
    return True


def _plain(value: object) -> object:
    """A value as Python has it: numpy's whole numbers are written otherwise."""
    return value.item() if isinstance(value, np.generic) else value


def _same(made: Plan, whole: Sequence[Exact], without: Sequence[Exact]) -> None:
    for measurement in made.measurements:
        pair = [side[measurement.statement] for side in (whole, without)]
        read = _numbers if isinstance(measurement.measure, Additive) else _tally
        one, other = (read(made, measurement, exact) for exact in pair)
        if one != other:
            raise Violation(f"{measurement.measure.label}: rows without a unit count, though the policy drops them")


def _released(made: Plan) -> Callable[[KeyTuple], bool]:
    """Whether a group can be released. Those of a public table are kept by the statement itself."""
    if made.selection is not None:
        return lambda group: True
    lists = [None if isinstance(key.values, TableDomain) else set(encoded(key, {})) for key in made.keys]
    return lambda group: all(values is None or value in values for values, value in zip(lists, group, strict=True))


def _keys(made: Plan, exact: Exact) -> list[KeyTuple]:
    if not made.keys:
        return [()] * exact.rows
    return list(zip(*(listed(exact.keys(f"k{i}")) for i in range(len(made.keys))), strict=True))


def _numbers(made: Plan, measurement: Measurement, exact: Exact) -> Numbers:
    released = _released(made)
    found = zip(_keys(made, exact), exact.wide(measurement.column).tolist(), strict=True)
    return {key: value for key, value in found if released(key)}


def _tally(made: Plan, measurement: Measurement, exact: Exact) -> Tally:
    released = _released(made)
    tally: Tally = {}
    for key, cell, count in zip(_keys(made, exact), listed(exact.keys("x")), exact.integers("c").tolist(), strict=True):
        if released(key):
            tally.setdefault(key, Counter())[cell] += count
    return tally


def _compare(made: Plan, measurement: Measurement, whole: Sequence[Exact], without: Sequence[Exact]) -> None:
    pair = [side[measurement.statement] for side in (whole, without)]
    if isinstance(measurement.measure, Additive):
        _compare_sums(made, measurement, *(_numbers(made, measurement, exact) for exact in pair))
    elif isinstance(measurement.measure, Histogram):
        _compare_bars(made, measurement, *(_tally(made, measurement, exact) for exact in pair))
    else:
        _compare_scores(made, measurement, *(_tally(made, measurement, exact) for exact in pair))


def _compare_sums(made: Plan, measurement: Measurement, one: Numbers, other: Numbers) -> None:
    label = measurement.measure.label
    moved = [abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys()]
    squares = sum(move * move for move in moved)
    _within(max(moved, default=0), measurement.in_group, f"{label} in a group")
    _within(Fraction(squares), measurement.l2**2, f"{label} in L2, squared")
    if made.caps.spread is not Spread.WEIGH_L2:  # which fits the other norm, and is only used with Gaussian noise
        _within(sum(moved), measurement.l1, f"{label} in L1")
    if made.caps.spread in {Spread.SAMPLE, Spread.NONE}:
        _within(sum(move > 0 for move in moved), made.caps.max_groups, f"groups of {label}")
    if isinstance(measurement.noise, Gaussian):
        rho = Fraction(squares) / (2 * measurement.noise.sigma**2)
        _within(rho, measurement.noise.rho(measurement.l2), f"rho of {label}")
    else:
        assert isinstance(measurement.noise, Laplace)
        _within(sum(moved) / measurement.noise.scale, _allowance(made, measurement), f"epsilon of {label}")


def _compare_bars(made: Plan, measurement: Measurement, one: Tally, other: Tally) -> None:
    """A histogram is a sum for each value of its domain."""
    label = measurement.measure.label
    empty: Counter[object] = Counter()
    moves = []
    for key in one.keys() | other.keys():
        here, there = one.get(key, empty), other.get(key, empty)
        moves.append(sum(abs(here[cell] - there[cell]) for cell in here.keys() | there.keys()))
    _within(max(moves, default=0), measurement.in_group, f"bars of {label} in a group")
    _within(sum(moves), measurement.l1, f"bars of {label}")
    assert isinstance(measurement.noise, Laplace)
    _within(sum(moves) / measurement.noise.scale, _allowance(made, measurement), f"epsilon of {label}")


def _compare_scores(made: Plan, measurement: Measurement, one: Tally, other: Tally) -> None:
    label = measurement.measure.label
    empty: Counter[object] = Counter()
    groups = one.keys() | other.keys()
    moves = [_scores_moved(measurement, one.get(key, empty), other.get(key, empty)) for key in groups]
    _within(max(moves, default=0), _weight(measurement) * measurement.in_group, f"scores of {label}")
    _within(sum(moves), _weight(measurement) * measurement.l1, f"scores of {label} over all groups")
    assert isinstance(measurement.noise, (Exponential, PermuteAndFlip))
    choices = measurement.measure.count if isinstance(measurement.measure, Mode) else 1
    price = measurement.noise.rate * (1 if measurement.noise.monotone else 2) * choices
    _within(sum(moves) * price, _allowance(made, measurement), f"epsilon of {label}")


def _allowance(made: Plan, measurement: Measurement) -> Fraction:
    """The epsilon this measurement may cost when one unit is added or removed."""
    left = made.loss.epsilon / made.unit.adjacency.steps
    left -= sum(excess.epsilon + excess.choice.loss(1).epsilon for excess in made.bias)
    return left * measurement.share


def _compare_excess(made: Plan, excess: Excess, whole: Sequence[Exact], without: Sequence[Exact]) -> None:
    """One unit is in one cell, moves no score by more than one, and the sums at any level by no more than its end."""
    counts = [cell_counts(side[0], len(excess.ladder)) for side in (whole, without)]
    _within(int(np.abs(counts[0] - counts[1]).sum()), 1, "units in the cells of a ladder")
    scores = [level_scores(each, excess.choice) for each in counts]
    _within(int(np.abs(scores[0] - scores[1]).max()), 1, "the score of a level")
    keys = {key: place for place, key in enumerate({*_keys(made, whole[1]), *_keys(made, without[1])})}
    places = [np.array([keys[key] for key in _keys(made, side[1])], dtype=np.int64) for side in (whole, without)]
    for level, end in enumerate(excess.ladder):
        sums = [
            excess_totals(side[1], place, groups=len(keys), level=level)
            for side, place in zip((whole, without), places, strict=True)
        ]
        moved = sum(abs(one - other) for one, other in zip(*(total.tolist() for total in sums), strict=True))
        _within(moved, end << SHARES, f"excesses at level {level}")


def _weight(measurement: Measurement) -> int:
    """By how much one row may move a score: known from the share alone, so worked out here anew."""
    asked = measurement.measure
    if not isinstance(asked, Quantile) or asked.share is None:
        return 1
    below, whole = asked.share.numerator, asked.share.denominator
    return max(below, whole - below)


def _scores_moved(measurement: Measurement, one: Counter[object], other: Counter[object]) -> int:
    asked = measurement.measure
    if isinstance(asked, Mode):
        moved = [one[cell] - other[cell] for cell in one.keys() | other.keys()]
        if min(moved, default=0) < 0:
            raise Violation(f"{asked.label} is not monotone: taking a unit out raises a count")
        return max(moved, default=0)
    assert isinstance(asked, Quantile)
    assert isinstance(measurement.noise, Exponential)
    scores = [
        quantile_scores(_histogram(asked, tally), asked, measurement.noise, rows=measurement.in_group)
        for tally in (one, other)
    ]
    return int(np.max(np.abs(scores[0] - scores[1])))


def _histogram(asked: Quantile, tally: Counter[object]) -> NDArray[np.int64]:
    counts = np.zeros(asked.cells, dtype=np.int64)
    for cell, count in tally.items():
        place = int(str(cell)) - asked.grid.low if asked.bins is None else asked.bins.place(int(str(cell)))
        if not 0 <= place < counts.size:
            raise Violation(f"{asked.label} has a value outside its grid")
        counts[place] += count
    return counts


def _compare_keys(made: Plan, whole: Sequence[Exact], without: Sequence[Exact]) -> None:
    """Keys that one unit alone brings: few enough for the threshold, and each with a count that it was made for."""
    if made.selection is None:
        return
    chosen = made.measurements[made.selection.measurement]
    one, other = (_numbers(made, chosen, side[chosen.statement]) for side in (whole, without))
    alone = one.keys() - other.keys()
    chances = made.caps.max_groups * (1 if made.caps.spread in {Spread.SAMPLE, Spread.NONE} else MOST_GROUPS)
    _within(len(alone), chances, "keys that one unit brings")
    _within(max((one[key] for key in alone), default=0), chosen.in_group, "the count of a key that one unit brings")
    if other.keys() - one.keys():
        raise Violation("taking a unit out brings a key")


def _within(found: int | Fraction, claimed: int | Fraction, what: str) -> None:
    if found > claimed:
        raise Violation(f"{what} moves by {found}: the plan says at most {claimed}")
