"""A policy held against the schema of its source: what `tacit check` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from tacit.policy.model import Policy
from tacit.policy.reading.fault import Fault, KeyPath, place
from tacit.policy.reading.names import fold, meant
from tacit.policy.reading.types import ColumnType, Schema, compares_exactly
from tacit.policy.resolve import as_typed, spelling
from tacit.policy.second_owner import SecondOwner, second_owners
from tacit.policy.tables.column import ColumnPolicy
from tacit.policy.tables.domain import TableDomain
from tacit.policy.tables.owners import Owner, namesakes
from tacit.policy.tables.table import TablePolicy, UnitForm
from tacit.policy.tables.two_owners import IDENTIFIERS

_LISTED = 8  # names in one note


class Severity(Enum):
    """How bad a finding is."""

    ERROR = "error"  # the policy does not fit the source: nothing can be asked
    WARNING = "warning"  # something will be refused, or is probably not meant
    NOTE = "note"  # worth knowing

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found; `where` is the line of the policy, if it came from a file."""

    level: Severity
    path: KeyPath
    reason: str
    hint: str = ""
    where: str = ""

    @property
    def message(self) -> str:
        """`tacit.toml:14: [tables.visits] unit: …`."""
        text = place(self.path, self.reason, rooted=True)
        return f"{self.where}: {text}" if self.where else text

    def __str__(self) -> str:
        return f"{self.level}: {self.message}"


def check_policy(policy: Policy, schema: Schema) -> list[Finding]:
    """Everything that does not fit, errors first. Reads names and types only, never a row."""
    findings = [*_whole(policy)]
    for table in policy.tables:
        findings += _table(policy, table, schema)
    findings += [two_owners(each) for each in second_owners(policy, schema) if each.alike]
    findings += [_namesake(*each) for each in namesakes(policy.tables)]
    placed = [_placed(finding, policy) for finding in findings]
    return sorted(placed, key=lambda finding: list(Severity).index(finding.level))


def two_owners(second: SecondOwner) -> Finding:
    """The warning that a row may belong to somebody else as well."""
    why = f"looks like a key of {second.unit_table}.{second.unit_column}: whom it names is not hidden in this table"
    hint = "see `Rows with two owners` in docs/how-to/write-a-policy.md"
    return Finding(Severity.WARNING, ("tables", second.table, "columns", second.column), why, hint)


def _namesake(table: TablePolicy, owner: Owner, other: Owner) -> Finding:
    why = f"is called as the unit of {other.table}: as long as nobody says that they are the same, joins are refused"
    hint = f"if they are the same people: {owner.linked_to(other)}"
    return Finding(Severity.WARNING, ("tables", table.name, "unit"), why, hint)


def _placed(finding: Finding, policy: Policy) -> Finding:
    where = policy.origin.place(finding.path) if policy.origin else ""
    return Finding(finding.level, finding.path, finding.reason, hint=finding.hint, where=where)


def _whole(policy: Policy) -> Iterator[Finding]:
    if not policy.analysts:
        yield Finding(Severity.NOTE, ("analysts",), "nobody is named who may ask", "add [analysts.NAME] with epsilon")


def _table(policy: Policy, table: TablePolicy, schema: Schema) -> Iterator[Finding]:
    path = ("tables", table.name)
    name = spelling(schema, table.name)
    if name is None:
        yield Finding(Severity.ERROR, path, "is not in the source", meant(table.name, schema))
        return
    columns = schema[name]
    yield from _twins(path, columns)
    if not table.public:
        yield from _unit(path, table, schema, columns=columns)
        yield from _unnamed(path, table, columns)
    for column in table.columns:
        yield from _column((*path, "columns", column.name), column, columns)
        yield from _domain((*path, "columns", column.name, "domain"), column, schema, columns=columns)
        if not table.public and not policy.budget.delta and not table.is_unit(column.name):
            yield from _no_delta((*path, "columns", column.name), column, columns)
    if table.units and not policy.budget.delta:
        why = "cannot be asked about: rows with two owners need a delta, and the budget has none"
        yield Finding(Severity.WARNING, (*path, "units"), why, "add delta = 1e-6 to [budget]")


