"""The blocks of a statement: which select reads whose rows, and which of them asks a private question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sqlglot import exp

from tacit.errors import TacitError
from tacit.policy import fold
from tacit.sql.binding.aggregates import is_aggregate
from tacit.sql.expressions.names.printing import copied
from tacit.sql.parsing.schemas import is_in_our_schema
from tacit.sql.relations import QueryContext, scope_of
from tacit.sql.relations.build import read
from tacit.sql.relations.rewriting.views import parsed


class BlockKind(Enum):
    """What the rows of a block are."""

    PUBLIC = "public"  # of public tables, or written out
    ROWS = "rows"  # of people: each belongs to one unit
    ANSWER = "answer"  # an aggregate over the rows of people: a private question
    OVER = "over"  # made of answers and public tables


@dataclass(frozen=True, slots=True)
class NamedBlock:
    """What WITH or a view names, and the names that it sees."""

    name: str
    tree: exp.Expr
    sees: Mapping[str, NamedBlock]
    clause: exp.CTE | None = None  # as it is written; None for a view


Names = Mapping[str, NamedBlock]


def inner_query(node: exp.Expr) -> exp.Expr:
    """A query without the parentheses around it."""
    while isinstance(node, exp.Subquery):
        node = node.this
    return node


def without_parentheses(node: exp.Expr) -> Any:
    """An expression without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def named_in(query: exp.Expr, names: Names) -> Names:
    """The names inside of a query: those around it, and what its WITH adds; each of these sees the ones before."""
    clause = query.args.get("with_")
    named = dict(names)
    for cte in clause.expressions if clause is not None else ():
        named[fold(cte.alias)] = NamedBlock(cte.alias, cte.this, dict(named), cte)
    return named


def sources_of(select: exp.Expr) -> list[exp.Expr]:
    """What stands after FROM and JOIN."""
    start = select.args.get("from_")
    sources = [] if start is None else [start.this]
    waiting = [*sources, *(join.this for join in select.args.get("joins") or ())]
    sources = []
    while waiting:
        node = waiting.pop(0)
        waiting += [join.this for join in node.args.get("joins") or ()]
        if isinstance(node, exp.Subquery) and not isinstance(inner_query(node), exp.Query):
            waiting.insert(0, node.this)  # a join in parentheses
        else:
            sources.append(node)
    return sources


