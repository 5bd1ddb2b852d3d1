"""A select whose groups are private, split: the aggregates that are asked for, and what is written over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import fold
from tacit.sql.binding.aggregates import is_aggregate
from tacit.sql.binding.bind import names_totals
from tacit.sql.binding.grouping_sets import written_sets
from tacit.sql.expressions.names.nodes import aliased
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.parsing.planning_budget import PlanningBudget
from tacit.sql.postprocessing.blocks import Names, group_keys, own_nodes, sources_of, window_function, with_names
from tacit.sql.postprocessing.blocks import without_parentheses as bare

MOST_NODES = 20_000  # of what stands over the answers, its aliases written out
_ARITHMETIC = (exp.Paren, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Abs, exp.Sqrt, exp.Round)
_CARRIED = ("distinct", "qualify", "order", "limit", "offset", "windows")
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)

Inner = Callable[[exp.Expr, Names], exp.Expr]  # a subquery, written anew


def answer_name(index: int) -> str:
    """What the table of an answer is called."""
    return f"_tacit_a{index}"


def column_name(index: int) -> str:
    """What a column of an answer is called."""
    return f"_tacit_c{index}"


def is_plain(select: exp.Select) -> bool:
    """Whether nothing stands over its aggregates but arithmetic: then it is one question, with the errors of that."""
    if any(select.args.get(name) for name in ("distinct", "qualify", "windows")):
        return False
    listed = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    if any(isinstance(node, exp.Window) for part in listed for node in own_nodes(part)):
        return False
    return not any(_has_query(part) for part in (*listed, select.args.get("having"), select.args.get("order")))


def _has_query(part: exp.Expr | None) -> bool:
    return part is not None and part.find(exp.Query) is not None


@dataclass(slots=True)
class Splitting:
    """Splits one select. `inner` writes subqueries anew, `literal` the constants that are parameters."""

    select: exp.Select
    names: Names
    index: int
    inner: Inner
    literal: Callable[[exp.Placeholder], exp.Expr]
    budget: PlanningBudget
    asked: dict[str, tuple[exp.Expr, str]] = field(default_factory=dict)  # by signature: the node, and its name
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    keys: dict[str, exp.Expr] = field(default_factory=dict)
    _kinds: frozenset[type] = frozenset()
    _open: list[str] = field(default_factory=list)  # the aliases that are being written out
    _bare_names: bool = True

    def over(self) -> exp.Select:
        """The select over the answer. Raises QueryRefused where a column is neither grouped nor aggregated."""
        items = self.select.expressions
        self.aliases = {fold(item.alias): item.this for item in items if isinstance(item, exp.Alias)}
        self._set_keys()
        listed = [aliased(self._item(item), heading(item)) for item in items]
        rebuilt = exp.Select(expressions=listed, from_=exp.From(this=_table(self.index)))
        having = self.select.args.get("having")
        if having is not None:
            rebuilt.set("where", exp.Where(this=self._built(having.this)))
        for name in _CARRIED:
            value = self.select.args.get(name)
            if isinstance(value, list):
                rebuilt.set(name, [self._parts(each) for each in value])
            elif value is not None:
                rebuilt.set(name, self._ordered(value) if name == "order" else self._parts(value))
        return rebuilt

    def question(self, asked: Iterable[tuple[exp.Expr, str]]) -> exp.Select:
        """The question for these columns: keys, and aggregates that something is made of."""
        listed = [aliased(copied(node), name) for node, name in asked]
        carried = {name: self.select.args[name] for name in ("from_", "joins", "where") if self.select.args.get(name)}
        inner = exp.Select(expressions=listed)
        for name, value in carried.items():
            inner.set(name, [copied(each) for each in value] if isinstance(value, list) else copied(value))
        group = self.select.args.get("group")
        if group is not None:
            inner.set("group", self._group(group))
        return with_names(inner, self.names)

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _set_keys(self) -> None:
        group = self.select.args.get("group")
        if group is None:
            return
        sets = written_sets(group) if any(isinstance(item, _SETS) for item in group.expressions) else None
        nodes = (
            group_keys(self.select, self.aliases)
            if sets is None
            else [n for each in sets for n in map(self._meant, each)]
        )
        apart = {text_of(_folded(bare(node), bare_names=False), comments=False) for node in nodes}
        self._bare_names = len({text_of(_folded(bare(node), bare_names=True)) for node in nodes}) == len(apart)
        for node in map(bare, nodes):
            self.keys.setdefault(self._signature(node), node)
        self._kinds = frozenset(type(node) for node in self.keys.values())

    def _meant(self, node: exp.Expr) -> exp.Expr:
        items = self.select.expressions
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(items):
            item: exp.Expr = items[int(node.this) - 1]
            expression: exp.Expr = item.this if isinstance(item, exp.Alias) else item
            return expression
        if isinstance(node, exp.Column) and not node.table:
            meant = self.aliases.get(fold(node.name), node)
            return node if names_totals(meant, node) else meant
        return node

    def _group(self, group: exp.Expr) -> exp.Expr:
        if not any(isinstance(item, _SETS) for item in group.expressions):
            return exp.Group(expressions=[copied(node) for node in self.keys.values()])
        copy = copied(group)
        for leaf in [node for node in copy.walk() if isinstance(node, (exp.Literal, exp.Column))]:
            meant = self._meant(leaf)
            if meant is not leaf:
                leaf.replace(copied(meant))
        return copy

    def _signature(self, node: exp.Expr) -> str:
        return text_of(_folded(node, bare_names=self._bare_names), comments=False)

    # ── what is written over them ────────────────────────────────────────────────────────────────────────────────────

    def _item(self, item: exp.Expr) -> exp.Expr:
        node = item.this if isinstance(item, exp.Alias) else item
        return self._asked(node, heading(item)) if _is_arithmetic(node) else self._built(node, heading(item))

    def _ordered(self, order: exp.Expr) -> exp.Expr:
        """ORDER BY: a position or an alias is that of a column of the answer, as it is."""
        copy = self._shallow(order)
        copy.set("expressions", [self._order_item(item) for item in order.expressions])
        return copy

    def _order_item(self, item: exp.Expr) -> exp.Expr:
        node = item.this
        if isinstance(node, exp.Literal):
            return copied(item)
        copy = self._shallow(item)
        alias = self.aliases.get(fold(node.name)) if isinstance(node, exp.Column) and not node.table else None
        copy.set("this", self._item(node if alias is None else alias))
        return copy

    def _built(self, node: exp.Expr, name: str | None = None) -> exp.Expr:
        """An expression over the groups, over the answer's columns."""
        self.budget.spend(1)
        if isinstance(node, exp.Query):
            return self._correlated(self.inner(node, self.names))
        if isinstance(node, exp.Placeholder):
            return self.literal(node)
        if type(bare(node)) in self._kinds and self._signature(bare(node)) in self.keys:
            return self._asked(self.keys[self._signature(bare(node))], name or heading(bare(node)))
        if isinstance(node, exp.Window):
            return self._window(node)
        if is_aggregate(node) or isinstance(node, (exp.Grouping, exp.GroupingId)):
            return self._asked(node, name or heading(node))
        return self._alias(node) if isinstance(node, exp.Column) else self._parts(node)

    def _alias(self, node: exp.Column) -> exp.Expr:
        """What the select list calls so."""
        name = fold(node.name)
        if node.table or name not in self.aliases or name in self._open:
            raise QueryRefused(
                f"{node.name[:60]} is neither grouped nor aggregated", hint=f"add {node.name[:60]} to GROUP BY"
            )
        self._open.append(name)
        meant = self.aliases[name]
        built = self._asked(meant, node.name) if _is_arithmetic(meant) else self._built(meant, node.name)
        self._open.pop()
        return exp.paren(built, copy=False) if not isinstance(built, exp.Column) else built

    def _window(self, node: exp.Window) -> exp.Expr:
        """A window over the groups: its function is computed, what it is given is asked."""
        function = window_function(node)
        copy = self._parts(node, spared=node.this)
        around = node.this
        built = self._parts(function)
        holders = []
        while around is not function:
            holders.append(around)
            around = around.this
        for holder in reversed(holders):
            outer = self._parts(holder, spared=holder.this)
            outer.set("this", built)
            built = outer
        copy.set("this", built)
        return copy

    def _parts(self, node: exp.Expr, *, spared: exp.Expr | None = None) -> exp.Expr:
        """The same node over rebuilt parts."""
        copy = self._shallow(node)
        for name, value in node.args.items():
            if isinstance(value, exp.Expr) and value is not spared:
                copy.set(name, self._built(value))
            elif isinstance(value, list):
                copy.set(name, [self._built(each) if isinstance(each, exp.Expr) else each for each in value])
        return copy

    def _shallow(self, node: exp.Expr) -> exp.Expr:
        plain = {name: value for name, value in node.args.items() if not isinstance(value, (exp.Expr, list))}
        return type(node)(**plain)

    def _asked(self, node: exp.Expr, name: str) -> exp.Expr:
        index = list(self.asked).index(sign) if (sign := self._signature(bare(node))) in self.asked else len(self.asked)
        self.asked.setdefault(sign, (bare(node), name))
        return exp.column(column_name(index), table=answer_name(self.index), quoted=True)

    def _correlated(self, query: exp.Expr) -> exp.Expr:
        """A subquery in which the keys of this select are the answer's columns."""
        outside = {fold(node.alias_or_name) for node in sources_of(self.select)}
        inside = {fold(node.alias_or_name) for node in query.find_all(exp.Table, exp.Subquery)}
        for column in list(query.find_all(exp.Column)):
            sign = self._signature(column)
            if column.table and fold(column.table) in outside - inside and sign in self.keys:
                column.replace(self._asked(self.keys[sign], column.name))
        return query


