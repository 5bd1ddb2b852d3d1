"""Names of the select list that its own expressions and WHERE read, as DuckDB lets them: written out.

`SELECT YEAR(day) AS y, … WHERE y >= 2020` reads what the list calls y, unless a table has a column of that name.
"""

from __future__ import annotations

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
_MOST = 200  # nodes of what is written out for one name


def aliases_written_out(tree: T, policy: Policy, *, schema: Schema) -> T:
    """The same statement, with what such a name stands for in its place; the tree itself where there is none."""
    writer = _Writer(policy, schema)
    if not any(writer.reads_aliases(select, names) for select, names in _read_from(tree, {})):
        return tree
    copy = copied(tree)
    for select, names in list(_read_from(copy, {})):
        writer.write(select, names)
    return copy


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

    def reads_aliases(self, select: exp.Select, names: Names) -> bool:
        """Whether an expression of the list, or WHERE, has a name that only the list knows."""
        return any(True for _ in self._places(select, names))

    def write(self, select: exp.Select, names: Names) -> None:
        """Write them out, in the order of the list: what is written may read the names before it."""
        while (place := next(iter(self._places(select, names)), None)) is not None:
            column, meant = place[0], copied(place[1])
            column.replace(aliased(meant, column.name) if column.parent is select else paren(meant))

    def _places(self, select: exp.Select, names: Names) -> list[tuple[exp.Column, exp.Expr]]:
        items = [(fold(item.alias), item.this) for item in select.expressions if isinstance(item, exp.Alias)]
        where = select.args.get("where")
        parts = [item.unalias() for item in select.expressions]
        read = {fold(node.name) for part in (*parts, where) if part is not None for node in _bare_names(part)}
        if not read & {name for name, _ in items}:
            return []
        known = self._known(select, names)
        if known is None:
            return []
        aliases: dict[str, exp.Expr] = {}
        places = []
        for item in select.expressions:
            node = item.unalias()
            places += [(each, aliases[fold(each.name)]) for each in _bare_names(node) if fold(each.name) in aliases]
            if isinstance(item, exp.Alias) and fold(item.alias) not in known and _is_plain(node):
                aliases.setdefault(fold(item.alias), node)
        if where is not None:
            in_rows = {name: node for name, node in aliases.items() if node.find(exp.Window) is None}
            places += [(each, in_rows[fold(each.name)]) for each in _bare_names(where) if fold(each.name) in in_rows]
        return places

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


def _bare_names(part: exp.Expr) -> list[exp.Column]:
    """The columns of an expression that no table is named for, those of its subqueries aside."""
    return [node for node in own_nodes(part) if isinstance(node, exp.Column) and not node.table]


def _is_plain(node: exp.Expr) -> bool:
    """Whether an expression may stand again in the place of its name: one of a row, and not too long."""
    short = sum(1 for _ in node.walk()) <= _MOST and node.find(exp.Query, exp.Star) is None
    return short and not any(map(is_aggregate, own_nodes(node)))
