"""With noise switched off, answers are the clamped raw answers exactly: two thousand questions and a plain oracle."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest

from conformance import sql_oracle as oracle
from conformance.sql_noiseless import switch_off
from conformance.sql_oracle import Column, Rng, Row
from conformance.sql_world import World, policy_of, world
from support.sources import Seeded
from tacit.curator import Release, Session
from tacit.curator.answer import AnswerTable, answer
from tacit.curator.measuring.measure import measure
from tacit.curator.measuring.noisy import Noisy
from tacit.errors import QueryRefused
from tacit.mechanisms import Exponential
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import Plan
from tacit.sql.binding import post
from tacit.sql.planning import planner, statements

QUESTIONS = 505  # in each of four runs
LISTED = ("CS", "Econ", "Bio")
COLUMNS = (
    Column("n", Fraction(-6), Fraction(9), Fraction(1), null=Fraction(2)),
    Column("x", Fraction(-5, 2), Fraction(6), Fraction(1, 2)),
    Column("y", Fraction(0), Fraction(7), Fraction(1, 4)),
    Column("w", Fraction(1 - (1 << 30)), Fraction(1 << 30), Fraction(1)),  # a few of its squares pass 2^63
)
WHOLE = {"n", "w"}
ODD = {
    "n": (10**9, -(10**9)),
    "x": (math.nan, math.inf, -math.inf, 1e300),
    "y": (math.nan, -1e300, 0.1),
    "w": (1 << 62, -(1 << 62)),
}


@pytest.fixture(autouse=True)
def noiseless(monkeypatch):
    switch_off(monkeypatch)


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(rng: Rng, *, count: int, units: int) -> list[Row]:
    """Cells a quarter of a step from the grid at most, so that no rounding is a matter of taste; and odd ones."""
    rows: list[Row] = []
    for _ in range(count):
        row: Row = {"uid": rng.randrange(units), "m": _maybe(rng, rng.randrange(-1, 7))}
        row |= {"g": _maybe(rng, rng.choice((*LISTED, "Art"))), "flag": _maybe(rng, rng.random() < 0.5)}
        for column in COLUMNS:
            cell: object = column.lower + column.step * rng.randrange(
                -3, int((column.upper - column.lower) / column.step) + 4
            )
            if column.name not in WHOLE:
                cell = float(cell + column.step * Fraction(rng.choice((-1, 0, 0, 1)), 4))
            row[column.name] = _maybe(rng, rng.choice(ODD[column.name]) if rng.random() < 0.1 else cell)
        rows.append(row)
    return rows


def _maybe(rng: Rng, value: object) -> object:
    return None if rng.random() < 0.1 else value


def world_of(rows: Sequence[Row], **table: object) -> World:
    columns = [
        *(ColumnPolicy(c.name, lower=c.lower, upper=c.upper, step=c.step, null=c.null) for c in COLUMNS),
        ColumnPolicy("m", lower=0, upper=5, step=1, domain="range"),
        ColumnPolicy("g", domain=LISTED),
        ColumnPolicy("flag"),
    ]
    policy = policy_of([TablePolicy("t", columns=columns, **table)])
    cells = ", ".join(
        f"({', '.join(_cell(row.get(name)) for name in ('uid', 'n', 'x', 'y', 'w', 'm', 'g', 'flag'))})" for row in rows
    )
    kinds = "uid INTEGER, n INTEGER, x DOUBLE, y DOUBLE, w BIGINT, m INTEGER, g VARCHAR, flag BOOLEAN"
    return world(policy, f"CREATE TABLE t ({kinds})", f"INSERT INTO t VALUES {cells}")


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return (
        f"'{value}'"
        if isinstance(value, (str, float))
        else str(int(value))
        if not isinstance(value, bool)
        else str(value)
    )


def answered(made: Plan, over: World) -> tuple[Noisy, AnswerTable]:
    noisy = measure(made, over.exact(made), public={}, source=Seeded(0))
    return noisy, answer(made, noisy)


def exactly(value: post.Post, noisy: Noisy, row: int) -> Fraction:
    """The arithmetic over measurements, in fractions: what the shown double stands for."""
    match value:
        case post.Ref(place):
            column = noisy.columns[place]
            if column.numbers is not None:
                return int(column.numbers[row]) * column.step
            assert column.values is not None
            return Fraction(float(column.values[row]))
        case post.Number(exact):
            return exact
        case post.Sum(left, right):
            return exactly(left, noisy, row) + exactly(right, noisy, row)
        case post.Product(left, right):
            return exactly(left, noisy, row) * exactly(right, noisy, row)
        case post.Quotient(left, right, least):
            below = exactly(right, noisy, row)
            below = below if least is None else max(below, least)
            return exactly(left, noisy, row) / below if below else Fraction(0)
        case post.Clamped(inner, low, high):
            held = exactly(inner, noisy, row)
            held = held if low is None else max(held, low)
            return held if high is None else min(held, high)
    raise AssertionError(value)


# ── what each aggregate means ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Aggregate:
    """An aggregate as it is written, and its value over the rows of a group; None where any answer will do."""

    sql: str
    of: Callable[[Sequence[Row]], Fraction | None]


def _mean(values: Sequence[Fraction]) -> Fraction | None:
    return sum(values, Fraction(0)) / len(values) if values else None


def _variance(values: Sequence[Fraction], *, sample: bool) -> Fraction | None:
    fewer = len(values) - sample
    if fewer < 1:
        return None
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / fewer


def aggregate(rng: Rng, *, by_row: bool) -> Aggregate:
    inner = oracle.number(rng, COLUMNS, rng.choice((1, 1, 1, 2)))
    column = rng.choice(COLUMNS)
    kinds: list[Aggregate] = [
        Aggregate("COUNT(*)", lambda rows: Fraction(len(rows))),
        Aggregate(f"SUM({inner.sql})", lambda rows: sum(oracle.present(inner, rows), Fraction(0))),
        Aggregate(f"SUM({column.sql})", lambda rows: sum(oracle.present(column, rows), Fraction(0))),
        Aggregate(f"AVG({inner.sql})", lambda rows: _mean(oracle.present(inner, rows))),
        Aggregate(f"COUNT({inner.sql} + 0)", lambda rows: Fraction(len(oracle.present(inner, rows)))),
        Aggregate(f"COUNT({column.sql})", lambda rows: Fraction(len(oracle.present(column, rows)))),
        Aggregate(f"VAR_POP({column.sql})", lambda rows: _variance(oracle.present(column, rows), sample=False)),
        Aggregate(f"VAR_SAMP({column.sql})", lambda rows: _variance(oracle.present(column, rows), sample=True)),
    ]
    if by_row:
        kinds.append(Aggregate("COUNT(DISTINCT g)", lambda rows: Fraction(len({r["g"] for r in rows} - {None}))))
    else:
        kinds.append(Aggregate("COUNT(DISTINCT uid)", lambda rows: Fraction(len({row["uid"] for row in rows}))))
    chosen = rng.choice(kinds)
    if rng.random() < 0.25:
        when = oracle.condition(rng, COLUMNS, 1)
        of = chosen.of
        chosen = Aggregate(
            f"{chosen.sql} FILTER (WHERE {when.sql})", lambda rows: of([row for row in rows if when.of(row) is True])
        )
    return chosen


@dataclass(frozen=True)
class Key:
    """A public key: how it is written, its values in order, and the value of a row (None: in no group)."""

    sql: str
    values: tuple[object, ...]
    of: Callable[[Row], object]


def _in_range(row: Row) -> object:
    return row["m"] if row["m"] is not None and 0 <= row["m"] <= 5 else None  # type: ignore[operator]


def _held(row: Row) -> int | None:
    return None if row["m"] is None else min(max(int(str(row["m"])), 0), 5)


KEYS = (
    Key("g", LISTED, lambda row: row["g"] if row["g"] in LISTED else None),
    Key("m", tuple(range(6)), _in_range),
    Key("flag", (False, True), lambda row: row["flag"]),
    Key("FLOOR(m / 2)", (0, 1, 2), lambda row: None if (m := _held(row)) is None else m // 2),
    Key(
        "CASE WHEN m >= 3 THEN 'high' WHEN m < 3 THEN 'low' END",
        ("high", "low"),
        lambda row: None if row["m"] is None else "high" if int(str(row["m"])) >= 3 else "low",
    ),
    Key("g = 'CS'", (False, True), lambda row: None if row["g"] is None else row["g"] == "CS"),
)


# ── the agreement ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", [11, 12, 13, 14])
def test_answers_without_noise_are_the_clamped_raw_answers(seed):
    rng = Rng(seed)
    asked = Counter()
    while asked["answered"] < QUESTIONS:
        by_row = rng.random() < 0.4
        rows = rows_of(rng, count=rng.choice((0, 1, 8, 25, 25)) or 1, units=6)
        caps = {"unit": "row"} if by_row else {"unit": "uid", "max_rows": 40, "max_groups": 40}
        over = world_of(rows, **caps)
        for _ in range(25):
            asked["answered" if _agrees(rng, over, rows, by_row=by_row) else "refused"] += 1
        over.engine.close()
    assert asked["refused"] < QUESTIONS / 4


def _agrees(rng: Rng, over: World, rows: Sequence[Row], *, by_row: bool) -> bool:
    keys = rng.sample(KEYS, rng.choice((0, 1, 1, 2)))
    measured = [aggregate(rng, by_row=by_row) for _ in range(rng.choice((1, 1, 1, 2)))]
    where = oracle.condition(rng, COLUMNS, 1) if rng.random() < 0.5 else None
    text = "DP-SELECT 1 " + ", ".join([key.sql for key in keys] + [one.sql for one in measured]) + " FROM t"
    text += f" WHERE {where.sql}" if where else ""
    text += f" GROUP BY {', '.join(key.sql for key in keys)}" if keys else ""
    try:
        made = over.plan(text)
    except QueryRefused:
        return False
    noisy, table = answered(made, over)
    kept = [row for row in rows if where is None or where.of(row) is True]
    groups = list(itertools.product(*(key.values for key in keys)))
    shown = {row[: len(keys)]: index for index, row in enumerate(table.rows)}
    assert list(shown) == [group for group in groups if group in shown], text
    for index, group in enumerate(groups):
        of_group = [row for row in kept if all(key.of(row) == value for key, value in zip(keys, group, strict=True))]
        for place, (one, out) in enumerate(zip(measured, made.outputs[len(keys) :], strict=True), len(keys)):
            wanted = one.of(of_group)
            assert out.value is not None
            exact = exactly(out.value, noisy, index)
            assert wanted is None or exact == wanted, f"{one.sql} of {group}: {exact}, not {wanted}\n{text}"
            if group not in shown:
                assert not of_group, f"WHERE leaves rows of {group}, which is not shown\n{text}"
                continue
            cell, error = table.rows[shown[group]][place], table.errors[shown[group]][place]
            off = 1e-6 * (error or 0)
            assert math.isclose(float(str(cell)), float(exact), rel_tol=1e-9, abs_tol=max(1e-9, off)), text
    return True


# ── bounded contributions ────────────────────────────────────────────────────────────────────────────────────────────


def _trimmed(total: Fraction, count: int, *, most: int, step: Fraction) -> Fraction:
    """The sum of a unit with too many rows: its own average, `most` times over, in whole steps towards zero."""
    if count <= most:
        return total
    return Fraction(int(total / step * most / count)) * step


def _weight(groups: int, most: int) -> Fraction:
    return Fraction(1) if groups <= most else Fraction(math.floor(1024 * Fraction(most, groups)), 1024)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("max_rows", "max_groups"), [(1, 1), (2, 2), (3, 1), (2, 5)])  # of five, some are in fewer
def test_heavy_units_are_weighed_as_the_policy_says(seed, max_rows, max_groups):
    rng = Rng(seed)
    rows = rows_of(rng, count=40, units=4)
    over = world_of(rows, unit="uid", max_rows=max_rows, max_groups=max_groups, bounding="weigh")
    key, column = KEYS[1], COLUMNS[1]
    for measured in ("COUNT(*)", "SUM(x)", "COUNT(DISTINCT uid)", "COUNT(x)"):
        made = over.plan(f"DP-SELECT 1 m, {measured} FROM t GROUP BY m")
        noisy, _ = answered(made, over)
        wanted = dict.fromkeys(key.values, Fraction(0))
        for unit in range(4):
            mine = [row for row in rows if row["uid"] == unit and key.of(row) is not None]
            touched = {key.of(row) for row in mine}
            for group in touched:
                here = [row for row in mine if key.of(row) == group]
                total = {
                    "COUNT(*)": Fraction(min(len(here), max_rows)),
                    "COUNT(x)": Fraction(min(sum(row["x"] is not None for row in here), max_rows)),
                    "COUNT(DISTINCT uid)": Fraction(1),
                    "SUM(x)": _trimmed(
                        sum(oracle.present(column, here), Fraction(0)), len(here), most=max_rows, step=column.step
                    ),
                }[measured]
                wanted[group] += total * _weight(len(touched), max_groups)
        found = [exactly(made.outputs[1].value, noisy, place) for place in range(6)]
        assert found == list(wanted.values()), measured


@pytest.mark.parametrize("seed", range(6))
def test_sampled_units_keep_exactly_what_their_caps_allow(seed):
    rng = Rng(seed)
    rows = rows_of(rng, count=60, units=4)
    over = world_of(rows, unit="uid", max_rows=2, max_groups=2, bounding="sample")
    made = over.plan("DP-SELECT 1 m, COUNT(DISTINCT uid), COUNT(*) FROM t GROUP BY m")
    noisy, _ = answered(made, over)
    per_unit = [Counter(KEYS[1].of(row) for row in rows if row["uid"] == unit) for unit in range(4)]
    for counts in per_unit:
        counts.pop(None, None)
    units, counted = (sum(int(n) for n in noisy.columns[place].numbers) for place in (0, 1))
    assert units == sum(min(2, len(counts)) for counts in per_unit)
    assert counted <= sum(2 * min(2, len(counts)) for counts in per_unit)
    assert counted >= units


def test_what_a_unit_may_add_up_to_is_held_by_its_own_bounds():
    rows = [{"uid": u, "n": 5, "x": 1.0, "y": y, "m": 1, "g": "CS", "flag": True} for u in range(3) for y in (2.0, 3.0)]
    columns = [ColumnPolicy("y", lower=0, upper=7, step=Fraction(1, 4), unit_total={"lower": 0, "upper": 4})]
    policy = policy_of([TablePolicy("t", "uid", columns=columns, max_rows=9, max_groups=9)])
    made_rows = ", ".join(f"({row['uid']}, {row['y']})" for row in rows)
    over = world(policy, "CREATE TABLE t (uid INTEGER, y DOUBLE)", f"INSERT INTO t VALUES {made_rows}")
    made = over.plan("DP-SELECT 1 SUM(y) FROM t")
    assert exactly(made.outputs[0].value, answered(made, over)[0], 0) == 12  # three units of five, held at four


# ── choices ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", ["0.5", "0.25", "0.9", "0.01"])
def test_a_quantile_without_noise_holds_its_rank(seed, share):
    rng = Rng(seed)
    rows = rows_of(rng, count=rng.choice((1, 2, 9, 30)), units=5)
    over = world_of(rows, unit="row")
    made = over.plan(f"DP-SELECT 1 flag, QUANTILE(x, {share}) FROM t GROUP BY flag")
    _, table = answered(made, over)
    part = Fraction(share)
    for flag, shown in table.rows:
        values = oracle.present(COLUMNS[1], [row for row in rows if row["flag"] is flag])
        if values:
            below, above = (sum(side) for side in ((v < shown for v in values), (v > shown for v in values)))
            assert below <= part * len(values)
            assert above <= (1 - part) * len(values)


@pytest.mark.parametrize("seed", range(4))
def test_an_extreme_without_noise_lies_its_depth_from_the_end(seed):
    rng = Rng(seed)
    rows = rows_of(rng, count=60, units=5)
    over = world_of(rows, unit="row")
    made = over.plan("DP-SELECT 50 MIN(n), MAX(n) FROM t")
    _, table = answered(made, over)
    values = sorted(oracle.present(COLUMNS[0], rows))
    for place, shown in enumerate(table.rows[0]):
        noise = made.measurements[place].noise
        assert isinstance(noise, Exponential)
        depth = max(1, math.ceil(math.log(16) / float(noise.rate)))
        assert depth < 5  # so near the end that nobody would call it anything else
        ordered = values if place == 0 else values[::-1]
        assert shown in set(ordered[: depth + 1])


@pytest.mark.parametrize("seed", range(8))
def test_the_mode_without_noise_is_a_most_frequent_value(seed):
    rng = Rng(seed)
    rows = rows_of(rng, count=30, units=5)
    over = world_of(rows, unit="row")
    _, table = answered(over.plan("DP-SELECT 1 flag, MODE(g), TOP_K(m, 2) FROM t GROUP BY flag"), over)
    for flag, mode, top in table.rows:
        here = [row for row in rows if row["flag"] is flag]
        by_text = Counter(row["g"] for row in here if row["g"] in LISTED)
        by_number = Counter(row["m"] for row in here if _in_range(row) is not None)
        assert by_text[mode] == max(by_text.values(), default=0)
        assert sorted(by_number[m] for m in top) == sorted(by_number[m] for m, _ in _most(by_number, 2))


def _most(counts: Counter[object], places: int) -> list[tuple[object, int]]:
    full = Counter({value: counts[value] for value in range(6)})
    return sorted(full.items(), key=lambda item: -item[1])[:places]


# ── the whole way through the curator ────────────────────────────────────────────────────────────────────────────────


def test_the_curator_answers_as_the_oracle_does(tmp_path):
    rows = rows_of(Rng(5), count=30, units=5)
    curator = world_of(rows, unit="uid", max_rows=40, max_groups=40).curator(tmp_path)
    asked = curator.ask(
        "DP-SELECT 1 g, COUNT(*) AS n, SUM(x) AS s FROM t WHERE flag GROUP BY g HAVING COUNT(*) > 0 ORDER BY n DESC, g",
        session=Session("ana"),
    )
    assert isinstance(asked, Release)
    kept = [row for row in rows if row["flag"] is True and row["g"] in LISTED]
    counts = Counter(str(row["g"]) for row in kept)
    sums = {g: sum(oracle.present(COLUMNS[1], [row for row in kept if row["g"] == g]), Fraction(0)) for g in counts}
    ordered = sorted(counts, key=lambda g: (-counts[g], g))
    assert asked.rows == tuple((g, counts[g], float(sums[g])) for g in ordered)


@pytest.mark.parametrize("held", [False, True], ids=["as it is", "held at 64 bits"])
def test_a_sum_held_at_64_bits_would_be_noticed(held, monkeypatch):
    """The oracle has power: nine squares of 2^30 are more than 2^63, and a column that stops there disagrees."""
    if held:
        for module in (planner, statements):
            monkeypatch.setattr(module, "is_wide", lambda measure, caps: False)
    rows = [{"uid": u, "w": 1 << 30, "m": 1, "g": "CS", "flag": True} for u in range(9)]
    over = world_of(rows, unit="row")
    made = over.plan("DP-SELECT 1 SUM(w * w) FROM t")
    found = exactly(made.outputs[0].value, answered(made, over)[0], 0)
    assert (found == 9 << 60) == (not held)


def test_a_wrong_clamp_would_be_noticed():
    """The oracle has power: a planner that forgets the upper bound disagrees at once."""
    rows = [{"uid": 1, "n": 99, "x": 1.0, "y": 1.0, "m": 1, "g": "CS", "flag": True}]
    over = world_of(rows, unit="row")
    made = over.plan("DP-SELECT 1 SUM(n) FROM t")
    raw = made.statements[0].sql("duckdb").replace("> 9 THEN 9", "> 9 THEN 99")
    assert raw != made.statements[0].sql("duckdb")
    assert over.engine.execute(raw).integers("m0").tolist() != [9]
    assert exactly(made.outputs[0].value, answered(made, over)[0], 0) == 9
