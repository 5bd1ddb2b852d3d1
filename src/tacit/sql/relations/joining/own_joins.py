"""Joins of one unit's rows with each other: how many of them a row may meet, and which those are.

A unit with n rows that are joined with themselves has n² pairs, whatever is asked of them: a clock that tells how many
rows one person has. So each row meets at most so many rows of a table that could pair with it freely, a number that is
public: of the unit's rows that agree in what is held equal, the first in the order of a hash are joined, and the others
are not. Which they are depends on that unit's own rows alone, so that one unit more or less changes nothing about
anybody else's; and how many rows a join can make of one is known before anything is charged.

A table that has one row for what it is held equal by needs no such bound. One part stands first, and is never cut:
that from which most of the others are found in this way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Policy, fold
from tacit.sql.expressions.names.nodes import aliased, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare
from tacit.sql.relations.joining.extremes import can_be_grouped
from tacit.sql.relations.joining.joins import Joins
from tacit.sql.relations.joining.parts import Named

OWN = 100  # rows of a part that may meet one row, where nothing says that more count
MOST_OWN = 1_000  # the most that a policy's max_rows makes of them
_FEW = 2  # parts to be cut: with more of them, each is held to the least
_RANK = " r"

Condition = tuple[exp.Expression, int | None]  # bound, and the index of the join it belongs to; None in WHERE


@dataclass(frozen=True, slots=True)
class OwnJoin:
    """A part of which a row meets at most `most` rows: among those that agree in `within`, and suit `filters`."""

    named: Named
    most: int
    within: tuple[exp.Column, ...]
    filters: tuple[exp.Expression, ...]

    @property
    def note(self) -> str:
        """What its answer has to say."""
        return left_out(self.named.part.alias, self.most)

    def first(self, rows: exp.Select) -> exp.Select:
        """Those rows of the part that may meet a row."""
        columns, types = self.named.columns, self.named.part.types
        unordered = {
            columns[fold(name)] for name, kind in types.items() if fold(name) in columns and not can_be_grouped(kind)
        }
        return first_rows(
            rows, self.named.alias, within=self.within, most=self.most, filters=self.filters, unordered=unordered
        )


def left_out(name: str, most: int) -> str:
    """What an answer has to say of rows that were cut."""
    return f"of a unit's rows in {name}, each row meets {most:,} at the most: others are left out, and not in ±"


def first_rows(
    rows: exp.Select,
    alias: str,
    *,
    within: Sequence[exp.Expression],
    most: int,
    filters: Sequence[exp.Expression] = (),
    unordered: Collection[str] = (),
) -> exp.Select:
    """The first `most` rows, in the order of a hash, of those that agree in `within`; the rows go by `alias`.

    Ties of the hash are broken by every cell that can be asked for, so that the engine has no say: of rows that are
    equal in all of them it does not matter which stays.
    """
    names = [item.alias_or_name for item in rows.expressions]
    shown = [quoted_column(name, alias) for name in names]
    known = [column for column in shown if column.name not in unordered]
    salted = [exp.Literal.string("own rows"), *(copied(column) for column in known)]
    hashed = exp.Anonymous(this="HASH", expressions=[exp.Anonymous(this="HASH", expressions=salted)])
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[copied(column) for column in within],
        order=exp.Order(expressions=[exp.Ordered(this=each) for each in (hashed, *(copied(each) for each in known))]),
    )
    numbered = exp.select(*shown, aliased(rank, _RANK)).from_(_sub(rows, alias))
    if filters:
        numbered = numbered.where(*(copied(each) for each in filters), copy=False)
    number = quoted_column(_RANK, alias)
    kept = exp.select(*(copied(each) for each in shown)).from_(_sub(numbered, alias))
    return kept.where(exp.LTE(this=number, expression=exp.Literal.number(most)))


@dataclass(frozen=True, slots=True)
class Pairing:
    """How the parts that have owners meet: which stands first, and in which order the others can multiply its rows."""

    anchor: Named
    free: tuple[tuple[Named, frozenset[int]], ...]  # parts that may have many rows for one, and those known before each
    once: tuple[Named, ...]

    @property
    def most(self) -> dict[int, int]:
        """How many rows of each free part may meet one, by its index."""
        if len(self.free) > _FEW:
            return {named.index: OWN for named, _ in self.free}
        caps = {named.index: named.part.table.max_rows or OWN for named, _ in self.free}
        return {index: max(OWN, min(cap, MOST_OWN)) for index, cap in caps.items()}


def pairing(parts: Sequence[Named], joins: Joins, *, policy: Policy) -> Pairing | None:
    """The way to join the parts with owners that multiplies the fewest times; None where there are none."""
    private = [named for named in parts if named.part.is_private]
    ways = [_from(anchor, private, joins, policy) for anchor in private]
    return min(ways, key=lambda way: (len(way.free), way.anchor.index in joins.missing), default=None)


def own_joins(way: Pairing, joins: Joins, *, conditions: Sequence[Condition]) -> dict[int, OwnJoin]:
    """What is cut of each part that could meet a row freely, by its index."""
    by_index = {}
    for named, known in way.free:
        heeded = [(node, index) for node, index in conditions if _is_heeded(named, index, joins)]
        within = [*_keys(named, joins, known), *_equal(named, [node for node, _ in heeded], known, joins)]
        filters = [node for node, index in heeded if _is_filter(named, node, index, joins)]
        by_index[named.index] = OwnJoin(named, way.most[named.index], tuple(within), tuple(filters))
    return by_index


def _from(anchor: Named, private: Sequence[Named], joins: Joins, policy: Policy) -> Pairing:
    known, once, free = {anchor.index}, [], []
    left = [named for named in private if named is not anchor]
    while left:
        single = next((named for named in left if _is_once(named, joins, known, policy)), None)
        if single is not None:
            once.append(single)
        else:
            ready = [named for named in left if named.index not in joins.lenders or _is_linked(named, joins, known)]
            if not ready:
                raise QueryRefused("these tables cannot be joined: nothing says whose their rows are")
            free.append((ready[0], frozenset(known)))
        taken = single or free[-1][0]
        known.add(taken.index)
        left.remove(taken)
    return Pairing(anchor, tuple(free), tuple(once))


def _is_once(named: Named, joins: Joins, known: set[int], policy: Policy) -> bool:
    """Whether a part has one row for what it is held equal by: a key that others link to, or all it is grouped by."""
    part = named.part
    held = {column for column, _ in _held(named, joins, known)}
    if part.derived is not None:
        return part.unique is not None and part.unique <= held
    links = [link for table in policy.tables if (link := table.link) is not None]
    targets = {fold(link.key) for link in links if fold(link.table) == fold(part.table.name)}
    return bool(held & targets)


def _held(named: Named, joins: Joins, known: set[int] | frozenset[int]) -> Iterator[tuple[str, Named]]:
    """(its key, folded, the other part) for each key of a part that is held equal to one of a part known before."""
    for same in joins.sames:
        for side, column, other in (
            (same.left, same.left_column, same.right),
            (same.right, same.right_column, same.left),
        ):
            if side.index == named.index and other.index in known:
                yield fold(column), other


def _is_linked(named: Named, joins: Joins, known: set[int]) -> bool:
    """Whether the column that leads to its owner is held equal to a key of a part that is known."""
    return any(column == named.link for column, _ in _held(named, joins, known))


def _keys(named: Named, joins: Joins, known: frozenset[int]) -> list[exp.Column]:
    """Whose its rows are, and the keys that they are held equal by: an owner is compared in its one spelling alone."""
    owner = [] if named.index in joins.lenders else [named.owner]
    held = sorted({column for column, _ in _held(named, joins, known) if not named.names_owner(column)})
    return [*owner, *(named.key(column) for column in held)]


def _equal(
    named: Named, conditions: Sequence[exp.Expression], known: frozenset[int], joins: Joins
) -> Iterator[exp.Column]:
    """The columns that are held equal to something of the parts before, just as they stand in the rows."""
    before = {other.alias for other in joins.parts if other.index in known}
    for node in map(bare, conditions):
        if not isinstance(node, exp.EQ):
            continue
        for side, other in ((bare(node.this), node.expression), (bare(node.expression), node.this)):
            of = {column.table for column in other.find_all(exp.Column)}
            if isinstance(side, exp.Column) and side.table == named.alias and of <= before:
                yield copied(side)


def _is_heeded(named: Named, index: int | None, joins: Joins) -> bool:
    """Whether a condition holds for every pair that a row of this part is in."""
    side = "" if index is None else joins.steps[index - 1].side
    return index == named.index or (not side and named.index not in joins.missing)


def _is_filter(named: Named, node: exp.Expression, index: int | None, joins: Joins) -> bool:
    """Whether a condition looks at this part alone, and rows that do not suit it are kept by no outer join."""
    side = "" if index is None else joins.steps[index - 1].side
    of = {column.table for column in node.find_all(exp.Column)}
    return of == {named.alias} and (not side or side == "LEFT")


def _sub(select: exp.Select, alias: str) -> exp.Subquery:
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(alias)))
