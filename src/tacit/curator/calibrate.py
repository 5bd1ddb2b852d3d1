"""Calibration: caps, bounds and domains measured privately, for one price that is on record before a row is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import Enum
from fractions import Fraction

import numpy as np

from tacit.core import Adjacency, ComposedEvent, Event, Loss, decimal_text
from tacit.core.digests import digest
from tacit.curator.jobs.pricing import caps, concentrated
from tacit.curator.measuring.cuts import CutNoise, cuts_sql, shares
from tacit.curator.measuring.measure import measure
from tacit.curator.payment import Payment, pay
from tacit.curator.reusing.reuse import data_version
from tacit.engines import Engine, Exact, one_state
from tacit.errors import EngineError, PolicyError
from tacit.ledger import Answer, Charge, Inquiry, Ledger
from tacit.mechanisms import Exponential
from tacit.noise import SYSTEM, IntArray, Source
from tacit.policy import AnalystPolicy, ColumnType, Policy, Schema, TablePolicy
from tacit.sql import AtEpsilon, Plan, bind, parse, plan
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.parsing.query import TypedBounds as QueryCaps
from tacit.sql.workloads.owned import owned_rows, owned_table, raw_types

ACCOUNT = "curator"  # who is charged: nobody's own cap, the dataset's total
Edge = int | Fraction | date | datetime
Outcome = int | list[str] | list[int]  # the chosen cell, the keys that qualified, or the noisy sums behind a cut


class Quantity(Enum):
    """What can be measured."""

    MAX_ROWS = "max_rows"
    MAX_GROUPS = "max_groups"
    LOWER = "lower"
    UPPER = "upper"
    DOMAIN = "domain"
    CUT = "cut"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to measure, and the public cells it is measured on: their ends, in order. A domain has none."""

    table: str
    quantity: Quantity
    columns: tuple[str, ...] = ()  # the column; for MAX_GROUPS, the columns that questions may group by
    edges: tuple[Edge, ...] = ()

    def __str__(self) -> str:
        where = f"{self.table}.{self.columns[0]}" if self.is_column else self.table
        return f"{where} {self.quantity}"

    @property
    def is_column(self) -> bool:
        """Whether it belongs to a column rather than to the table."""
        return self.quantity in {Quantity.LOWER, Quantity.UPPER, Quantity.DOMAIN}


@dataclass(frozen=True, slots=True)
class CalibrationStep:
    """One measurement: its SQL, its price, and the mechanism (or, for a domain, the plan of a whole question)."""

    target: Target
    loss: Loss
    sql: tuple[str, ...]
    noise: Exponential | None = None
    share: Fraction = Fraction(0)
    keys: Plan | None = None
    cut: CutNoise | None = None

    def event(self, steps: int) -> Event:
        """What an accountant needs to know of it, between neighbours this many additions or removals apart."""
        if self.keys is not None:
            return self.keys.event
        if self.cut is not None:
            return self.cut.event(steps)
        if self.noise is None:
            raise TypeError("a measurement has no mechanism")
        return self.noise.event(steps * _weight(self.share))


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """What will be measured and paid. Made without touching the data."""

    steps: tuple[CalibrationStep, ...]
    policy_version: str

    @property
    def loss(self) -> Loss:
        """The price of all of it: exactly what was asked for."""
        return sum((step.loss for step in self.steps), Loss(0))

    @property
    def hash(self) -> str:
        """The same for plans that measure and cost the same."""
        parts = [f"{s.target}|{s.loss}|{s.cut or s.noise}|{s.share}|{';'.join(s.sql)}" for s in self.steps]
        return digest("calibration", self.policy_version, *parts)


@dataclass(frozen=True, slots=True)
class Measured:
    """One result, and what it cost. `at_end`: it lies at an end of its grid, which may be too narrow."""

    target: Target
    value: Edge | tuple[str, ...] | tuple[Fraction, Fraction]  # of a cut, the shares of rows and of units
    loss: Loss
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Calibration:
    """Every result, the price, and the entry of the ledger that says so."""

    measured: tuple[Measured, ...]
    loss: Loss
    entry: str
    reused: bool


def plan_calibration(
    policy: Policy,
    targets: Sequence[Target],
    *,
    schema: Schema,
    price: Loss,
    coverage: Fraction,
    dialect: str,
) -> CalibrationPlan:
    """Share the price equally: epsilon among all targets, delta among domains. Reads no row.

    `coverage` is the share of units that a cap or bound is to leave untouched.
    """
    domains = sum(target.quantity is Quantity.DOMAIN for target in targets)
    if not targets:
        raise PolicyError("there is nothing to measure", hint="name it, as in: tacit calibrate visits.amount")
    if bool(domains) != bool(price.delta):
        why = "domains need a delta" if domains else "a delta is given, and no domain is asked for"
        raise PolicyError(f"{why}: only keys that are chosen by their number of units cost one", hint="see --delta")
    steps = []
    for target in targets:
        loss = Loss(price.epsilon / len(targets), price.delta / domains if target.quantity is Quantity.DOMAIN else 0)
        if target.quantity is Quantity.DOMAIN:
            steps.append(_domain_step(target, policy, schema=schema, loss=loss, dialect=dialect))
        elif target.quantity is Quantity.CUT:
            steps.append(_cut_step(target, policy, schema=schema, loss=loss, dialect=dialect))
        else:
            share = 1 - coverage if target.quantity is Quantity.LOWER else coverage
            steps.append(_cell_step(target, policy, schema=schema, loss=loss, share=share, dialect=dialect))
    return CalibrationPlan(tuple(steps), policy.version)


