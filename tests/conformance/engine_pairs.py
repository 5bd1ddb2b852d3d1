"""The same random table in DuckDB and in another engine, and the same questions put to both."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from unittest.mock import patch

from sqlglot import exp

from conformance import sql_tables
from conformance.sql_questions import question
from conformance.sql_world import World, world
from tacit.core import Loss
from tacit.engines import Engine, Exact
from tacit.errors import TacitError
from tacit.policy import Policy
from tacit.sql import AtEpsilon, Plan, bind, parse, plan
from tacit.sql.emitting.dialects import emit
from tacit.sql.planning.statement import Statement

Rng = random.Random
Cells = list[tuple[object, ...]]
# What other engines can hold too: whole numbers up to 64 bits, and moments that are not too far away.
INTEGERS = {name: sql_tables.INTEGERS[name] for name in ("SMALLINT", "INTEGER", "BIGINT")}
NUMBERS = {
    name: tuple(cell for cell in cells if cell != "9007199254740993") for name, cells in sql_tables.NUMBERS.items()
}
DATES = ("'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'12345-07-10'", "'0001-01-01'", "'1969-12-31'")
TAME_DATES = ("'9999-12-31'", "'0001-01-01'", "'1969-12-31'")
TAME_NUMBERS = {
    "DOUBLE": ("'nan'", "-0.0", "123456"),
    "FLOAT": ("'nan'", "-0.0", "123456"),
    "DECIMAL(18,4)": sql_tables.NUMBERS["DECIMAL(18,4)"],
    "DECIMAL(38,10)": sql_tables.NUMBERS["DECIMAL(38,10)"],
}
TIMES = ("00:00:00", "23:59:59", "12:30:00", "02:30:00")  # seconds of the year 1 are rounded as doubles, or cut off
FAR = {
    "'9999-12-31 23:59:59.999999'": "'9999-12-31 23:59:59'",
    "'290309-12-22 (BC) 00:00:00'": "'0044-03-15 (BC) 01:02:03'",
}


@dataclass(frozen=True)
class Script:
    """A policy over a table `t`, and the statements that make the table, in DuckDB's words."""

    policy: Policy
    statements: tuple[str, ...]

    def world(self) -> World:
        """The table in DuckDB."""
        return world(self.policy, *self.statements)


def random_script(rng: Rng, *, rows: int, units: int, tame: bool = False) -> Script:
    """A random table that every engine can hold; `tame`, for those that know no infinite dates and print 1E308."""
    made: list[Script] = []

    def keep(policy: Policy, *statements: str) -> World:
        texts = [
            _nearer(text, tame=tame)
            for text in statements
            if text.startswith(("CREATE TABLE base", "INSERT INTO base"))
        ]
        made.append(Script(policy, (*texts, "CREATE VIEW t AS SELECT * FROM base")))
        return None  # type: ignore[return-value]  # nobody looks at it

    with _told(keep, TAME_NUMBERS if tame else NUMBERS, TAME_DATES if tame else DATES):
        sql_tables.random_table(rng, rows=rows, units=units)
    return made[0]


@contextmanager
def _told(keep: Callable[..., World], numbers: dict[str, tuple[str, ...]], dates: tuple[str, ...]) -> Iterator[None]:
    with (
        patch.object(sql_tables, "INTEGERS", INTEGERS),
        patch.object(sql_tables, "NUMBERS", numbers),
        patch.object(sql_tables, "MOST", Fraction(10**5) if numbers is TAME_NUMBERS else sql_tables.MOST),
        patch.object(sql_tables, "DATES", dates),
        patch.object(sql_tables, "TIMES", TIMES),
        patch.object(sql_tables, "world", keep),
    ):
        yield


def _nearer(text: str, *, tame: bool) -> str:
    for far, near in FAR.items():
        text = text.replace(far, near)
    if tame:
        text = text.replace("'infinity'", "'2999-01-01'").replace("'0044-03-15 (BC) 01:02:03'", "'0044-03-15 01:02:03'")
    return text


def questions(
    rng: Rng, script: Script, *, schema: object, count: int, bias: bool = False
) -> Iterator[tuple[str, Plan]]:
    """Questions that are not refused, and their plans."""
    by_row = script.policy.tables[0].unit_column is None
    while count:
        text = question(rng, by_row=by_row, bias=bias)
        try:
            yield text, planned(text, script.policy, schema=schema)
        except TacitError:  # refused, before anything is charged
            continue
        count -= 1


def planned(text: str, policy: Policy, *, schema: object) -> Plan:
    """The plan at the price that stands in the text."""
    bound = bind(parse(text, ()), policy, schema=schema)  # type: ignore[arg-type]  # a Schema
    assert isinstance(bound.query.price, AtEpsilon)
    return plan(bound, policy, price=Loss(bound.query.price.epsilon, bound.query.delta or 0))  # type: ignore[arg-type]


# ── one order for all engines ────────────────────────────────────────────────────────────────────────────────────────

_TEXT = {"duckdb": "VARCHAR", "postgres": "TEXT", "spark": "STRING"}


def shared_order(dialect: str) -> Callable[[Sequence[exp.Expression]], exp.Expression]:
    """A keyed hash that is the same in every engine: MD5 of the values as text, each in one spelling."""

    def order(parts: Sequence[exp.Expression]) -> exp.Expression:
        return exp.Anonymous(
            this="MD5",
            expressions=[
                exp.Anonymous(
                    this="CONCAT_WS",
                    expressions=[exp.Literal.string("/"), *(_spelled(part, dialect) for part in parts)],
                )
            ],
        )

    return order


_SPELLINGS = (
    ("[.]0+$", ""),
    ("^NaN$", "nan"),
    ("^(Infinity|infinity)$", "inf"),
    ("^-(Infinity|infinity)$", "-inf"),
    ("[(]BC[)]", "BC"),
)


def _spelled(part: exp.Expression, dialect: str) -> exp.Expression:
    kind = exp.DataType(this=exp.DType.USERDEFINED, kind=_TEXT[dialect])
    text: exp.Expression = exp.Cast(this=part.copy(), to=kind)
    for pattern, by in _SPELLINGS:
        text = exp.Anonymous(
            this="REGEXP_REPLACE", expressions=[text, exp.Literal.string(pattern), exp.Literal.string(by)]
        )
    return exp.Coalesce(this=text, expressions=[exp.Literal.string("\N{EMPTY SET}")])  # or two ties would be one


# ── what comes back, comparable ──────────────────────────────────────────────────────────────────────────────────────


def samples(statement: Statement) -> bool:
    """Whether some rows or groups of a unit are left out: then engines agree only under one order."""
    return "HASH(" in statement.canonical


def cells(engine: Engine, statement: Statement, *, shared: bool) -> Cells:
    """The rows of a statement's result, sorted."""
    order = shared_order(engine.dialect) if shared and samples(statement) else None
    return comparable(engine.execute(emit(statement.tree, engine.dialect, order=order)))


def comparable(exact: Exact) -> Cells:
    """Sorted rows, each value in one spelling."""
    columns = [[_plain(cell) for cell in exact.keys(name)] for name in exact.names]
    return sorted(zip(*columns, strict=True), key=repr)


def _plain(cell: object) -> object:
    return str(cell) if isinstance(cell, float) else cell  # NaN is not itself
