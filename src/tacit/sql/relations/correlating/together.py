"""EXISTS … AND NOT EXISTS … over the same rows of a unit: read once, where each would read them for itself."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.sql.expressions.names.nodes import aliased, paren, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of, bare, conjuncts

_FOLDED, _LISTED = {"expressions", "from_", "group"}, {"expressions", "from_", "where"}
_EXTREMES = (exp.Min, exp.Max)


@dataclass(frozen=True, slots=True)
class _Looked:
    """One EXISTS over rows that are folded into one for each value of what is held equal (`joining.extremes`).

    So at most one of them suits the row outside by its ties, and `asked` is all else that it must be.
    """

    denied: bool
    alias: str
    rows: exp.Select  # before they are folded
    within: str  # what those go by
    groups: dict[str, exp.Expression]  # by the name outside, what of the rows it is
    extremes: dict[str, tuple[type[exp.Expression], exp.Expression]]  # likewise, and whether the least or the greatest
    ties: dict[exp.Expression, exp.Expression]  # what of the rows is held equal to what outside
    asked: list[exp.Expression]

    @property
    def filters(self) -> list[exp.Expression]:
        """The conditions on its rows alone."""
        where = self.rows.args.get("where")
        return [] if where is None else conjuncts(where.this)

    def is_beside(self, other: _Looked) -> bool:
        """Whether it looks at some of the other's rows, folded alike and held to the same values outside.

        What it asks of them besides becomes a CASE, row by row: a subquery there would no longer be joined.
        """
        filters = self.filters
        more = [each for each in filters if each not in other.filters]
        return (
            (self.alias, self.within) == (other.alias, other.within)
            and self.ties == other.ties
            and self.rows.args["from_"] == other.rows.args["from_"]
            and all(each in filters for each in other.filters)
            and not any(each.find(exp.Select) for each in more)
        )


def read_together(condition: exp.Expression) -> exp.Expression:
    """The condition of a WHERE with each two such subqueries made one.

    Before:   EXISTS (… FROM (SELECT k, MIN(x) … GROUP BY k) AS s WHERE s.k = outside.k AND …) AND NOT EXISTS (… FROM
              (SELECT k, MIN(x) … WHERE late GROUP BY k) AS s WHERE s.k = outside.k AND …)
    After:    EXISTS (… FROM (SELECT k, MIN(x) …, MIN(CASE WHEN late THEN x END) … GROUP BY k) AS s WHERE s.k =
              outside.k AND … AND NOT COALESCE(…, FALSE))
    Ensures:  the same rows: of the folded rows one at most has the key outside, so both conditions are about that one;
              where none of those behind the narrower WHERE is left, its extremes are NULL, and it finds nothing.
    """
    parts = conjuncts(condition)
    known = {index: looked for index, part in enumerate(parts) if (looked := _looked(part)) is not None}
    spent = set()
    for index, narrow in list(known.items()):
        for other, wide in list(known.items()):
            if index != other and index in known and other in known and narrow.is_beside(wide):
                parts[other] = _one(wide, narrow)
                spent.add(index)
                del known[index], known[other]
    return (all_of([part for index, part in enumerate(parts) if index not in spent]) if spent else None) or condition


def _looked(condition: exp.Expression) -> _Looked | None:
    """The condition taken apart; None where it is of any other form."""
    denied = isinstance(condition, exp.Not)
    exists = bare(condition.this) if denied else condition
    if not isinstance(exists, exp.Exists) or not isinstance(exists.this, exp.Select):
        return None
    source = _source(exists.this, _LISTED)
    few = None if source is None else source.this
    within = _source(few, _FOLDED) if isinstance(few, exp.Select) and few.args.get("group") else None
    rows = None if within is None else within.this
    if source is None or few is None or within is None or not isinstance(rows, exp.Select):
        return None
    if _source(rows, _LISTED) is None:
        return None
    of_rows = {item.alias_or_name: item.unalias() for item in rows.expressions}
    calls = {item.alias_or_name: item.unalias() for item in few.expressions}
    groups = {name: of_rows[call.name] for name, call in calls.items() if call in few.args["group"].expressions}
    extremes = {name: (type(call), of_rows[call.this.name]) for name, call in calls.items() if type(call) in _EXTREMES}
    where = exists.this.args.get("where")
    conditions = [] if where is None else conjuncts(where.this)
    ties: dict[exp.Expression, exp.Expression] = {}
    asked = []
    for each in conditions:
        tie = _tied(each, source.alias, groups)
        if tie is None or groups[tie[0]] in ties:  # what is held to two values outside is asked for the second
            asked.append(each)
        else:
            ties[groups[tie[0]]] = tie[1]
    if len(groups) + len(extremes) < len(calls) or not _is_one_row(ties, groups):
        return None
    return _Looked(denied, source.alias, rows, within.alias, groups, extremes, ties, asked) if asked else None


def _is_one_row(ties: Container[exp.Expression], groups: Mapping[str, exp.Expression]) -> bool:
    """Whether of the folded rows one at most is held to what is outside: all that they are grouped by is tied."""
    return all(value in ties for value in groups.values())


def _source(select: exp.Select, allowed: set[str]) -> exp.Subquery | exp.Table | None:
    """The one place that a SELECT of no other clauses reads."""
    if any(value and name not in allowed for name, value in select.args.items()):
        return None
    source = select.args["from_"].this
    return source if isinstance(source, (exp.Subquery, exp.Table)) else None


def _tied(condition: exp.Expression, alias: str, groups: Container[str]) -> tuple[str, exp.Expression] | None:
    """The group that is held equal to what is known outside, and that; None where none is."""
    node = bare(condition)
    sides = [bare(node.this), bare(node.expression)] if isinstance(node, exp.EQ) else []
    for side, other in zip(sides, reversed(sides), strict=True):
        alone = not any(column.table == alias for column in other.find_all(exp.Column))
        if isinstance(side, exp.Column) and side.table == alias and side.name in groups and alone:
            return side.name, other
    return None


def _one(wide: _Looked, narrow: _Looked) -> exp.Expression:
    """Both conditions of the one row that may suit. Its columns have names that no analyst's can be."""
    rows = copied(wide.rows)
    rows.set("expressions", [])
    few = exp.select().from_(_as(rows, wide.within))
    groups = {value: f" group {place}" for place, value in enumerate(wide.groups.values())}
    for value, name in groups.items():
        cell = quoted_column(_listed(value, rows), wide.within)
        few = few.select(aliased(cell, name), copy=False).group_by(copied(cell), copy=False)
    own = [each for each in narrow.filters if each not in wide.filters]
    asked = []
    for looked, conditions in ((wide, []), (narrow, own)):
        names = {name: groups[value] for name, value in looked.groups.items()}
        for name, (extreme, value) in looked.extremes.items():
            names[name] = f" extreme {len(few.expressions)}"
            cell = quoted_column(_listed(_where(conditions, value), rows), wide.within)
            few = few.select(aliased(extreme(this=cell), names[name]), copy=False)
        asked.append(_all([_called(each, wide.alias, names) for each in looked.asked]))
    ties = [exp.EQ(this=quoted_column(groups[it], wide.alias), expression=held) for it, held in wide.ties.items()]
    query = exp.select(exp.Literal.number(1)).from_(_as(few, wide.alias))
    query = query.where(*ties, _both(*asked, denied=(wide.denied, narrow.denied)), copy=False)
    exists = exp.Exists(this=query)
    return exp.Not(this=paren(exists)) if wide.denied and narrow.denied else exists