def calibrate(
    planned: CalibrationPlan, policy: Policy, *, engine: Engine, ledger: Ledger, fresh: bool, source: Source = SYSTEM
) -> Calibration:
    """Charge, then read, then choose. The same plan asked again of the same data is free, unless `fresh`.

    Raises EngineError, at no charge, where the tables are no longer those that were opened.
    """
    version = digest(data_version(policy, engine))[:16]
    payment: Payment[list[Outcome]] = Payment(
        charge=_charge(planned, policy, request_id=None if fresh else f"calibrate {version} {planned.hash}"),
        caps=caps(policy, AnalystPolicy(ACCOUNT, policy.budget.epsilon)),
        what="the calibration",
        read=lambda: _read(planned, engine, source),
        kept=lambda outcomes: [Answer(json.dumps(outcomes).encode("ascii"))],
        restored=lambda bodies: json.loads(bodies[0]),
    )
    paid = pay(ledger, payment)
    return _calibration(planned, paid.value, entry=paid.entry, reused=paid.replayed)


def _charge(planned: CalibrationPlan, policy: Policy, *, request_id: str | None) -> Charge:
    event = ComposedEvent(tuple((step.event(policy.adjacency.steps), 1) for step in planned.steps))
    names = ", ".join(map(str, (step.target for step in planned.steps)))
    return Charge(
        dataset=policy.dataset.name,
        analyst=ACCOUNT,
        groups=(),
        loss=planned.loss,
        zcdp=concentrated(event),
        plan_hash=planned.hash,
        policy_version=policy.version,
        kind="calibrate",
        request_id=request_id,
        note=names if len(names) <= 200 else f"{names[:196]} …",
        asked=_inquiry(planned),
    )


def _inquiry(planned: CalibrationPlan) -> Inquiry:
    """What is measured, on which public cells, and for how much of the price."""
    said = []
    for step in planned.steps:
        cells = f" ON {len(step.target.edges) + 1} cells" if step.target.edges else ""
        share = f" COVERAGE {decimal_text(step.share)}" if step.share else ""
        said.append(f"CALIBRATE {decimal_text(step.loss.epsilon)} {step.target}{share}{cells}")
    tables = tuple(sorted({step.target.table for step in planned.steps}))
    return Inquiry(questions=tuple(said), parameters=("{}",) * len(said), tables=tables)


def _read(planned: CalibrationPlan, engine: Engine, source: Source) -> list[Outcome]:
    with one_state(engine) as state:
        return [_outcome(step, [state.execute(sql) for sql in step.sql], source) for step in planned.steps]


def _outcome(step: CalibrationStep, exact: list[Exact], source: Source) -> Outcome:
    if step.keys is not None:
        noisy = measure(step.keys, exact, public={}, source=source)
        return [str(key) for (key,) in noisy.keys if key is not None]
    if step.cut is not None:
        return step.cut.release(exact[0], source)
    if step.noise is None:
        raise EngineError("a measurement has no mechanism")
    counts = np.zeros(len(step.target.edges) + 1, dtype=np.int64)
    for cell, count in zip(exact[0].integers("x").tolist(), exact[0].integers("c").tolist(), strict=True):
        counts[cell] += count
    return step.noise.release(_scores(counts, step.share), source)


def _scores(counts: IntArray, share: Fraction) -> IntArray:
    """How well each cell holds the wanted rank, 0 for the best; one unit moves a score by at most `_weight(share)`.

    With share a/b, a cell is wrong by as much as (b − a) · below exceeds a · (not below), and as a · above exceeds
    (b − a) · (not above). One more unit changes each of the two by −a, or by b − a.
    """
    a, b = share.numerator, share.denominator
    reached = np.cumsum(counts)
    below, total = reached - counts, int(reached[-1])
    high = (b - a) * below - a * (total - below)
    low = a * (total - reached) - (b - a) * reached
    scores: IntArray = -np.maximum(np.maximum(high, low), 0)
    return scores


def _weight(share: Fraction) -> int:
    return max(share.numerator, share.denominator - share.numerator)


def _calibration(planned: CalibrationPlan, outcomes: list[Outcome], *, entry: str, reused: bool) -> Calibration:
    measured = tuple(_measured(step, outcome) for step, outcome in zip(planned.steps, outcomes, strict=True))
    return Calibration(measured, Loss(0) if reused else planned.loss, entry, reused)


