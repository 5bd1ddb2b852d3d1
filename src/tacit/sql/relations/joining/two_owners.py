"""Rows with two owners: those of the pairs that are kept, and how far people are from having few partners.

A person's *partners* are the people with whom they have at least one row, before any WHERE; somebody who is both owners
of a row is a partner of themselves. A pair is kept if it is among the first m of either owner, in the order of a hash
of the pair; which m, the plan says. See `tacit.sql.planning.stability` for what follows from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, Owner, Policy, Schema, TablePolicy, fold
from tacit.policy.tables.two_owners import IDENTIFIERS, in_words, two_owners_refused
from tacit.sql.expressions.cells import identified
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.nodes import cast_as, quoted_column
from tacit.sql.expressions.names.printing import copied, table_named
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.parsing.schemas import is_in_our_schema
from tacit.sql.relations.joining.parts import OWNER, NamedTable, spelled, unlike

DISTANCE = "f"  # the column of `distance`
_MARK = "MOST_PARTNERS"  # stands for m until a plan has chosen it; no engine knows such a function
_FIRST, _SECOND, _PERSON, _NEEDED, _RANK, _DEGREE = " a", " b", " p", " n", " r", " d"


@dataclass(frozen=True, slots=True)
class PairFacts:
    """What the policy says of rows with two owners, and each pair's two people, once."""

    table: str
    units: tuple[str, ...]
    max_rows: int
    max_partners: int
    max_hubs: int
    pairs: exp.Select  # the pair, its first and its second person

    def distance(self) -> exp.Select:
        """How far people are from having few partners: the least k ≥ 0 with at most k people of more than m₀ + k.

        Let d₁ ≥ d₂ ≥ … be everybody's partners. That at most k have more than m₀ + k is to say that d₍ₖ₊₁₎ − k ≤ m₀;
        and d₍ⱼ₎ − (j − 1) falls with every j, so that the least such k is the number of j with d₍ⱼ₎ − (j − 1) > m₀.
        Whoever has no more than m₀ is none of these j, and need not be ranked. Equal degrees may stand in any order.
        """
        few = integer(self.max_partners)
        degrees = exp.select(_named(exp.Count(this=exp.Star()), _DEGREE)).from_(_as(_ends(self.pairs), "ends"))
        degrees = degrees.group_by(_column(_PERSON)).having(exp.GT(this=exp.Count(this=exp.Star()), expression=few))
        order = exp.Order(expressions=[exp.Ordered(this=_column(_DEGREE), desc=True)])
        rank = exp.Window(this=exp.RowNumber(), order=order)
        ranked = exp.select(_column(_DEGREE), _named(rank, _RANK)).from_(_as(degrees, "degrees"))
        degree, place = (Whole(_column(name), 1, MOST_ROWS, Width.BIGINT) for name in (_DEGREE, _RANK))
        beyond = exp.GTE(this=arithmetic.subtract(degree, place).sql, expression=copied(few))
        counted = exp.select(exp.alias_(exp.Count(this=exp.Star()), DISTANCE)).from_(_as(ranked, "ranked"))
        return qualified(counted.where(beyond))


@dataclass(frozen=True, slots=True)
class PairedRows:
    """A table with two owners as a query names it: the node after FROM, and the rows that it stands for."""

    node: exp.Expression
    part: NamedTable
    facts: PairFacts


def paired(select: exp.Select, policy: Policy, *, schema: Schema) -> PairedRows | None:
    """The one table with two owners that a query reads; None where there is none. Refuses what is not bounded."""
    nodes = [select.args["from_"].this] if select.args.get("from_") is not None else []
    nodes += [join.this for join in select.args.get("joins") or ()]
    named = {fold(table.name): table for table in policy.tables}
    common = {fold(cte.alias) for cte in select.find_all(exp.CTE)}
    found = [node for node in nodes if isinstance(node, exp.Table) and _is_two_owned(node, named, common)]
    if not found:
        return None  # one that stands deeper is refused where it is read
    node, table = found[0], named[fold(found[0].name)]
    _refuse_around(select, nodes, named, node=node)
    columns = next((each for name, each in schema.items() if fold(name) == fold(table.name)), {})
    return _pairs(node, table, columns)


def _is_two_owned(node: exp.Table, named: Mapping[str, TablePolicy], common: set[str]) -> bool:
    table = named.get(fold(node.name))
    return table is not None and bool(table.units) and (bool(node.db) or fold(node.name) not in common)