def merged(splits: Sequence[Splitting], tree: exp.Expr) -> list[exp.Select]:
    """The questions, those about the same groups of the same rows as one; `tree` then reads the answers to these."""
    groups: dict[str, list[Splitting]] = {}
    for split in splits:
        groups.setdefault(text_of(split.question(()), comments=False), []).append(split)
    moved: dict[tuple[str, str], tuple[str, str]] = {}
    questions = []
    for index, members in enumerate(groups.values()):
        columns: dict[str, tuple[exp.Expr, str]] = {}
        for split in members:
            for old, (sign, asked) in enumerate(split.asked.items()):
                columns.setdefault(sign, asked)
                new = list(columns).index(sign)
                moved[answer_name(split.index), column_name(old)] = (answer_name(index), column_name(new))
        questions.append(members[0].question(columns.values()))
    tables = {answer_name(split.index): index for index, members in enumerate(groups.values()) for split in members}
    for node in list(tree.find_all(exp.Column, exp.Table)):
        if isinstance(node, exp.Column) and (node.table, node.name) in moved:
            table, name = moved[node.table, node.name]
            node.set("this", exp.to_identifier(name, quoted=True))
            node.set("table", exp.to_identifier(table, quoted=True))
        elif isinstance(node, exp.Table) and node.name in tables:
            node.set("this", exp.to_identifier(answer_name(tables[node.name]), quoted=True))
    return questions


