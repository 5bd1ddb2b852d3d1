"""How many rows one row can become in its joins: bounded beforehand, by numbers that are public.

A join that only one person's rows enter is a clock, or a hang, where it multiplies them without end. What a public
table multiplies by is counted in it, for it is public: the most of its rows that agree in the columns that are held
equal, or all of them where none is. What a person's own rows multiply by nobody may count: it is held to a public
number (`own_joins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import TableDomain, fold
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width
from tacit.sql.expressions.public_rows import count_query
from tacit.sql.relations.joining.joins import Joins
from tacit.sql.relations.joining.own_joins import Pairing
from tacit.sql.relations.joining.parts import KnownTables, Named, NamedTable

MOST = 1_000_000  # rows that one row may become
MOST_PUBLIC = 100_000_000  # rows of public tables joined with each other, which are the same for everybody

Factor = tuple[str, "Fan | int"]  # what a part is called, and what it multiplies by


class CountedSchema(KnownTables):
    """A schema whose public tables can be counted. `count` runs a query over them that returns one number, `n`.

    `version` tells the state of the data: numbers that were read in another one are forgotten.
    """

    def __init__(
        self,
        schema: Mapping[str, Mapping[str, str]],
        *,
        dialect: str,
        count: Callable[[str], int],
        version: Callable[[], str],
    ) -> None:
        super().__init__(schema)
        self._dialect, self._count, self._version = dialect, count, version
        self._known: dict[object, int] = {}  # by the SQL that was run, or the table and its columns
        self._at: str | None = None  # the state that the numbers belong to

    def state(self) -> str | None:
        """The state of the data that plans are made for; None while no plan has depended on it."""
        if self._at is not None and (now := self._version()) != self._at:
            self._at, self._known = now, {}
        return self._at

    def forget(self) -> None:
        """Forget what was counted, where it turned out to be of another state of the data."""
        self._known = {}

    def current(self) -> CountedSchema:
        """Itself, without numbers of another state of the data."""
        self.state()
        return self

    def most(self, fan: Fan) -> int:
        """How many rows of a public table agree in these columns at most, counted over it."""
        if not isinstance(fan.rows, exp.Table):
            return self.number(fan.query())
        known, key = self._known, (fan.rows.name, fan.columns)
        if key not in known:
            known[key] = self.number(fan.query())
        return known[key]

    def rows(self, domains: Sequence[TableDomain]) -> int:
        """How many different rows a public table has of these domains together."""
        return self.number(qualified(count_query(domains)))

    def number(self, query: exp.Select) -> int:
        """The number that a query over public tables returns, read once while the data stay as they are."""
        if self._at is None:  # before the first is read: what changes meanwhile is noticed by the next question
            self._at = self._version()
        known, sql = self._known, emit(query, self._dialect)
        if sql not in known:
            known[sql] = self._count(sql)
        return known[sql]


@dataclass(frozen=True, slots=True)
class Fan:
    """The most rows of a public table, or of a subquery of public tables, that agree in some columns."""

    rows: exp.Expression
    columns: tuple[str, ...]

    def query(self) -> exp.Select:
        """The query for that number, as `n`."""
        source = copied(self.rows)
        source = source if isinstance(source, exp.Table) else exp.Subquery(this=source)
        source.set("alias", exp.TableAlias(this=exp.to_identifier("f")))
        names = [quoted_column(name, "f") for name in self.columns]
        counted = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(source)
        for name in names:  # what is NULL is equal to nothing
            counted = counted.where(exp.Not(this=exp.Is(this=copied(name), expression=exp.null())))
        counted = counted.group_by(*names) if names else counted
        most = exp.Coalesce(this=exp.Max(this=exp.column("n", table="f")), expressions=[exp.Literal.number(0)])
        whole = arithmetic.narrowed(Whole(most, 0, MOST_ROWS, Width.BIGINT), Width.BIGINT)
        inner = exp.Subquery(this=counted, alias=exp.TableAlias(this=exp.to_identifier("f")))
        return qualified(exp.select(exp.alias_(whole, "n")).from_(inner))


def growth(
    factors: Iterable[Factor], schema: Mapping[str, Mapping[str, str]], *, start: int = 1, most: int = MOST
) -> int:
    """How many rows one row can become. Refuses more than `most`."""
    for name, factor in factors:
        times = factor if isinstance(factor, int) else _counted(factor, schema)
        start *= max(1, times)
        if start > most:
            raise QueryRefused(
                f"one row could become {start:,} rows: {name} multiplies it by {times:,}, and {most:,} are the most",
                hint=f"hold {name} equal (=) to the other tables by a column whose values it has once, or leave it out",
            )
    return start


def _counted(factor: Fan, schema: Mapping[str, Mapping[str, str]]) -> int:
    return schema.most(factor) if isinstance(schema, CountedSchema) else 1


def factors(
    parts: Sequence[Named], joins: Joins, *, where: Sequence[exp.Expression], way: Pairing | None
) -> Iterator[Factor]:
    """What each part multiplies a row by: people's rows first, then public ones, those that are tied to them before.

    A subquery's rows may each be one of many already, as its own joins have made them.
    """
    known = {named.index for named in parts if named.part.is_private}
    if way is not None:
        yield way.anchor.part.alias, way.anchor.part.growth
        for named, _ in way.free:
            yield named.part.alias, way.most[named.index]
    equal = list(_equalities(parts, joins, where))
    left = [named for named in parts if named.index not in known]
    while left:
        ties = {named.index: _tied(named, equal, known) for named in left}
        named = next((each for each in left if ties[each.index]), left[0])
        left.remove(named)
        known.add(named.index)
        yield named.part.alias, fan(named.part, ties[named.index])


def fan(part: NamedTable, columns: Iterable[str]) -> Fan:
    """What a public part multiplies by where these columns of it, folded, are held equal."""
    written = {fold(name): name for name in part.types}
    rows = part.derived or exp.Table(this=exp.to_identifier(part.table.name, quoted=True))
    return Fan(rows, tuple(sorted(written.get(name, name) for name in columns)))


def _equalities(
    parts: Sequence[Named], joins: Joins, where: Sequence[exp.Expression]
) -> Iterator[tuple[int, str, set[int]]]:
    """(a part, a column of it, the parts whose values it is held equal to) for every equality that always holds.

    One in WHERE says nothing of what an outer join makes before it.
    """
    plain = [(condition, set(range(len(parts))) - joins.missing) for condition in where]
    for condition, heeded in (*((each, {index}) for index, each in joins.written), *plain):
        node = bare(condition)
        if not isinstance(node, exp.EQ) or node.find(exp.Select):
            continue
        for side, other in ((node.this, node.expression), (node.expression, node.this)):
            holder = _holder(bare(side), parts)
            against = {_holder(column, parts) for column in bare(other).find_all(exp.Column)}
            if holder is not None and holder in heeded and holder not in against and None not in against:
                yield holder, fold(bare(side).name), {index for index in against if index is not None}


def _tied(named: Named, equal: Sequence[tuple[int, str, set[int]]], known: set[int]) -> set[str]:
    return {column for index, column, against in equal if index == named.index and against <= known}


def _holder(node: exp.Expression, parts: Sequence[Named]) -> int | None:
    if not isinstance(node, exp.Column):
        return None
    name = fold(node.name)
    for named in parts:
        here = not node.table or fold(node.table) == fold(named.part.alias)
        if here and (name in named.columns or name in named.part.keys):
            return named.index
    return None