def _refuse_around(
    select: exp.Select, nodes: list[exp.Expression], named: Mapping[str, TablePolicy], *, node: exp.Table
) -> None:
    """Beside it there may be public tables alone, and nothing may ask who its people are."""
    table = named[fold(node.name)]
    if any(inner is not select for inner in select.find_all(exp.Query)):
        raise two_owners_refused(table.name, table.units, what="a subquery beside it")
    for other in nodes:
        known = named.get(fold(other.name)) if isinstance(other, exp.Table) else None
        if other is not node and (known is None or not known.public):
            raise two_owners_refused(table.name, table.units, what="a join with anything but public tables")
    if select.find(exp.Window):
        raise two_owners_refused(table.name, table.units, what="a window over its rows")
    aliases = {"", fold(node.alias or table.name), fold(table.name)}
    for column in select.find_all(exp.Column):
        if table.is_unit(column.name) and fold(column.table) in aliases:
            raise two_owners_refused(table.name, table.units, what=f"{column.name[:60]}, which tells people apart,")


def _pairs(node: exp.Table, table: TablePolicy, columns: Mapping[str, str]) -> PairedRows:
    extra = [name for name, value in node.args.items() if value and name not in {"this", "alias", "db", "catalog"}]
    alias = node.args.get("alias")
    if extra or not is_in_our_schema(node) or (isinstance(alias, exp.TableAlias) and alias.columns):
        raise QueryRefused(f"{node.sql()[:60]} is refused after FROM", hint="write the table's name alone")
    written = {fold(name): name for name in columns}
    ends = [_end(table, unit, columns=columns, written=written) for unit in table.units]
    usable = tuple(column for column in table.visible if not table.is_unit(column.name))
    rows, pairs = _rows(table, ends, usable, written=written), _distinct(_rows(table, ends, (), written=written))
    kept = rows.where(exp.In(this=_owner(), query=_as(_kept(pairs, table), "")), copy=False)
    shown = [_column(column.name) for column in usable]
    derived = exp.select(_column(OWNER), *shown).from_(_as(kept, "rows"), copy=False)
    unit = unlike(in_words(table.units), lambda name: any(fold(name) == fold(each.name) for each in usable))
    facts = PairFacts(
        table.name,
        table.units,
        table.max_rows or 1,
        table.max_partners or 1,
        table.max_hubs or 0,
        pairs,
    )
    owned = TablePolicy(table.name, unit, columns=usable, max_rows=table.max_rows, max_groups=1, rows=table.rows)
    types = {column.name: columns[written[fold(column.name)]] for column in usable if fold(column.name) in written}
    part = NamedTable(node.alias or table.name, owned, types, usable, {}, Owner(table.name, unit), derived)
    return PairedRows(node, part, facts)


def _end(table: TablePolicy, unit: str, *, columns: Mapping[str, str], written: Mapping[str, str]) -> exp.Expression:
    """One owner, in the one spelling that the policy gives both: as text, in the order of its bytes."""
    sql_types = [columns.get(written.get(fold(each), each), "") for each in table.units]
    kinds = {ColumnType.from_sql(each) for each in sql_types}
    if len(kinds) != 1 or not kinds <= set(IDENTIFIERS):
        raise QueryRefused(
            f"{' and '.join(table.units)} of {table.name} cannot be held against each other: "
            "they are not both text, nor both whole numbers",
            hint="put a view before the table that converts them; see tacit check",
        )
    name = written.get(fold(unit), unit)
    cell = identified(quoted_column(name, "t"), columns.get(name, ""))
    return spelled(cast_as(cell, "VARCHAR"), table.unit_form, is_text=kinds == {ColumnType.TEXT})


