"""From what the curator typed to what is measured, and from what was measured to the lines of the policy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

from tacit.core import Loss, Number, decimal_text, probability, rational
from tacit.curator.calibrate import (
    Calibration,
    CalibrationPlan,
    Edge,
    Measured,
    Quantity,
    Target,
    calibrate,
    plan_calibration,
)
from tacit.errors import InvalidParameter, PolicyError
from tacit.faces.opening import source_and_books
from tacit.faces.owner.grids import bound_edges, cap_edges, rounded_outward, typed_edges
from tacit.policy import ColumnPolicy, ColumnType, Policy, Schema, TablePolicy, fold, load_policy, resolve_types
from tacit.policy.amend import Change, amend_policy
from tacit.policy.tables.cut import CutShares
from tacit.policy.tables.two_owners import two_owners_refused

COVERAGE = Fraction(95, 100)
_FINEST_COVERAGE = 1_000
_CAPS = (Quantity.MAX_ROWS, Quantity.MAX_GROUPS)
_OF_COLUMNS = (Quantity.LOWER, Quantity.UPPER, Quantity.DOMAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRequest:
    """What the curator asks for: names such as `visits.amount` or `visits.max_rows`; none means all that is missing."""

    names: Sequence[str]
    epsilon: Number
    delta: Number | None
    coverage: Number
    grids: Mapping[str, str]
    fresh: bool = False

    @property
    def price(self) -> Loss:
        """What all measurements together cost; refused unless it is above zero."""
        epsilon = rational(self.epsilon, "epsilon")
        if epsilon <= 0:
            raise InvalidParameter("epsilon must be greater than zero", hint="--epsilon 0.5")
        return Loss(epsilon, 0 if self.delta is None else probability(self.delta, "delta"))

    @property
    def share(self) -> Fraction:
        """The share of units that caps and bounds leave untouched."""
        share = probability(self.coverage, "the coverage")
        if share < Fraction(1, 2) or share.denominator > _FINEST_COVERAGE:
            raise InvalidParameter(
                f"the coverage must be at least 0.5, with at most three digits: got {decimal_text(share)}"
            )
        return share


def explain_calibration(policy: Policy, wish: CalibrationRequest) -> CalibrationPlan:
    """What would be measured and paid; only names and types are read."""
    with source_and_books(policy) as (engine, _):
        return _plan(resolve_types(policy, engine.schema()), wish, schema=engine.schema(), dialect=engine.dialect)


def run_calibration(policy: Policy, wish: CalibrationRequest) -> tuple[Calibration, list[Change]]:
    """Charge the total and measure; and the changes to the policy that follow."""
    with source_and_books(policy) as (engine, ledger):
        typed = resolve_types(policy, engine.schema())
        planned = _plan(typed, wish, schema=engine.schema(), dialect=engine.dialect)
        result = calibrate(planned, typed, engine=engine, ledger=ledger(), fresh=wish.fresh)
        return result, changes(result, typed)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was measured, and the text of the policy, which has a name, before and after it."""

    name: str
    result: Calibration
    before: str
    text: str

    @property
    def values(self) -> dict[str, object]:
        """What was measured, by the names it was asked for by; the bounds of a column are a pair."""
        values: dict[str, object] = {}
        for item in self.result.measured:
            target, value = item.target, item.value
            name = f"{target.table}.{target.columns[0] if target.quantity in _OF_COLUMNS else target.quantity.value}"
            values[name] = (values[name], value) if target.quantity is Quantity.UPPER else value
        return values

    @property
    def diff(self) -> str:
        """The lines of the policy that change."""
        lines = (self.before.splitlines(), self.text.splitlines())
        return "\n".join(difflib.unified_diff(*lines, self.name, f"{self.name}, calibrated", lineterm="", n=1))


def calibrate_file(path: Path, wish: CalibrationRequest) -> Calibrated:
    """Measure what is wished for, and amend the text of the policy; nothing is written."""
    declared = load_policy(path)
    before = path.read_text(encoding="utf-8-sig")
    result, changed = run_calibration(declared, wish)
    return Calibrated(path.name, result, before, amend_policy(before, changed, name=path.name))


def _plan(typed: Policy, wish: CalibrationRequest, *, schema: Schema, dialect: str) -> CalibrationPlan:
    targets = list(_targets(typed, wish))
    return plan_calibration(typed, targets, schema=schema, price=wish.price, coverage=wish.share, dialect=dialect)


# ── what to measure ──────────────────────────────────────────────────────────────────────────────────────────────────


def _targets(policy: Policy, wish: CalibrationRequest) -> Iterable[Target]:
    grids = {fold(name): typed_edges(text) for name, text in wish.grids.items()}
    if wish.names:
        for name in wish.names:
            yield from _named(name, policy, grids)
        return
    for table in policy.tables:
        if not table.public and not table.units:  # of two owners, everything is declared or refused
            yield from _missing(table, grids, domains=wish.delta is not None)


def _missing(table: TablePolicy, grids: Mapping[str, tuple[Edge, ...]], *, domains: bool) -> Iterable[Target]:
    """Everything without which some question about the table is refused."""
    for cap in _CAPS:
        if table.unit_column is not None and getattr(table, cap.value) is None and _can_have(table, cap):
            yield _cap(table, cap)
    for column in table.visible:
        if table.is_unit(column.name) or column.type is None or column.domain is not None:
            continue
        if column.type.has_order and column.bounds is None:
            yield from _bounds(table, column, grids)
        elif column.type is ColumnType.TEXT and domains:
            yield Target(table.name, Quantity.DOMAIN, (column.name,))


