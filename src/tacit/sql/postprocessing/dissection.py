"""A statement, taken apart: the private questions in it, and the one SELECT that stands over their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Policy, Schema, fold
from tacit.sql.expressions.dates.date_texts import over_answers
from tacit.sql.expressions.names.nodes import aliased
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import name_of
from tacit.sql.parsing.planning_budget import PlanningBudget
from tacit.sql.parsing.query import Query
from tacit.sql.parsing.schemas import is_in_our_schema
from tacit.sql.postprocessing.blocks import BlockKind, Blocks, NamedBlock, Names, inner_query, named_in
from tacit.sql.postprocessing.splitting import MOST_NODES, Splitting, heading, is_plain, merged
from tacit.sql.relations import QueryContext

MAX_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class PostProcessing:
    """What is computed from the answers: one query over their tables, each `answer_name`, and over public tables."""

    tree: exp.Query
    public: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Dissected:
    """The private questions of a statement, and what is computed from their answers."""

    questions: tuple[Query, ...]
    over: PostProcessing
    is_trivial: bool  # whether nothing is computed: it is one question, and what is refused of it is refused


def dissected(query: Query, policy: Policy, *, schema: Schema) -> Dissected | None:
    """The parts of a statement; None where people are in it, but no answer about them, or nobody is."""
    tree = query.select
    blocks = Blocks(QueryContext(policy, schema, query.parameters))
    kind = blocks.kind(tree, {})
    if kind is BlockKind.ROWS and isinstance(tree, exp.SetOperation):
        raise _rows_refused()
    if kind in {BlockKind.ROWS, BlockKind.PUBLIC}:
        return None
    dissection = _Dissection(blocks, query.parameters)
    try:
        rebuilt = dissection.query(tree, {})
    except QueryRefused:
        if kind is BlockKind.ANSWER and isinstance(tree, exp.Select) and is_plain(tree):
            return None
        raise
    if not dissection.splits:
        return None
    name_columns(tree, rebuilt)
    over_answers(rebuilt)
    asked = tuple(replace(query, select=select) for select in merged(dissection.splits, rebuilt))
    over = PostProcessing(rebuilt, tuple(dissection.public.values()), text_of(rebuilt, comments=False))
    return Dissected(asked, over, is_trivial=kind is BlockKind.ANSWER and _is_trivial(rebuilt))


def over_public(query: Query, policy: Policy, *, schema: Schema) -> PostProcessing | None:
    """A statement that reads public tables and nothing else, rebuilt; None where it reads another, or none."""
    blocks = Blocks(QueryContext(policy, schema, query.parameters))
    if blocks.kind(query.select, {}) is not BlockKind.PUBLIC:
        return None
    dissection = _Dissection(blocks, query.parameters)
    rebuilt = dissection.query(query.select, {})
    if dissection.splits or not dissection.public:
        return None
    name_columns(query.select, rebuilt)
    over_answers(rebuilt)
    return PostProcessing(rebuilt, tuple(dissection.public.values()), text_of(rebuilt, comments=False))


def name_columns(written: exp.Expr, rebuilt: exp.Expr) -> None:
    """Call the columns that nobody named as they were written."""
    while isinstance(written, exp.SetOperation):
        written, rebuilt = inner_query(written.this), inner_query(rebuilt.this)
    for index, (before, after) in enumerate(zip(written.expressions, rebuilt.expressions, strict=True)):
        if not isinstance(after, (exp.Alias, exp.Column, exp.Star)) and not after.find(exp.Columns, exp.Explode):
            rebuilt.expressions[index].replace(aliased(copied(after), heading(before)))


def _is_trivial(tree: exp.Expr) -> bool:
    """Whether a select over one answer shows its columns as they are, and orders by no other."""
    listed = [item.this for item in tree.expressions]
    clauses = {name for name, value in tree.args.items() if value} - {
        "expressions",
        "from_",
        "order",
        "limit",
        "offset",
    }
    order = tree.args.get("order")
    plain = all(
        (isinstance(item.this, exp.Literal) or item.this in listed) and not item.args.get("nulls_first")
        for item in (order.expressions if order is not None else ())
    )
    return isinstance(tree, exp.Select) and not clauses and plain and all(isinstance(i, exp.Column) for i in listed)


@dataclass(slots=True)
class _Dissection:
    """Writes a statement anew, over answers; the questions are put down on the way."""

    blocks: Blocks
    parameters: Mapping[str, object]
    splits: list[Splitting] = field(default_factory=list)
    public: dict[str, str] = field(default_factory=dict)
    budget: PlanningBudget = field(default_factory=lambda: PlanningBudget(MOST_NODES))
    _named: dict[int, exp.Query] = field(default_factory=dict)  # what WITH names, written anew where it is read

    def query(self, node: exp.Expr, names: Names) -> exp.Query:
        """A query over answers, and public tables."""
        if isinstance(node, exp.Subquery):
            copy = self._parts(node, names, spared=node.this)
            copy.set(
                "this",
                self.query(node.this, names) if isinstance(node.this, exp.Query) else self._built(node.this, names),
            )
            return copy  # type: ignore[return-value]  # a subquery is a query
        inside = named_in(node, names)
        kind = self.blocks.kind(node, names)
        if isinstance(node, exp.Select) and kind is BlockKind.ANSWER:
            rebuilt: exp.Expr = self._split(node, inside)
        elif kind is BlockKind.ROWS:
            raise _rows_refused()
        else:
            rebuilt = self._parts(node, inside, left_out=("with_",))
        self._put_names(node, rebuilt)
        return rebuilt  # type: ignore[return-value]  # a select or a set operation, as it was

    def _split(self, select: exp.Select, names: Names) -> exp.Select:
        if len(self.splits) >= MAX_QUESTIONS:
            raise QueryRefused(f"too many private questions in one statement: at most {MAX_QUESTIONS}")
        split = Splitting(select, names, len(self.splits), self.query, self._literal, self.budget)
        self.splits.append(split)
        return split.over()

    def _put_names(self, node: exp.Expr, rebuilt: exp.Expr) -> None:
        """The WITH of a query, as far as it is read over answers."""
        clause = node.args.get("with_")
        if clause is None:
            return
        if clause.args.get("recursive"):
            raise QueryRefused("WITH RECURSIVE is refused", hint="write out as many levels as are needed")
        kept = []
        for cte in clause.expressions:
            if id(cte) in self._named:
                alias = exp.TableAlias(this=exp.to_identifier(cte.alias, quoted=True))
                alias.set("columns", [copied(column) for column in cte.args["alias"].columns])
                kept.append(exp.CTE(this=self._named[id(cte)], alias=alias))
        rebuilt.set("with_", exp.With(expressions=kept) if kept else None)

    def _built(self, node: exp.Expr, names: Names) -> exp.Expr:
        self.budget.spend(1)
        if isinstance(node, exp.Query):
            return self.query(node, names)
        if isinstance(node, exp.Table):
            return self._table(node, names)
        return self._literal(node) if isinstance(node, exp.Placeholder) else self._parts(node, names)

    def _parts(
        self, node: exp.Expr, names: Names, *, spared: exp.Expr | None = None, left_out: tuple[str, ...] = ()
    ) -> exp.Expr:
        plain = {name: value for name, value in node.args.items() if not isinstance(value, (exp.Expr, list))}
        copy = type(node)(**plain)
        for name, value in node.args.items():
            if name in left_out or value is spared:
                continue
            if isinstance(value, exp.Expr):
                copy.set(name, self._built(value, names))
            elif isinstance(value, list):
                copy.set(name, [self._built(each, names) if isinstance(each, exp.Expr) else each for each in value])
        return copy

    def _table(self, node: exp.Table, names: Names) -> exp.Expr:
        if isinstance(node.this, exp.GenerateSeries) and not node.this.find(exp.Column, exp.Query):
            return self._parts(node, names)  # days and numbers that the question itself writes down
        if not isinstance(node.this, exp.Identifier):
            raise QueryRefused(
                f"{name_of(node.this)} is refused after FROM: a table, an answer or a subquery is needed",
                hint="GENERATE_SERIES of constants may stand there, and (VALUES (1), (2)) AS t(n)",
            )
        block = self.blocks.block_named(node, names)
        if block is not None and block.clause is None:
            view = exp.Subquery(this=self.query(inner_query(block.tree), {}), alias=_alias(node, block.name))
            return self._hung(node, view, names)
        if block is not None and block.clause is not None:
            self._name(block)
            return self._hung(node, exp.Table(this=exp.to_identifier(block.name, quoted=True)), names)
        if not is_in_our_schema(node):
            raise QueryRefused(f"there is no table {node.sql()[:60]}", hint="write the table's name alone")
        table = self.blocks.context.policy.table(node.name)
        if not table.public:  # whatever was taken for an answer: what is named here is read whole
            raise _rows_refused()
        self.public[fold(table.name)] = table.name
        return self._hung(node, exp.Table(this=exp.to_identifier(table.name, quoted=True)), names)

    def _name(self, block: NamedBlock) -> None:
        if id(block.clause) not in self._named:
            self._named[id(block.clause)] = self.query(block.tree, block.sees)

    def _hung(self, node: exp.Table, source: exp.Expr, names: Names) -> exp.Expr:
        """A source with the alias, and the joins, pivots and the like that hang on it."""
        for name, value in node.args.items():
            if name in {"this", "db", "catalog", "alias"} or not value:
                continue
            built = (
                [self._built(each, names) for each in value] if isinstance(value, list) else self._built(value, names)
            )
            source.set(name, built)
        source.set("alias", _alias(node, node.name) if not node.args.get("pivots") or node.alias else None)
        return source

    def _literal(self, node: exp.Expr) -> exp.Expr:
        """A parameter's value as a constant."""
        name = str(node.args.get("this") or "")
        if name not in self.parameters:
            raise QueryRefused(f"the parameter {name[:40] or '?'} has no value", hint='query(sql, {"name": value})')
        value = self.parameters[name]
        for kind, write in _LITERALS.items():
            if isinstance(value, kind):
                return write(value)
        raise QueryRefused(f"a parameter is a {type(value).__name__}: give text, a number, a date or a truth value")


def _rows_refused() -> QueryRefused:
    return QueryRefused(
        "rows of people are refused here: only what is aggregated over them leaves, with noise",
        hint="aggregate them in a subquery: SELECT key, COUNT(*) AS n FROM … GROUP BY key",
    )


def _alias(node: exp.Table, name: str) -> exp.TableAlias:
    written = node.args.get("alias")
    if isinstance(written, exp.TableAlias):
        return copied(written)
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def _typed(text: str, kind: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), kind)


_LITERALS: Mapping[type, Callable[..., exp.Expr]] = {
    type(None): lambda _: exp.null(),
    bool: lambda value: exp.Boolean(this=value),
    str: exp.Literal.string,
    datetime: lambda value: _typed(value.isoformat(sep=" "), "TIMESTAMP"),
    date: lambda value: _typed(value.isoformat(), "DATE"),
    int: lambda value: exp.paren(exp.Literal.number(value), copy=False),
    float: lambda value: _typed(repr(value), "DOUBLE"),
    Decimal: lambda value: _typed(str(value), "DOUBLE"),
    Fraction: lambda value: _typed(repr(float(value)), "DOUBLE"),
}