def _rows(
    table: TablePolicy, ends: list[exp.Expression], usable: tuple[ColumnPolicy, ...], *, written: Mapping[str, str]
) -> exp.Select:
    """Every row that has two owners: its pair, the two in order, and the columns that analysts may use.

    A pair is written as the length of its first, and both: so no two pairs are written alike.
    """
    source = exp.alias_(table_named(table.name), "t", table=True)
    cells = [_named(quoted_column(written.get(fold(c.name), c.name), "t"), c.name) for c in usable]
    both = exp.select(_named(copied(ends[0]), _FIRST), _named(copied(ends[1]), _SECOND), *cells)
    both = both.from_(source, copy=False)
    shown = [_column(column.name) for column in usable]
    first, second = _column(_FIRST), _column(_SECOND)
    swapped = exp.LT(this=second, expression=first)
    ordered = exp.select(
        _named(exp.Case(ifs=[exp.If(this=copied(swapped), true=copied(second))], default=copied(first)), _FIRST),
        _named(exp.Case(ifs=[exp.If(this=copied(swapped), true=copied(first))], default=copied(second)), _SECOND),
        *shown,
    ).from_(_as(both, "both"), copy=False)
    for end in (first, second):
        ordered = ordered.where(exp.Not(this=exp.Is(this=copied(end), expression=exp.null())), copy=False)
    parts: list[exp.Expression] = [exp.Literal.string(":"), copied(first), copied(second)]
    pair: exp.Expression = cast_as(exp.Length(this=copied(first)), "VARCHAR")
    for part in parts:
        pair = exp.DPipe(this=pair, expression=part)
    named = exp.select(_named(pair, OWNER), copied(first), copied(second), *(copied(each) for each in shown))
    named = named.from_(_as(ordered, "ordered"), copy=False)
    every = exp.select(_owner(), copied(first), copied(second), *(copied(each) for each in shown))
    return every.from_(_as(named, "named"), copy=False)


def _distinct(rows: exp.Select) -> exp.Select:
    """Each pair of people that has a row, once. No condition of a question is in there."""
    listed = [_owner(), _column(_FIRST), _column(_SECOND)]
    return exp.select(*listed).distinct().from_(_as(rows, "rows"), copy=False)


def _ends(pairs: exp.Select) -> exp.Select:
    """Each pair beside each of its people; beside one who is both, once. `n` says how often it stands there."""
    same = exp.EQ(this=_column(_FIRST), expression=_column(_SECOND))
    times = exp.Case(ifs=[exp.If(this=copied(same), true=integer(1))], default=integer(2))
    first = exp.select(_owner(), _named(_column(_FIRST), _PERSON), _named(times, _NEEDED)).from_(
        _as(copied(pairs), "pairs"), copy=False
    )
    second = exp.select(_owner(), _named(_column(_SECOND), _PERSON), _named(integer(2), _NEEDED)).from_(
        _as(copied(pairs), "pairs"), copy=False
    )
    second = second.where(exp.NEQ(this=_column(_FIRST), expression=_column(_SECOND)), copy=False)
    both = exp.Union(this=first, expression=second, distinct=False)
    listed = [_owner(), _column(_PERSON), _column(_NEEDED)]
    return exp.select(*listed).from_(exp.Subquery(this=both, alias=_alias("ends")), copy=False)


def _kept(pairs: exp.Select, table: TablePolicy) -> exp.Select:
    """The pairs that are among the first m of both their people: the order depends on each pair alone."""
    salt = exp.Literal.string(table.name.casefold())
    inner = exp.Anonymous(this="HASH", expressions=[salt, _owner()])
    order = [exp.Ordered(this=exp.Anonymous(this="HASH", expressions=[inner])), exp.Ordered(this=_owner())]
    rank = exp.Window(this=exp.RowNumber(), partition_by=[_column(_PERSON)], order=exp.Order(expressions=order))
    ranked = exp.select(_owner(), _column(_NEEDED), _named(rank, _RANK)).from_(_as(_ends(pairs), "ends"), copy=False)
    first = exp.LTE(this=_column(_RANK), expression=exp.Anonymous(this=_MARK, expressions=[]))
    kept = exp.select(_owner()).from_(_as(ranked, "ranked"), copy=False).where(first, copy=False)
    kept = kept.group_by(_owner(), _column(_NEEDED), copy=False)
    return kept.having(exp.EQ(this=exp.Count(this=exp.Star()), expression=_column(_NEEDED)), copy=False)


def with_partners(rows: exp.Expression, partners: int | None) -> exp.Expression:
    """The rows, changed in place, where people have so many partners; rows with one owner stay as they are."""
    for mark in list(rows.find_all(exp.Anonymous)):
        if mark.this == _MARK:
            if partners is None:
                raise ArithmeticError("rows with two owners are read, and no plan says how many partners count")
            mark.replace(integer(partners))
    return rows


def _owner() -> exp.Column:
    return _column(OWNER)


def _column(name: str) -> exp.Column:
    return quoted_column(name)


def _named(value: exp.Expression, name: str) -> exp.Alias:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _alias(name: str) -> exp.TableAlias | None:
    return exp.TableAlias(this=exp.to_identifier(name)) if name else None


def _as(rows: exp.Select, name: str) -> exp.Subquery:
    return exp.Subquery(this=rows, alias=_alias(name))