def _named(name: str, policy: Policy, grids: Mapping[str, tuple[Edge, ...]]) -> Iterable[Target]:
    table_name, dot, rest = name.partition(".")
    if not dot:
        raise InvalidParameter(f"{name[:60]!r} names no quantity", hint="write visits.max_rows or visits.amount")
    table = policy.table(table_name)
    if table.units:
        raise two_owners_refused(table.name, table.units, what="calibrating")
    if rest == Quantity.CUT.value and table.unit_column is None and not table.public:
        raise PolicyError(f'{table.name} has unit = "row": nothing is cut from a row')
    if table.public:
        raise PolicyError(f"{table.name} is public: there is nobody to hide, so there is nothing to measure privately")
    for cap in _CAPS:
        if rest == cap.value:
            if table.unit_column is None:
                raise PolicyError(f'{table.name} has unit = "row": its {cap} is 1')
            if not _can_have(table, cap):
                raise PolicyError(f"{table.name} has no column that questions could group by")
            return [_cap(table, cap)]
    if rest == Quantity.CUT.value:
        return [Target(table.name, Quantity.CUT, _keys(table))]
    return _of_column(table, table.column(rest), grids)


def _of_column(table: TablePolicy, column: ColumnPolicy, grids: Mapping[str, tuple[Edge, ...]]) -> Iterable[Target]:
    where = f"{table.name}.{column.name}"
    if table.is_unit(column.name):
        raise PolicyError(f"{where} is the privacy unit: it has neither bounds nor a domain")
    if column.type is ColumnType.TEXT:
        if column.domain is not None:
            raise PolicyError(f"{where} has a public domain already", hint="take it out of the policy to measure it")
        return [Target(table.name, Quantity.DOMAIN, (column.name,))]
    if column.type is None or not column.type.has_order:
        raise PolicyError(f"{where} has a type without bounds")
    return _bounds(table, column, grids)


def _bounds(table: TablePolicy, column: ColumnPolicy, grids: Mapping[str, tuple[Edge, ...]]) -> Iterable[Target]:
    if column.type is None:
        raise PolicyError(f"{table.name}.{column.name} has no type that can be bounded")
    given = grids.get(fold(f"{table.name}.{column.name}"))
    if given is not None and not column.type.is_numeric:
        raise InvalidParameter(f"a grid is for numbers: {table.name}.{column.name} is a {column.type}")
    for quantity in (Quantity.LOWER, Quantity.UPPER):
        edges = given or bound_edges(column.type, upper=quantity is Quantity.UPPER)
        yield Target(table.name, quantity, (column.name,), edges)


def _cap(table: TablePolicy, cap: Quantity) -> Target:
    return Target(table.name, cap, _keys(table) if cap is Quantity.MAX_GROUPS else (), cap_edges())


def _keys(table: TablePolicy) -> tuple[str, ...]:
    """The columns that questions may group by: those with a domain, and those that are no measure."""
    return tuple(
        column.name
        for column in table.visible
        if not table.is_unit(column.name)
        and column.type is not None
        and (column.domain is not None or not column.type.has_order)
    )


def _can_have(table: TablePolicy, cap: Quantity) -> bool:
    return cap is not Quantity.MAX_GROUPS or bool(_keys(table))


# ── what to write ────────────────────────────────────────────────────────────────────────────────────────────────────


def changes(result: Calibration, policy: Policy) -> list[Change]:
    """The lines of the policy that the results make; `policy` knows the types of its columns."""
    list_of_changes: list[Change] = []
    for item in result.measured:
        target = item.target
        if target.quantity in _CAPS:
            list_of_changes.append(Change(target.table, {target.quantity.value: item.value}, note=_note([item])))
        elif target.quantity is Quantity.CUT and isinstance(item.value, tuple):
            list_of_changes.append(Change(target.table, {"cut": _cut(item).plain()}, note=_note([item])))
        elif target.quantity is Quantity.DOMAIN and isinstance(item.value, tuple) and item.value:
            list_of_changes.append(
                Change(target.table, {"domain": list(item.value)}, target.columns[0], note=_note([item]))
            )
        elif target.quantity is Quantity.UPPER:
            lower = next(other for other in result.measured if _is_lower_of(other, target))
            column = policy.table(target.table).column(target.columns[0])
            list_of_changes.append(_bounds_change(column, lower, item))
    return list_of_changes


def _cut(item: Measured) -> CutShares:
    """The shares that bounds cut, dated today: they are of the bounds that the policy has now."""
    rows, units = item.value if isinstance(item.value, tuple) else (0, 0)
    return CutShares(Fraction(rows), Fraction(units), datetime.now(UTC).date())


def _is_lower_of(item: Measured, upper: Target) -> bool:
    target = item.target
    return target.quantity is Quantity.LOWER and (target.table, target.columns) == (upper.table, upper.columns)


def _bounds_change(column: ColumnPolicy, low: Measured, high: Measured) -> Change:
    note = _note([low, high])
    lower, upper = low.value, high.value
    if isinstance(lower, date) and isinstance(upper, date):
        if lower >= upper:  # noise may cross them: the year of the lower one, then
            upper = upper.replace(year=lower.year)
        return Change(low.target.table, {"lower": lower, "upper": upper}, column.name, note=note)
    first, last = (Fraction(value) if isinstance(value, int | Fraction) else Fraction(0) for value in (lower, upper))
    if first >= last:
        last = next((Fraction(e) for e in high.target.edges if isinstance(e, int | Fraction) and e > first), first + 1)
    step = column.step if column.step is not None else (Fraction(1) if column.type is ColumnType.INTEGER else None)
    first, last, step = rounded_outward(first, last, step=step)
    return Change(low.target.table, {"lower": first, "upper": last, "step": step}, column.name, note=note)


def _note(items: Sequence[Measured]) -> str:
    return f"calibrated at {sum((item.loss for item in items), Loss(0))}"
