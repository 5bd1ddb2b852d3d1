"""UNION ALL of subqueries over the same unit: what a unit brings to each adds up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, Domain, ListDomain, fold
from tacit.sql.expressions.cells import comparable, compared_as
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric.doubles import double
from tacit.sql.expressions.numeric.grid import gcd
from tacit.sql.relations.joining.parts import OWNER, NamedTable, key_column, with_columns


def union_all(left: NamedTable, right: NamedTable) -> NamedTable:
    """The rows of both, under the names of the first. Bounds and domains are those that hold for either."""
    if left.derived is None or right.derived is None or left.owner != right.owner:
        sides = [f"belongs to {part.owner}" if part.is_private else "is public" for part in (left, right)]
        raise QueryRefused(
            f"UNION ALL would mix units: one side {sides[0]}, the other {sides[1]}",
            hint="the policy must link both tables to the same unit; a public table can be joined",
        )
    if len(left.listed) != len(right.listed):
        raise QueryRefused(
            f"the sides of UNION ALL have different numbers of columns: {len(left.listed)} and {len(right.listed)}",
            hint="list the same columns on both sides",
        )
    columns: list[ColumnPolicy] = []
    keys = {}
    sources: list[_Both] = [_Both(OWNER, OWNER)] if left.is_private else []
    types: dict[str, str] = {}
    for one, other in zip(left.listed, right.listed, strict=True):
        if one in left.keys and left.keys[one] == right.keys.get(other):
            keys[one] = left.keys[one]
            sources.append(_Both(key_column(one), key_column(other)))
        elif one in left.keys or other in right.keys:
            raise QueryRefused(
                f"UNION ALL puts {other} under {one}: a key stands under the same key only",
                hint="list the keys of both sides in the same order",
            )
        else:
            a, b = _column(left, one), _column(right, other)
            kinds = left.types[a.name].lower(), right.types[b.name].lower()
            as_doubles = _as_doubles(a, b, kinds)
            alike = as_doubles or kinds[0] == kinds[1]
            columns.append(_either(a, b, as_doubles=as_doubles))
            types[a.name] = "double" if as_doubles else compared_as(kinds[0]) if not alike else left.types[a.name]
            sources.append(_Both(a.name, b.name, None if alike and not as_doubles else kinds, as_doubles=as_doubles))
    table = replace(
        with_columns(left.table, tuple(columns)),
        max_rows=_sum(left.table.max_rows, right.table.max_rows),
        max_groups=_sum(left.table.max_groups, right.table.max_groups),
    )
    union = replace(
        left, table=table, types=types, columns=tuple(columns), keys=keys, growth=left.growth + right.growth
    )
    return replace(union, derived=_rows(left, right, sources), unique=None)


@dataclass(frozen=True, slots=True)
class _Both:
    """One column of the union: its name, what the second side calls it, and both types where they must be made one."""

    name: str
    other: str
    kinds: tuple[str, str] | None = None
    as_doubles: bool = False

    def sql(self, side: int) -> exp.Expression:
        column = _name((self.name, self.other)[side])
        value = column if self.kinds is None else comparable(column, self.kinds[side])
        value = double(value) if self.as_doubles else value
        return exp.Alias(this=value, alias=exp.to_identifier(self.name, quoted=True))


def _rows(left: NamedTable, right: NamedTable, sources: list[_Both]) -> exp.Select:
    assert left.derived is not None and right.derived is not None  # noqa: S101, PT018 - asked before
    sides = [
        exp.select(*(both.sql(index) for both in sources)).from_(_sub(rows, "ab"[index]))
        for index, rows in enumerate((left.derived, right.derived))
    ]
    union = exp.Subquery(this=exp.union(*sides, distinct=False), alias=exp.TableAlias(this=exp.to_identifier("united")))
    return exp.select(*(_name(both.name) for both in sources)).from_(union)


def _as_doubles(a: ColumnPolicy, b: ColumnPolicy, kinds: tuple[str, str]) -> bool:
    """Whether two columns become one of doubles: numbers of different types, or on different grids."""
    numeric = all(column.type is not None and column.type.is_numeric for column in (a, b))
    alike = a.type is b.type and compared_as(kinds[0]) == compared_as(kinds[1])
    if not numeric and not alike:
        raise QueryRefused(
            f"UNION ALL puts {b.name} under {a.name}: one is {b.type or kinds[1]}, the other {a.type or kinds[0]}",
            hint="put columns of one type under each other",
        )
    return numeric and kinds[0] != kinds[1]


def _either(a: ColumnPolicy, b: ColumnPolicy, *, as_doubles: bool) -> ColumnPolicy:
    """What is known of a value that comes from either column."""
    plain = ColumnPolicy(a.name, type=ColumnType.NUMBER if as_doubles else a.type)
    if a.bounds == b.bounds and not as_doubles:
        return replace(plain, lower=a.lower, upper=a.upper, step=a.step, domain=_domain(a, b))
    if a.bounds is not None and b.bounds is not None and a.type is not None and a.type.is_numeric:
        ends = min(a.bounds.lower, b.bounds.lower), max(a.bounds.upper, b.bounds.upper)
        listed = None if as_doubles else _listed(a, b)
        return replace(plain, lower=ends[0], upper=ends[1], step=gcd(a.bounds.step, b.bounds.step), domain=listed)
    return plain


def _domain(a: ColumnPolicy, b: ColumnPolicy) -> Domain | None:
    return a.domain if a.domain == b.domain else _listed(a, b)


def _listed(a: ColumnPolicy, b: ColumnPolicy) -> ListDomain | None:
    """The values of both, where both are listed."""
    if isinstance(a.domain, ListDomain) and isinstance(b.domain, ListDomain):
        return ListDomain(tuple(dict.fromkeys((*a.domain.values, *b.domain.values))))
    return None


def _column(part: NamedTable, name: str) -> ColumnPolicy:
    return next(column for column in part.columns if fold(column.name) == name)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _name(name: str) -> exp.Column:
    return quoted_column(name)


def _sub(select: exp.Select, alias: str) -> exp.Subquery:
    return exp.Subquery(this=copied(select), alias=exp.TableAlias(this=exp.to_identifier(alias)))