def own_nodes(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of the subqueries in it; functions of windows are passed over."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query):
            continue
        yield node
        if isinstance(node, exp.Window):
            waiting += [child for child in node.iter_expressions() if child is not node.this]
            waiting += list(window_function(node).iter_expressions())
        else:
            waiting += list(node.iter_expressions())


def window_function(node: exp.Window) -> exp.Expr:
    """The function of a window, without what is written around it."""
    inner = node.this
    while isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        inner = inner.this
    function: exp.Expr = inner
    return function


def subqueries_of(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The queries that stand directly in an expression."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for child in node.iter_expressions():
            if isinstance(child, exp.Query):
                yield child
            else:
                waiting.append(child)


def parts_of(select: exp.Select) -> Iterator[exp.Expr]:
    """The expressions of a select that see its groups: its list, HAVING, QUALIFY, ORDER BY and DISTINCT ON."""
    yield from select.expressions
    for name in ("having", "qualify", "order", "distinct", "windows"):
        value = select.args.get(name)
        yield from value if isinstance(value, list) else [value] if value else []


def is_aggregated(select: exp.Select) -> bool:
    """Whether its rows are groups."""
    if select.args.get("group") is not None:
        return True
    return any(is_aggregate(node) for part in parts_of(select) for node in own_nodes(part))


@dataclass(slots=True)
class Blocks:
    """Tells the kind of each block of one statement."""

    context: QueryContext
    _known: dict[int, BlockKind] = field(default_factory=dict)
    _held: list[exp.Expr] = field(default_factory=list)  # so that an id stays one node's

    def kind(self, node: exp.Expr, names: Names) -> BlockKind:
        """What the rows of a query are."""
        query = inner_query(node)
        if id(query) not in self._known:
            self._held.append(query)
            self._known[id(query)] = self._kind(query, named_in(query, names))
        return self._known[id(query)]

    def block_named(self, table: exp.Expr, names: Names) -> NamedBlock | None:
        """What a name after FROM stands for, where it is no table."""
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or table.db:
            return None
        name = fold(table.name)
        if name in names:
            return names[name]
        view = self.context.policy.view(table.name)
        return None if view is None else NamedBlock(view.name, parsed(view), {})

    def source_kind(self, node: exp.Expr, names: Names) -> BlockKind:
        """What the rows of one source are; a table that nobody knows is refused where it is read."""
        if isinstance(node, (exp.Subquery, exp.Query)):
            return self.kind(node, names)
        if isinstance(node, exp.Lateral):
            return self.source_kind(node.this, names)
        block = self.block_named(node, names)
        if block is not None:
            return self.kind(block.tree, block.sees)
        known = {fold(table.name): table for table in self.context.policy.tables}
        table = known.get(fold(node.name)) if isinstance(node, exp.Table) and is_in_our_schema(node) else None
        return BlockKind.ROWS if table is not None and not table.public else BlockKind.PUBLIC

    def _kind(self, query: exp.Expr, names: Names) -> BlockKind:
        if isinstance(query, exp.SetOperation):
            return _together([self.kind(query.this, names), self.kind(query.expression, names)])
        if not isinstance(query, exp.Select):
            return BlockKind.PUBLIC
        kinds = [self.source_kind(node, names) for node in sources_of(query)]
        if BlockKind.ROWS in kinds:
            mixed = (
                BlockKind.ANSWER in kinds or BlockKind.OVER in kinds
            )  # rows of people beside an answer: left to the binder
            return (
                BlockKind.ANSWER
                if is_aggregated(query) and not mixed and not self._per_unit(query, names)
                else BlockKind.ROWS
            )
        asked = [self.kind(inner, names) for inner in _expression_queries(query)]
        return _together([*kinds, *(BlockKind.OVER if kind is BlockKind.ROWS else kind for kind in asked)])

    def _per_unit(self, select: exp.Select, names: Names) -> bool:
        """Whether it is grouped by a key of the unit, so that each of its rows still belongs to one."""
        group = select.args.get("group")
        if group is None:
            return False
        try:
            context = self.context.inside(with_names(select, names))
            scope = scope_of(read(select, context), context)
        except TacitError:  # said where it is bound
            return False
        aliases = {fold(item.alias): item.this for item in select.expressions if isinstance(item, exp.Alias)}
        return any(scope.key(without_parentheses(node)) is not None for node in group_keys(select, aliases))


def group_keys(select: exp.Select, aliases: Mapping[str, exp.Expr]) -> list[exp.Expr]:
    """What a plain GROUP BY groups by, its positions and aliases looked up."""
    group = select.args["group"]
    items = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    if group.args.get("all"):
        return [item for item in items if not any(_is_grouped_over(node) for node in own_nodes(item))]
    keys = []
    for node in group.expressions:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(items):
            keys.append(items[int(node.this) - 1])
        elif isinstance(node, exp.Column) and not node.table and fold(node.name) in aliases:
            keys.append(aliases[fold(node.name)])
        else:
            keys.append(node)
    return keys


def _is_grouped_over(node: exp.Expr) -> bool:
    return is_aggregate(node) or isinstance(node, exp.Window)


def with_names(select: exp.Select, names: Names) -> exp.Select:
    """The select with all the names it sees in a WITH of its own."""
    clauses = [copied(block.clause) for block in _reached(select, names) if block.clause is not None]
    copy = copied(select)
    copy.set("with_", exp.With(expressions=clauses) if clauses else None)
    return copy


def _reached(tree: exp.Expr, names: Names) -> list[NamedBlock]:
    """The names that a query reads, by itself or through others, in the order they were given in."""
    own = {fold(cte.alias) for cte in tree.find_all(exp.CTE)}
    reached: dict[int, NamedBlock] = {}

    def reach(node: exp.Expr, sees: Names) -> None:
        for table in node.find_all(exp.Table):
            block = sees.get(fold(table.name))
            if block is not None and id(block) not in reached:
                reach(block.tree, block.sees)
                reached[id(block)] = block

    reach(tree, {**names, **{name: block for name, block in named_in(tree, names).items() if name in own}})
    return list(reached.values())


def _expression_queries(select: exp.Select) -> Iterator[exp.Expr]:
    """The subqueries of a select that stand in its expressions, not after FROM."""
    for name, value in select.args.items():
        if name in {"from_", "with_"} or not value:
            continue
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, exp.Expr):
                continue
            holders = [part.args.get("on")] if isinstance(part, exp.Join) else [part]
            for holder in holders:
                if isinstance(holder, exp.Query):
                    yield holder
                elif isinstance(holder, exp.Expr):
                    yield from subqueries_of(holder)


def _together(kinds: list[BlockKind]) -> BlockKind:
    if BlockKind.ROWS in kinds:
        return BlockKind.ROWS
    return BlockKind.OVER if BlockKind.ANSWER in kinds or BlockKind.OVER in kinds else BlockKind.PUBLIC
