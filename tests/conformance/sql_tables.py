"""Random small tables with everything odd in them, and random policies over them. Seeded: a failure can be repeated."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from conformance.sql_dates import BOUNDS, SECONDS
from conformance.sql_dates import STEPS as DAYS
from conformance.sql_names import Names, quoted
from conformance.sql_world import World, policy_of, world
from tacit.policy import BudgetPolicy, ColumnPolicy, TablePolicy

Rng = random.Random
INTEGERS = {
    "TINYINT": (-(1 << 7), (1 << 7) - 1),
    "SMALLINT": (-(1 << 15), (1 << 15) - 1),
    "INTEGER": (-(1 << 31), (1 << 31) - 1),
    "BIGINT": (-(1 << 63), (1 << 63) - 1),
    "HUGEINT": (-(1 << 127), (1 << 127) - 1),
    "UTINYINT": (0, (1 << 8) - 1),
    "UBIGINT": (0, (1 << 64) - 1),
    "UHUGEINT": (0, (1 << 128) - 1),
}
NUMBERS = {
    "DOUBLE": ("'nan'", "'inf'", "'-inf'", "1e308", "-1e308", "5e-324", "-0.0", "9007199254740993"),
    "FLOAT": ("'nan'", "'inf'", "'-inf'", "3e38", "-3e38", "1e-45", "-0.0"),
    "DECIMAL(18,4)": ("99999999999999.9999", "-99999999999999.9999", "0.0001"),
    "DECIMAL(38,10)": ("9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999"),
}
MOST = Fraction(10**13)  # what every one of them holds with four decimal places
LISTED = ("CS", "Econ", "Bio")
TEXTS = ("CS", "Econ", "Bio", "bio", " Bio", "", "ß", "ss", "<b>", "'; --", "é", "é", "x" * 300)
DATES = ("'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'", "'0001-01-01'", "'1969-12-31'")
TIMES = ("00:00:00", "00:00:00", "23:59:59", "23:59:59.999999", "12:30:00.5", "02:30:00", "00:00:00.000001")
STEPS = tuple(map(Fraction, ("1", "1", "1/2", "1/10", "1/100", "3", "1/4", "1/3")))
FORMS = ("exact", "trim", "lower", "trim-lower")
COLUMNS = ("uid", "n", "x", "y", "m", "q", "flag", "g", "s", "d", "ts", "id", "e", "tb")
PLAIN = Names({name: name for name in COLUMNS})


@dataclass(frozen=True)
class Table:
    """A random table, the policy over it, and for every unit the rows it owns."""

    world: World
    units: dict[object, list[int]]  # a unit, in the policy's one spelling → the values of `rid` in its rows
    unowned: list[int]  # rows whose unit is NULL and dropped
    called: Names = PLAIN  # what its columns are called instead


def random_table(rng: Rng, *, rows: int, units: int, called: Names = PLAIN) -> Table:
    """A table `t` with a column of every kind. `alive` holds it once whole, once without each unit: see `w`.

    With `called`, its columns have these names.
    """
    kinds = {"n": rng.choice(list(INTEGERS)), "x": rng.choice(list(NUMBERS)), "y": "DOUBLE"}
    by_row = rng.random() < 0.2
    bounds = {"n": _bounds(rng, whole=rng.random() < 0.8), "x": _bounds(rng), "y": _bounds(rng)}
    dates = {name: rng.choice(BOUNDS) for name in ("e", "tb")}
    text_unit = rng.random() < 0.5
    policy = _policy(rng, bounds, dates, by_row=by_row, text_unit=text_unit, called=called)
    table = policy.tables[0]
    form, one = str(table.unit_form), str(table.null_unit) == "one"
    owners = [rng.randrange(units) for _ in range(rows)]
    if rng.random() < 0.5:  # one unit holds most of the table
        owners = [0 if rng.random() < 0.6 else owner for owner in owners]
    lines, owned, unowned = [], {}, []
    for rid, owner in enumerate(owners):
        spelled = None if rng.random() < 0.1 else _spelled(rng, owner, form) if text_unit else owner
        lines.append(_row(rng, rid, spelled, kinds=kinds, bounds=bounds, dates=dates))
        unit = rid if by_row else _canonical(spelled, form) if text_unit else spelled
        if unit is None and not one:
            unowned.append(rid)
        else:
            owned.setdefault(unit, []).append(rid)
    if rng.random() < 0.3:  # a row, many times over
        twin = rng.randrange(rows)
        for rid in range(rows, rows + rng.randrange(1, 12)):
            lines.append(lines[twin].replace(f"({twin},", f"({rid},", 1))
            owner_of_twin = next((unit for unit, rids in owned.items() if twin in rids), None)
            if by_row:
                owned[rid] = [rid]
            elif twin in unowned:
                unowned.append(rid)
            else:
                owned[owner_of_twin].append(rid)
    columns = (
        f"rid INTEGER, uid {'VARCHAR' if text_unit else 'BIGINT'}, n {kinds['n']}, x {kinds['x']}, y DOUBLE,"
        " m INTEGER, q DOUBLE, flag BOOLEAN, g VARCHAR, s VARCHAR, d DATE, ts TIMESTAMP, id UUID,"
        " e DATE, tb TIMESTAMP"
    )
    made = [f"CREATE TABLE base ({columns})", f"INSERT INTO base VALUES {', '.join(lines)}"]
    made += [f'ALTER TABLE base RENAME {name} TO "{name} before"' for name in COLUMNS]  # for names may change places
    made += [f'ALTER TABLE base RENAME "{name} before" TO {quoted(called.of[name])}' for name in COLUMNS]
    made.append("CREATE VIEW t AS FROM base")
    gone = [(place, rid) for place, rids in enumerate([*owned.values(), unowned], start=1) for rid in rids]
    made += [
        f"CREATE TABLE gone AS FROM (VALUES {', '.join(map(str, gone))}) AS made(w, rid)",
        f"CREATE TABLE worlds AS SELECT range AS w FROM range({len(owned) + 2})",  # world 0 is the whole table
        "CREATE TABLE alive AS SELECT w, base.* FROM worlds, base WHERE (w, rid) NOT IN (SELECT (w, rid) FROM gone)",
    ]
    return Table(world(policy, *made), owned, unowned, called)


def _bounds(rng: Rng, *, whole: bool = False) -> tuple[Fraction, Fraction, Fraction]:
    step = Fraction(1) if whole else rng.choice(STEPS)
    if rng.random() < 0.1:  # so many steps that doubles cannot tell them apart, or that a few rows pass 2^63
        high = rng.choice(((1 << 53) + rng.randrange(1, 99), (1 << 62) - rng.randrange(9, 99), (1 << 62) - 9, 1 << 33))
        return -step * rng.choice((0, high)), step * high, step
    low = rng.randrange(-12, 9)
    return low * step, (low + rng.randrange(1, 20)) * step, step


def _dated(rng: Rng, name: str, first: str, last: str, *, step: timedelta) -> ColumnPolicy:
    kind, time = ("timestamp", "T00:00:00") if name == "tb" else ("date", "")
    on_grid = all((date.fromisoformat(end) - date(1970, 1, 1)) % step == timedelta() for end in (first, last))
    given: dict[str, Any] = {"step": step} if on_grid else {}
    if rng.random() < 0.2:
        given["null"] = first + time
    return ColumnPolicy(name, type=kind, lower=first + time, upper=last + time, **given)


def _policy(
    rng: Rng,
    bounds: dict[str, tuple[Fraction, ...]],
    dates: dict[str, tuple[str, str]],
    *,
    by_row: bool,
    text_unit: bool,
    called: Names,
) -> Any:
    def bounded(name: str, **more: Any) -> ColumnPolicy:
        low, high, step = bounds[name]
        return ColumnPolicy(name, lower=low, upper=high, step=step, **more)

    low, high, step = bounds["x"]
    total = None
    if not by_row and rng.random() < 0.3:
        total = {"lower": min(low, 0 * step) - step * rng.randrange(3), "upper": max(high, 0 * step) + step}
    columns = [
        bounded("n", null=_maybe(rng, bounds["n"][0])),
        bounded("x", null=_maybe(rng, bounds["x"][1]), nan=_maybe(rng, bounds["x"][0]), unit_total=total),
        bounded("y"),
        ColumnPolicy("m", lower=0, upper=5, step=1, domain="range"),
        ColumnPolicy("q", domain=[Fraction(1, 10), Fraction(1, 2), 2]),
        ColumnPolicy("flag"),
        ColumnPolicy("g", domain=LISTED),
        ColumnPolicy("s"),
        ColumnPolicy("d", type="date", lower="2020-01-01", upper="2020-03-31", domain="range"),
        ColumnPolicy("ts"),
        _dated(rng, "e", *dates["e"], step=timedelta(days=rng.choice(DAYS))),
        _dated(rng, "tb", *dates["tb"], step=timedelta(seconds=rng.choice(SECONDS))),
        ColumnPolicy("id"),
    ]
    caps: dict[str, Any] = {}
    if not by_row:
        caps = {
            "max_groups": rng.randrange(1, 4),
            "max_rows": rng.randrange(1, 5),
            "max_distinct": rng.choice((None, 1, 2)),
            "bounding": rng.choice(("auto", "sample", "weigh", "weigh")),
            "null_unit": rng.choice(("drop", "one")),
            "unit_form": rng.choice(FORMS) if text_unit else "exact",
        }
    columns = [replace(column, name=called.of[column.name]) for column in columns]
    table = TablePolicy("t", "row" if by_row else called.of["uid"], columns=columns, **caps)
    counted = rng.choice((None, None, "zcdp"))  # where rho is counted, Gaussian noise is planned whenever it can be
    budget = BudgetPolicy(1000, Fraction(1, 10), accounting=counted)
    return policy_of([table], budget=budget, adjacency=rng.choice(("add/remove", "add/remove", "replace")))


def _maybe(rng: Rng, value: Fraction) -> Fraction | None:
    return value if rng.random() < 0.25 and value.denominator % 3 else None  # no cell holds a third


def _spelled(rng: Rng, owner: int, form: str) -> str:
    name = f"Unit{owner}"
    if form in ("lower", "trim-lower"):
        name = rng.choice((name, name.lower(), name.upper()))
    if form in ("trim", "trim-lower"):
        name = rng.choice((name, f" {name}", f"{name}  "))
    return name


def _canonical(spelled: str | None, form: str) -> str | None:
    if spelled is None:
        return None
    trimmed = spelled.strip(" ") if form in ("trim", "trim-lower") else spelled
    return trimmed.lower() if form in ("lower", "trim-lower") else trimmed


def _row(
    rng: Rng,
    rid: int,
    owner: object,
    *,
    kinds: dict[str, str],
    bounds: dict[str, tuple[Fraction, ...]],
    dates: dict[str, tuple[str, str]],
) -> str:
    least, most = INTEGERS[kinds["n"]]
    whole = [str(least), str(most), "0"]
    near_n = str(max(least, min(most, int(_near(rng, bounds["n"])))))
    cells = [
        str(rid),
        "NULL" if owner is None else repr(owner) if isinstance(owner, int) else f"'{owner}'",
        _odd(rng, whole, lambda: near_n),
        _odd(rng, NUMBERS[kinds["x"]], lambda: _decimal(_near(rng, bounds["x"]))),
        _odd(rng, NUMBERS["DOUBLE"], lambda: repr(float(_near(rng, bounds["y"])))),
        _odd(rng, ("-1", "6", "2147483647"), lambda: str(rng.randrange(6))),
        _odd(rng, ("'nan'", "3", "-0.0"), lambda: rng.choice(("0.1", "0.5", "2"))),
        rng.choice(("TRUE", "FALSE", "NULL")),
        _odd(rng, ("'Art'", "'cs'"), lambda: _text(rng.choice(LISTED))),
        _text(rng.choice(TEXTS)) if rng.random() < 0.9 else "NULL",
        _odd(rng, DATES, lambda: f"DATE '2020-01-01' + {rng.randrange(91)}"),
        _odd(rng, ("'infinity'", "'290309-12-22 (BC) 00:00:00'"), lambda: "TIMESTAMP '2021-02-03 04:05:06.7'"),
        _odd(rng, (), lambda: f"'00000000-0000-0000-0000-00000000000{rng.randrange(4)}'"),
        _odd(rng, DATES, lambda: f"DATE '{_day(rng, dates['e'])}'"),
        _odd(
            rng,
            ("'infinity'", "'290309-12-22 (BC) 00:00:00'", "'9999-12-31 23:59:59.999999'"),
            lambda: f"TIMESTAMP '{_day(rng, dates['tb'])} {rng.choice(TIMES)}'",
        ),
    ]
    return f"({', '.join(cells)})"


def _near(rng: Rng, bounds: tuple[Fraction, ...]) -> Fraction:
    """A value in the range, at one of its ends, or a little outside."""
    low, high, step = bounds
    inside = low + (high - low) * Fraction(rng.randrange(0, 101), 100)
    return rng.choice((inside, inside, low, high, low - step * Fraction(3, 2), high + step * 2, high - step / 2))


def _day(rng: Rng, ends: tuple[str, str]) -> date:
    """A day within two ends, at one of them, or a little outside."""
    first, last = map(date.fromisoformat, ends)
    inside = first + timedelta(days=rng.randrange((last - first).days + 1))
    outside = rng.choice((first.replace(year=max(first.year - 1, 1), day=1), last.replace(month=12, day=31)))
    return rng.choice((first, last, inside, inside, outside))


def _odd(rng: Rng, odd: Any, usual: Callable[[], str]) -> str:
    chance = rng.random()
    if chance < 0.1:
        return "NULL"
    return rng.choice(odd) if odd and chance < 0.25 else usual()


def _decimal(value: Fraction) -> str:
    return f"{float(max(-MOST, min(MOST, value))):.4f}"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