def _measured(step: CalibrationStep, outcome: Outcome) -> Measured:
    """From the cell to the value: the end of the cell that leaves the wanted share untouched."""
    if isinstance(outcome, list):
        if step.cut is not None:
            return Measured(step.target, shares([int(number) for number in outcome]), step.loss)
        return Measured(step.target, tuple(sorted(map(str, outcome))), step.loss)
    edges = step.target.edges
    index = outcome - 1 if step.target.quantity is Quantity.LOWER else outcome
    inside = min(max(index, 0), len(edges) - 1)
    return Measured(step.target, edges[inside], step.loss, at_end=index != inside)


# ── one unit, one cell ───────────────────────────────────────────────────────────────────────────────────────────────


def _cell_step(
    target: Target, policy: Policy, *, schema: Schema, loss: Loss, share: Fraction, dialect: str
) -> CalibrationStep:
    """Each unit has one value (how many rows, how many groups, its least or largest cell), so it is in one cell."""
    inner = Loss(loss.epsilon / policy.adjacency.steps)  # replacing a unit is removing one and adding one
    noise = Exponential.costing(inner, _weight(share), adjacency=Adjacency.ADD_REMOVE)
    table = owned_table(policy, target.table)
    types = raw_types(schema, table)
    text = _cells_sql(target, _values_sql(target, table, types=types, owned=_owned_sql(target, table, policy, schema)))
    return CalibrationStep(target, loss, (emit(qualified(parse(text).question), dialect),), noise=noise, share=share)


def _values_sql(target: Target, table: TablePolicy, *, types: dict[str, str], owned: str) -> str:
    """One row for each unit, with its value `v`."""
    if target.quantity is Quantity.MAX_ROWS:
        value = "COUNT(*)"
    elif target.quantity is Quantity.MAX_GROUPS:
        counts = [f"COUNT(DISTINCT v{index})" for index in range(len(target.columns))]
        value = f"GREATEST({', '.join(['1', *counts])})"
    else:
        kind = ColumnType.from_sql(types[target.columns[0].casefold()])
        cell = "v0" if kind is not None and kind.is_temporal else "CAST(v0 AS DOUBLE)"
        if table.unit_column is None:
            return f"SELECT {cell} AS v FROM ({owned}) AS owned"
        value = f"{'MIN' if target.quantity is Quantity.LOWER else 'MAX'}({cell})"
    return f"SELECT u, {value} AS v FROM ({owned}) AS owned GROUP BY u"


def _owned_sql(target: Target, table: TablePolicy, policy: Policy, schema: Schema) -> str:
    """The rows with their owner, and the target's columns as v0, v1, …"""
    return owned_rows(table, target.columns, policy=policy, schema=schema).sql(dialect="duckdb")


def _cells_sql(target: Target, values: str) -> str:
    """How many units are in each cell. A cell holds its end: the upper one, but for the least value the lower."""
    sign = "<" if target.quantity is Quantity.LOWER else "<="
    whens = " ".join(f"WHEN v {sign} {_literal(edge)} THEN {index}" for index, edge in enumerate(target.edges))
    cell = f"CASE {whens} ELSE {len(target.edges)} END"
    placed = f"SELECT CAST({cell} AS BIGINT) AS x FROM ({values}) AS each WHERE NOT v IS NULL"
    return f"SELECT x, COUNT(*) AS c FROM ({placed}) AS placed GROUP BY x"


def _literal(edge: Edge) -> str:
    if isinstance(edge, datetime):
        return f"TIMESTAMP '{edge.isoformat(sep=' ')}'"
    if isinstance(edge, date):
        return f"DATE '{edge.isoformat()}'"
    text = decimal_text(Fraction(edge))
    return repr(float(edge)) if "/" in text or "e" in text else text


def _cut_step(target: Target, policy: Policy, *, schema: Schema, loss: Loss, dialect: str) -> CalibrationStep:
    """What the declared bounds cut: each unit is one row of what is summed, its numbers held to what they may be."""
    table = owned_table(policy, target.table)
    text = cuts_sql(table, _owned_sql(target, table, policy, schema), columns=len(target.columns))
    noise = CutNoise.costing(Loss(loss.epsilon / policy.adjacency.steps), table.max_rows or 1)
    return CalibrationStep(target, loss, (emit(qualified(parse(text).question), dialect),), cut=noise)


# ── domains ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _domain_step(target: Target, policy: Policy, *, schema: Schema, loss: Loss, dialect: str) -> CalibrationStep:
    """The question an analyst would ask for the keys; each unit counts once, for one key, chosen by keyed hash."""
    table = policy.table(target.table)
    column = f'"{target.columns[0]}"'
    query = parse(f'SELECT {column}, COUNT(*) FROM "{table.name}" GROUP BY {column}')  # one row of a unit: units
    priced = replace(query, price=AtEpsilon(loss.epsilon), delta=loss.delta, caps=QueryCaps(1, 1))
    planned = plan(bind(priced, policy, schema=schema), policy, price=loss)
    return CalibrationStep(target, loss, tuple((s.settled or s).sql(dialect) for s in planned.statements), keys=planned)