def _is_arithmetic(node: exp.Expr) -> bool:
    """Whether it is arithmetic over aggregates whose error is known exactly; see `binding.post`."""
    if is_aggregate(node):
        return not isinstance(node, exp.Window)
    if isinstance(node, exp.Round):
        decimals = node.args.get("decimals")
        whole = decimals is None or (
            isinstance(decimals, exp.Literal) and str(decimals.this).isdigit() and int(decimals.this) <= 12
        )
        return whole and _is_arithmetic(node.this)
    if not isinstance(node, _ARITHMETIC):
        return False
    parts = list(node.iter_expressions())
    numbers = [part for part in parts if isinstance(bare(part), exp.Literal) and not bare(part).is_string]
    others = [part for part in parts if part not in numbers]
    return bool(others) and all(map(_is_arithmetic, others))


def _folded(node: exp.Expr, *, bare_names: bool) -> exp.Expr:
    """A copy that is the same for every spelling of its names; without their tables, if no two keys differ by these."""
    copy = copied(node)
    for name in copy.find_all(exp.Identifier):
        name.set("this", fold(str(name.this)))
        name.set("quoted", False)
    if bare_names:
        for column in copy.find_all(exp.Column):
            column.set("table", None)
    return copy


def heading(item: exp.Expr) -> str:
    """What a column is called that nobody named."""
    if isinstance(item, (exp.Alias, exp.Column)):
        return item.alias_or_name
    return text_of(item, comments=False)[:60].lower()


def _table(index: int) -> exp.Table:
    return exp.Table(this=exp.to_identifier(answer_name(index), quoted=True))