def _twins(path: KeyPath, columns: Mapping[str, str]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for column in columns:
        twin = seen.setdefault(fold(column), column)
        if twin != column:
            why = f"has columns {twin!r} and {column!r}, which SQL cannot tell apart"
            yield Finding(Severity.ERROR, path, why, "put a view before the table that renames one of them")


def _unit(path: KeyPath, table: TablePolicy, schema: Schema, *, columns: Mapping[str, str]) -> Iterator[Finding]:
    if table.units:
        yield from two_owned(path, table, columns)
        return
    if table.unit_column is None:
        return
    name = spelling(columns, table.unit_column)
    if name is None:
        hint = meant(table.unit_column, columns)
        yield Finding(Severity.ERROR, (*path, "unit"), f"the source has no column {table.unit_column!r}", hint)
        return
    kind = ColumnType.from_sql(columns[name])
    if kind is ColumnType.NUMBER:
        why = f"the column is {columns[name]}: rounding may make two people one, or one person two"
        yield Finding(Severity.WARNING, (*path, "unit"), why, "prefer an integer or text identifier")
    if table.unit_form is not UnitForm.EXACT and kind is not ColumnType.TEXT:
        why = f"{str(table.unit_form)!r} does nothing: the unit is {columns[name]}, not text"
        yield Finding(Severity.WARNING, (*path, "unit_form"), why)
    yield from _link(path, table, columns[name], schema)
    refused = {"max_groups": "GROUP BY", "max_rows": "COUNT(*), SUM and AVG"}
    for cap, what in refused.items():
        if getattr(table, cap) is None:
            yield Finding(
                Severity.WARNING, (*path, cap), f"is missing: {what} will be refused", "declare it, or: tacit calibrate"
            )


def two_owned(path: KeyPath, table: TablePolicy, columns: Mapping[str, str]) -> Iterator[Finding]:
    """Both owners are there, in columns of one kind: the identifiers of people, which are compared with each other."""
    names = [spelling(columns, unit) for unit in table.units]
    for unit, name in zip(table.units, names, strict=True):
        if name is None:
            yield Finding(Severity.ERROR, (*path, "units"), f"the source has no column {unit!r}", meant(unit, columns))
    kinds = [ColumnType.from_sql(columns[name]) for name in names if name is not None]
    if len(kinds) == 2 and (kinds[0] is not kinds[1] or kinds[0] not in IDENTIFIERS):
        types = " and ".join(columns[name] for name in names if name is not None)
        why = f"cannot be held against each other: they are {types}, and must be both text or both whole numbers"
        yield Finding(Severity.ERROR, (*path, "units"), why, "put a view before the table that converts them")
    if table.unit_form is not UnitForm.EXACT and kinds and kinds[0] is not ColumnType.TEXT:
        why = f"{str(table.unit_form)!r} does nothing: the units are not text"
        yield Finding(Severity.WARNING, (*path, "unit_form"), why)


def _link(path: KeyPath, table: TablePolicy, own: str, schema: Schema) -> Iterator[Finding]:
    """The key that a unit links to is there, and can be compared with it without making two people one."""
    link = table.link
    target = None if link is None else spelling(schema, link.table)
    if link is None or target is None:
        return  # a missing table is found as such
    key = spelling(schema[target], link.key)
    if key is None:
        why = f"links to {link.table}.{link.key}, which the source has not"
        yield Finding(Severity.ERROR, (*path, "unit"), why, meant(link.key, schema[target]))
    elif not _fit(own, schema[target][key], text=True):
        types = f"{own} and {schema[target][key]}"
        why = (
            f"cannot be held against {link.table}.{key}: they differ in type, {types}, and two people could become one"
        )
        yield Finding(Severity.ERROR, (*path, "unit"), why, "put a view before one of the tables that converts it")


def _unnamed(path: KeyPath, table: TablePolicy, columns: Mapping[str, str]) -> Iterator[Finding]:
    named = {fold(column.name) for column in table.columns}
    rest = [column for column in columns if fold(column) not in named and not table.is_unit(column)]
    if rest:
        more = f" and {len(rest) - _LISTED} more" if len(rest) > _LISTED else ""
        why = f"analysts cannot use {', '.join(map(repr, rest[:_LISTED]))}{more}: not named here"
        yield Finding(Severity.NOTE, (*path, "columns"), why)


def _column(path: KeyPath, column: ColumnPolicy, columns: Mapping[str, str]) -> Iterator[Finding]:
    name = spelling(columns, column.name)
    if name is None:
        yield Finding(Severity.ERROR, path, "is not in the source", meant(column.name, columns))
        return
    try:
        typed = as_typed(column, columns[name])
    except Fault as fault:
        yield Finding(
            Severity.ERROR, (*path, *fault.path[1:]), f"{fault.reason}; the source has {columns[name]}", fault.hint
        )
        return
    if typed.hidden:
        return
    if typed.type is None:
        why = f"is {columns[name]} in the source: it can only be counted"
        yield Finding(Severity.WARNING, path, why, "write { hidden = true } if it is not to be used")
    elif typed.type.is_numeric and typed.bounds is None and typed.domain is None:
        yield Finding(Severity.NOTE, path, "has no bounds: SUM and AVG will be refused", "add lower, upper and step")


def _domain(path: KeyPath, column: ColumnPolicy, schema: Schema, *, columns: Mapping[str, str]) -> Iterator[Finding]:
    """A domain that is a public table's column: it is there, and of the column's own type."""
    domain = column.domain
    table = spelling(schema, domain.table) if isinstance(domain, TableDomain) else None
    if not isinstance(domain, TableDomain) or table is None:
        return  # a missing table is found as such
    public, own = spelling(schema[table], domain.column), spelling(columns, column.name)
    if public is None:
        why = f"names column {domain.column!r}, which table {domain.table!r} has not"
        yield Finding(Severity.ERROR, path, why, meant(domain.column, schema[table]))
    elif own is not None and not _fit(columns[own], schema[table][public]):
        why = f"is of another type: the column is {columns[own]}, {table}.{public} is {schema[table][public]}"
        yield Finding(Severity.ERROR, path, why, "make them one type, in the source or in a view before it")


def _fit(one: str, other: str, *, text: bool = False) -> bool:
    """Whether two columns can be compared cell by cell and nothing is converted, but to `text` what is called text."""
    kind = ColumnType.from_sql(one)
    same = kind is not None and kind is ColumnType.from_sql(other)
    return same and ((text and kind is ColumnType.TEXT) or compares_exactly(one, other))


def _no_delta(path: KeyPath, column: ColumnPolicy, columns: Mapping[str, str]) -> Iterator[Finding]:
    name = spelling(columns, column.name)
    text = name is not None and ColumnType.from_sql(columns[name]) is ColumnType.TEXT
    if text and column.domain is None and not column.hidden:
        why = "has no public domain, and the budget no delta: GROUP BY it will be refused"
        yield Finding(Severity.NOTE, path, why, "add a domain, or delta to [budget]")
