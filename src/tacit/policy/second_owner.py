"""Columns that look like another unit's key: a row with two owners hides only one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tacit.policy.model import Policy
from tacit.policy.reading.names import fold
from tacit.policy.reading.types import ColumnType, Schema
from tacit.policy.resolve import spelling
from tacit.policy.tables.table import TablePolicy

_STEM = 4  # letters that two names begin with alike
_SUFFIX = re.compile(r"(?:[_ -]?(?:id|key|no|nr|code|uuid|guid))$")
_WORD = re.compile(r"[^\W_]+")
# Words for the two ends of one row: whose unit is one of them has the other beside it.
_ENDS = tuple(
    frozenset(words.split())
    for words in (
        "rider driver passenger courier customer",
        "sender receiver recipient from to addressee",
        "follower followed followee following",
        "buyer seller vendor bidder",
        "payer payee debtor creditor lender borrower donor",
        "caller callee called",
        "host guest landlord tenant",
        "src dst source target dest destination",
        "patient doctor physician nurse therapist",
        "teacher student pupil tutor mentor mentee",
        "employer employee manager",
        "mother father child parent spouse husband wife partner",
        "author reviewer editor",
        "inviter invitee referrer referee",
    )
)


@dataclass(frozen=True, slots=True)
class SecondOwner:
    """A column of a private table that may name a unit, and the unit's own column.

    `alike`: their names say so. If they do not, `likely` says whether its values are worth a look: text, or a number
    that is called a key and is not that of the table itself. Other numbers are like identifiers by chance.
    """

    table: str
    column: str
    unit_table: str
    unit_column: str
    alike: bool
    likely: bool


def second_owners(policy: Policy, schema: Schema) -> Iterator[SecondOwner]:
    """Every column that could hold the identifier of a unit, those whose names say so first in each table."""
    units = [(table, column) for table in policy.tables if not table.public for column in table.identifying]
    for table in policy.tables:
        name = spelling(schema, table.name)
        if table.public or name is None:
            continue
        findings = [each for column in schema[name] for each in _of_column(policy, table, column, units, schema)]
        yield from sorted(findings, key=lambda each: not each.alike)


def _of_column(
    policy: Policy, table: TablePolicy, column: str, units: list[tuple[TablePolicy, str]], schema: Schema
) -> Iterator[SecondOwner]:
    """At most one unit whose key it may be: a namesake, else the table's own unit, else any."""
    if table.is_unit(column) or _is_known(policy, table, column):
        return
    kind = _kind(schema, table, column)
    fitting = [(other, unit) for other, unit in units if kind is not None and _kind(schema, other, unit) is kind]
    named = next(((other, unit) for other, unit in fitting if _names(column, other, unit, own=other is table)), None)
    chosen = named or next((each for each in fitting if each[0] is table), next(iter(fitting), None))
    if chosen is not None:
        likely = kind is ColumnType.TEXT or _is_a_key(column, table)
        yield SecondOwner(table.name, column, chosen[0].name, chosen[1], named is not None, likely)


def _is_known(policy: Policy, table: TablePolicy, column: str) -> bool:
    """Whether the policy says what it is: a measure, a key with public values, or what other tables link to."""
    declared = next((each for each in table.columns if fold(each.name) == fold(column)), None)
    if declared is not None and (declared.bounds is not None or declared.domain is not None):
        return True
    links = [other.link for other in policy.tables if other.link is not None]
    return any(fold(link.table) == fold(table.name) and fold(link.key) == fold(column) for link in links)


def _kind(schema: Schema, table: TablePolicy, column: str) -> ColumnType | None:
    """The type of an identifier: numbers with decimals and moments are none."""
    source: Mapping[str, str] = schema.get(spelling(schema, table.name) or "", {})
    kind = ColumnType.from_sql(source.get(spelling(source, column) or "", ""))
    return kind if kind in {ColumnType.TEXT, ColumnType.INTEGER} else None


def _is_a_key(column: str, table: TablePolicy) -> bool:
    """Whether it is called a key, and not that of the table's own rows."""
    name, own = fold(column), fold(table.name)
    bare = _SUFFIX.sub("", name)
    return bare != name and bool(bare) and own not in {bare, f"{bare}s", f"{bare}es"}


def _names(column: str, other: TablePolicy, unit: str, *, own: bool) -> bool:
    """Whether a column goes by a unit's name: `person_id` of people, `followed` by `follower`, `driver` by `rider`."""
    name, unit = fold(column), fold(unit)
    bare, stem = _SUFFIX.sub("", name), _SUFFIX.sub("", unit)
    if own:
        return (len(stem) >= _STEM and bare[:_STEM] == stem[:_STEM]) or _other_end(name, unit)
    if name == unit and stem:
        return True
    return bool(_SUFFIX.search(name)) and len(bare) >= 3 and fold(other.name) in {bare, f"{bare}s", f"{bare}es"}


def _other_end(name: str, unit: str) -> bool:
    """Whether two names say the two ends of one row, as `driver` and `rider`, `to_account` and `from_account` do."""
    mine, theirs = set(_WORD.findall(unit)), set(_WORD.findall(name))
    return any(mine & ends and (theirs & ends) - mine for ends in _ENDS)