def _where(conditions: Sequence[exp.Expression], value: exp.Expression) -> exp.Expression:
    """The value where the conditions hold, NULL elsewhere."""
    if not conditions:
        return value
    return exp.Case(ifs=[exp.If(this=_all([copied(each) for each in conditions]), true=copied(value))])


def _listed(value: exp.Expression, rows: exp.Select) -> str:
    """What the value goes by among the columns of the rows, where it now is."""
    for item in rows.expressions:
        if item.unalias() == value:
            return str(item.alias)
    name = f" cell {len(rows.expressions)}"
    rows.select(aliased(copied(value), name), copy=False)
    return name


def _called(condition: exp.Expression, alias: str, names: Mapping[str, str]) -> exp.Expression:
    """The condition with the columns of `alias` by their new names."""
    moved = paren(copied(condition))
    for column in list(moved.find_all(exp.Column)):
        if column.table == alias:
            column.replace(quoted_column(names[column.name], alias))
    return moved


def _both(wide: exp.Expression, narrow: exp.Expression, *, denied: tuple[bool, bool]) -> exp.Expression:
    """What the row must be; where both are denied, what it must not be."""
    if all(denied):
        return paren(exp.Or(this=paren(wide), expression=paren(narrow)))
    first, second = (_refuted(each) if no else each for each, no in zip((wide, narrow), denied, strict=True))
    return paren(exp.And(this=paren(first), expression=paren(second)))


def _refuted(condition: exp.Expression) -> exp.Expression:
    """NULL, which finds no row, is refuted too."""
    return exp.Not(this=exp.Coalesce(this=paren(condition), expressions=[exp.false()]))


def _all(conditions: list[exp.Expression]) -> exp.Expression:
    whole = all_of(conditions)
    assert whole is not None  # noqa: S101 - an inequality at least was asked, or nothing would be folded
    return whole


def _as(query: exp.Select, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))
