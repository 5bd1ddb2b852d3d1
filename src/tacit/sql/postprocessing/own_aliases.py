"""Names of the select list that its own expressions and WHERE read, as DuckDB lets them: written out.

`SELECT YEAR(day) AS y, … WHERE y >= 2020` reads what the list calls y, unless a table has a column of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sqlglot import exp

from tacit.errors import TacitError
from tacit.policy import Policy, Schema, fold
from tacit.sql.binding.aggregates import is_aggregate
from tacit.sql.expressions.names.nodes import aliased, paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.postprocessing.blocks import Names, inner_query, named_in, own_nodes, sources_of
from tacit.sql.relations.joining.parts import base

T = TypeVar("T", bound=exp.Query)
_MOST = 100  # nodes of what is written out for one name
_MOST_NAMES = 300  # that are written out in one select


def aliases_written_out(tree: T, policy: Policy, *, schema: Schema) -> T:
    """The same statement, with what such a name stands for in its place; the tree itself where there is none."""
    if not any(_may_read_aliases(select) for select, _ in _read_from(tree, {})):
        return tree
    copy = copied(tree)
    writer = _Writer(policy, schema)
    for select, names in _read_from(copy, {}):
        if _may_read_aliases(select):
            writer.write(select, names)
    return copy


def _may_read_aliases(select: exp.Select) -> bool:
    """Whether an expression of the list, or WHERE, has the name of one of the list."""
    parts = [item.unalias() for item in select.expressions]
    parts += [where.this] if (where := select.args.get("where")) is not None else []
    read = {fold(column.name) for part in parts for column in _bare_names(part)}
    return not read.isdisjoint(fold(item.alias) for item in select.expressions if isinstance(item, exp.Alias))


def _read_from(query: exp.Expr, names: Names) -> list[tuple[exp.Select, Names]]:
    """The selects whose rows are read, with the names of WITH that each sees: none that looks at a row outside."""
    query = inner_query(query)
    inside, clause = named_in(query, names), query.args.get("with_")
    blocks = [inside[fold(cte.alias)] for cte in clause.expressions] if clause is not None else []
    found = [each for block in blocks for each in _read_from(block.tree, block.sees)]
    if isinstance(query, exp.SetOperation):
        return [*found, *_read_from(query.this, inside), *_read_from(query.expression, inside)]
    if not isinstance(query, exp.Select):
        return found
    for source in sources_of(query):
        found += _read_from(source, inside) if isinstance(source, exp.Subquery) else []
    return [*found, (query, inside)]


class _Writer:
    """Knows what the tables of a policy call their columns."""

    def __init__(self, policy: Policy, schema: Schema) -> None:
        self.policy, self.schema = policy, schema

    def write(self, select: exp.Select, names: Names) -> None:
        """Write them out, in the order of the list: an expression reads the names before it, WHERE all of them."""
        known = self._known(select, names)
        if known is None:
            return
        aliases: dict[str, exp.Expr] = {}
        left = _MOST_NAMES
        for item in list(select.expressions):
            left -= _replace(item.unalias(), aliases, at_most=left)
            if isinstance(item, exp.Alias) and fold(item.alias) not in known and _is_plain(item):
                aliases.setdefault(fold(item.alias), item.this)
        where = select.args.get("where")
        if where is not None:
            _replace(
                where, {name: node for name, node in aliases.items() if node.find(exp.Window) is None}, at_most=left
            )

    def _known(self, query: exp.Expr, names: Names) -> set[str] | None:
        """The columns that a query's sources have; None where one of them does not say."""
        known: set[str] = set()
        for source in sources_of(query):
            columns = self._columns(source, names)
            if columns is None:
                return None
            known |= columns
        return known

    def _columns(self, source: exp.Expr, names: Names) -> set[str] | None:
        alias = source.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.columns:
            return {fold(column.name) for column in alias.columns}
        if isinstance(source, exp.Subquery):
            return self._shown(inner_query(source), names)
        if not isinstance(source, exp.Table):
            return None
        block = names.get(fold(source.name))
        if block is not None and not source.db:
            listed = block.clause.args["alias"].columns if block.clause is not None else ()
            return {fold(column.name) for column in listed} or self._shown(inner_query(block.tree), block.sees)
        try:
            table = base(source, self.policy, schema=self.schema)
        except TacitError:
            return None
        return {fold(column.name) for column in table.columns} | set(table.keys)

    def _shown(self, query: exp.Expr, names: Names) -> set[str] | None:
        """What the columns of a query are called."""
        while isinstance(query, exp.SetOperation):
            names = named_in(query, names)
            query = inner_query(query.this)
        if not isinstance(query, exp.Select):
            return None
        shown = {fold(item.alias_or_name) for item in query.expressions}
        if not any(item.find(exp.Star) for item in query.expressions):
            return shown
        inside = self._known(query, named_in(query, names))
        return None if inside is None else shown | inside


def _replace(part: exp.Expr, aliases: Mapping[str, exp.Expr], *, at_most: int) -> int:
    """Put what names stand for in their place; how many there were."""
    columns = [column for column in _bare_names(part) if fold(column.name) in aliases][:at_most]
    for column in columns:
        meant = copied(aliases[fold(column.name)])
        column.replace(aliased(meant, column.name) if isinstance(column.parent, exp.Select) else paren(meant))
    return len(columns)


def _bare_names(part: exp.Expr) -> list[exp.Column]:
    """The columns of an expression that no table is named for, those of its subqueries aside."""
    return [node for node in own_nodes(part) if isinstance(node, exp.Column) and not node.table]


def _is_plain(item: exp.Alias) -> bool:
    """Whether an expression may stand again in the place of its name: of a row, not too long, and not of itself."""
    node = item.this
    short = sum(1 for _ in node.walk()) <= _MOST and node.find(exp.Query, exp.Star) is None
    of_itself = any(fold(column.name) == fold(item.alias) for column in _bare_names(node))
    return short and not of_itself and not any(map(is_aggregate, own_nodes(node)))
