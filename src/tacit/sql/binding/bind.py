"""Query + policy → `BoundQuery`: every name, type, bound, unit and domain is resolved, or the query is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused, TacitError
from tacit.policy import Policy, Schema, TablePolicy
from tacit.sql.binding import dated, post
from tacit.sql.binding.aggregates import Measures, aggregate, has_aggregate, is_aggregate
from tacit.sql.binding.conditions import Condition, condition
from tacit.sql.binding.domains import refuse_unmatched, unmatched_notes
from tacit.sql.binding.grouping_sets import Places, check_sets, distinct_sets, placed_sets, written_sets
from tacit.sql.binding.over_aggregates import ARITHMETIC, DATED
from tacit.sql.binding.possible_keys import possible_keys
from tacit.sql.binding.wider import MOST_STEPS, wider_policy
from tacit.sql.expressions.keys import Key, check_groups
from tacit.sql.expressions.listed_keys import Domains, counted
from tacit.sql.expressions.logic import filtering
from tacit.sql.expressions.measures import Additive, Histogram, Measure, Mode
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope, name_of
from tacit.sql.expressions.names.spoken import call_as_typed
from tacit.sql.expressions.predicates import predicate
from tacit.sql.parsing.clauses import refuse_clauses
from tacit.sql.parsing.query import Query
from tacit.sql.relations import QueryContext, Relation, build, scope_of
from tacit.sql.relations.correlating.together import read_together
from tacit.sql.relations.joining.growth import CountedSchema
from tacit.sql.relations.rewriting.plainer import plainer
from tacit.sql.relations.rewriting.public_first import without_empty_rows

MAX_COLUMNS = 100
MAX_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer: a key (by its place) or arithmetic over measurements."""

    name: str
    key: int | None = None
    value: post.Post | None = None


@dataclass(frozen=True, slots=True)
class Ordering:
    """One ORDER BY item: a column of the answer."""

    output: Output
    descending: bool


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A question whose every name is known. Nothing in it came from the data."""

    query: Query
    relation: Relation
    where: exp.Expression | None
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    outputs: tuple[Output, ...]
    having: Condition | None
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int
    notes: tuple[str, ...]
    sets: Places | None = None  # ROLLUP, CUBE, GROUPING SETS: the places of each set's keys among `keys`
    total_rows: int | None = None  # how many rows of a unit count over all groups, where that is what bounds it
    wider: BoundQuery | None = None  # WITH BIAS: the same question, its columns clamped far more widely
    rows_left_out: bool = False  # whether a join meets only some of a unit's rows, which no error bar covers
    counted: Mapping[Domains, int] = field(default_factory=dict)  # rows of public tables that list keys

    @property
    def table(self) -> TablePolicy:
        """What is known of the rows, as of a table."""
        return self.relation.table


def bind(query: Query, policy: Policy, *, schema: Schema) -> BoundQuery:
    """Resolve `query` against what the curator declared. Raises QueryRefused; touches no data."""
    bound = _bind(query, policy, schema)
    return replace(bound, wider=_wider(bound, policy, schema)) if query.bias else bound


def _wider(bound: BoundQuery, policy: Policy, schema: Schema) -> BoundQuery | None:
    """The same measurements of values that are clamped far more widely; None where that cannot be."""
    deciding = [bound.where, *(key.sql for key in bound.keys)]
    try:
        declared = wider_policy(bound.relation.sql, bound.measures, deciding, policy)
        wider = None if declared is None else _bind(bound.query, declared, schema)
    except TacitError:  # so wide, a bound has no place on its grid, or a number could overflow
        return None
    if wider is None:
        return None
    same = [_kind(m) for m in wider.measures] == [_kind(m) for m in bound.measures]
    return wider if same and all(_magnitude(m) < MOST_STEPS for m in wider.measures) else None


def _magnitude(measure: Measure) -> int:
    return measure.magnitude if isinstance(measure, Additive) else 0


def _kind(measure: Measure) -> tuple[object, ...]:
    """What two measurements must share for their difference to be what clamping does."""
    return (type(measure), *((measure.counted, measure.step) if isinstance(measure, Additive) else ()))


def _bind(query: Query, policy: Policy, schema: Schema) -> BoundQuery:
    asked = query
    select = plainer(without_empty_rows(query.question, policy))
    query = replace(query, select=select)
    refuse_clauses(select)
    reading = QueryContext(policy, schema, query.parameters)
    relation = build(select, reading)
    table = relation.table
    if query.unit is not None and not table.is_unit(query.unit):
        raise QueryRefused(f"the privacy unit is not {query.unit[:60]}", hint=f"the policy's unit is {table.unit}")
    scope = scope_of(relation, reading.inside(select))
    filtered = None if relation.remaining is None else read_together(filtering(predicate(relation.remaining, scope)))
    refuse_unmatched(relation.remaining, scope)
    bound = _Binder(query, scope, relation, reading).bound(filtered)
    left_out = tuple(dict.fromkeys(reading.work.notes))
    return replace(bound, query=asked, notes=(*bound.notes, *left_out), rows_left_out=bool(left_out))


def signature(node: exp.Expression, scope: Scope) -> str:
    """The same for the same expression, whatever the case of its names, its qualifiers and its parentheses."""
    copy = copied(node)
    while isinstance(copy, exp.Paren):
        copy = copy.this
    for column in list(copy.find_all(exp.Column)):
        if column.find_ancestor(exp.Select) is None:  # inside a subquery its names are its own
            column.set("this", exp.to_identifier(scope.known_as(column)))
            column.set("table", None)
    for name in copy.find_all(exp.Identifier):
        name.set("this", str(name.this).casefold())
        name.set("quoted", False)
    return text_of(copy, comments=False)


class _Binder:
    """Binds the select list, GROUP BY, HAVING and ORDER BY of one query."""

    def __init__(self, query: Query, scope: Scope, relation: Relation, reading: QueryContext) -> None:
        self.query, self.scope, self.select, self.relation = query, scope, query.question, relation
        self.measures = Measures()
        self.aliases: dict[str, exp.Expression] = {
            item.alias.casefold(): item.this for item in self.select.expressions if isinstance(item, exp.Alias)
        }
        self.group, self.sets = self._grouping()
        self.keys = possible_keys(
            self.group, scope, self.select, reading, sign=self._sign, told=not query.asks_for_keys
        )
        schema = reading.schema
        self.counted = counted(self.keys, schema.rows) if isinstance(schema, CountedSchema) else {}
        if self.sets is None:
            check_groups(self.keys)
        else:
            check_sets(self.keys, self.sets)
        self.key_indices = {signature(node, scope): index for index, node in enumerate(self.group)}

    def _sign(self, node: exp.Expression) -> str:
        return signature(node, self.scope)

    def _grouping(self) -> tuple[list[exp.Expression], Places | None]:
        """The keys, and which of them each grouping set has, if there are any."""
        group = self.select.args.get("group")
        if group is None:
            return [], None
        sets = written_sets(group)
        if sets is not None:
            moved = [tuple(self._positioned(node) for node in each) for each in sets]
            nodes, key_sets = placed_sets(moved, lambda node: signature(node, self.scope))
            return nodes, distinct_sets(key_sets) if group.args.get("all") is False else key_sets
        if group.args.get("all"):
            items = [_unaliased(item) for item in self.select.expressions]
            return [item for item in items if not has_aggregate(item)], None
        return [self._positioned(node) for node in group.expressions], None

    def _positioned(self, node: exp.Expression) -> exp.Expression:
        """GROUP BY 1 and GROUP BY alias mean the select list's expression."""
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this) if str(node.this).isdigit() else 0
            if not 1 <= position <= len(self.select.expressions):
                raise QueryRefused(f"position {node.this} is not in the select list")
            return _unaliased(self.select.expressions[position - 1])
        if isinstance(node, exp.Column) and not node.table and node.name.casefold() in self.aliases:
            meant = self.aliases[node.name.casefold()]
            return node if names_totals(meant, node) else meant
        return node

    def _key_index(self, node: exp.Expression) -> int | None:
        """The place among the keys of the one that an expression is, if it is one."""
        return self.key_indices.get(signature(node, self.scope)) if self.key_indices else None

    def bound(self, where: exp.Expression | None) -> BoundQuery:
        outputs = self._outputs()
        having = self.select.args.get("having")
        held = condition(having.this, self._held) if having is not None else None
        order = self._order(outputs)
        outputs, held, order = self._settled(outputs, held, order)
        self._refuse_arithmetic(outputs, held, order)
        if not self.measures.items:
            raise QueryRefused("nothing is measured: the answer is the same whatever the data", hint="no price is due")
        return BoundQuery(
            query=self.query,
            relation=self.relation,
            where=where,
            keys=tuple(self.keys),
            measures=tuple(self.measures.items),
            outputs=tuple(outputs),
            having=held,
            order=tuple(order),
            limit=self._whole("limit"),
            offset=self._whole("offset") or 0,
            notes=(*self.measures.notes, *unmatched_notes(self.select, self.scope)),
            sets=self.sets,
            counted=self.counted,
        )

    def _refuse_arithmetic(self, outputs: list[Output], having: Condition | None, order: list[Ordering]) -> None:
        """A value that is chosen from a domain, or a histogram, is not a number."""
        values = [out.value for out in (*outputs, *(item.output for item in order)) if out.value is not None]
        computed = [value for value in values if not isinstance(value, post.Ref)]
        for index in {ref for value in (*computed, *(having.posts() if having else ())) for ref in post.refs(value)}:
            if isinstance(self.measures.items[index], (Mode, Histogram)):
                raise QueryRefused(
                    f"{self.measures.items[index].label} is not a number: nothing can be computed from it"
                )

    def _settled(
        self, outputs: list[Output], having: Condition | None, order: list[Ordering]
    ) -> tuple[list[Output], Condition | None, list[Ordering]]:
        """Sums that can share a measurement do; every expression is renumbered alike."""
        hidden = [item.output for item in order if item.output not in outputs]
        values = [out.value for out in (*outputs, *hidden) if out.value is not None]
        values += having.posts() if having is not None else []
        settled = iter(self.measures.settled(values))
        moved = {
            out: Output(out.name, out.key, next(settled) if out.value is not None else None)
            for out in (*outputs, *hidden)
        }
        held = having.with_posts(settled) if having is not None else None
        return [moved[out] for out in outputs], held, [Ordering(moved[item.output], item.descending) for item in order]

    def _outputs(self) -> list[Output]:
        items = self.select.expressions
        if len(items) > MAX_COLUMNS:
            raise QueryRefused(f"the select list is too long: at most {MAX_COLUMNS} columns")
        outputs: list[Output] = []
        for item in items:
            node = _unaliased(item)
            name = item.alias if isinstance(item, exp.Alias) else _heading(node)
            key_index = self._key_index(node)
            if key_index is not None:
                outputs.append(Output(name, key=key_index))
            else:
                outputs.append(Output(name, value=self._post(node)))
        if not any(out.value is not None for out in outputs):
            raise QueryRefused(
                "rows are refused: none is released as it is", hint="ask for an aggregate, as in COUNT(*)"
            )
        return _named_apart(outputs)

    def _post(self, node: exp.Expression) -> post.Post:
        """Arithmetic over aggregates."""
        if isinstance(node, exp.Column) and not node.table and node.name.casefold() in self.aliases:
            inner = self.aliases[node.name.casefold()]
            if has_aggregate(inner):
                return self._post(inner)
        if isinstance(node, (exp.Grouping, exp.GroupingId)):
            return self._rolled_up(node)
        if is_aggregate(node):
            return aggregate(node, self.scope, self.measures)
        if self.scope.is_constant(node):
            value = self.scope.value(node)
            if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
                raise QueryRefused(
                    "a bare text or date in the select list is refused", hint="select aggregates and GROUP BY keys"
                )
            return post.Number(Fraction(value))
        build = ARITHMETIC.get(type(node))
        if build is None:
            raise self._not_grouped(node)
        return build(node, self._post if isinstance(node, DATED) else lambda part: dated.number(self._post(part)))

    def _held(self, node: exp.Expression) -> post.Post:
        """One side of a comparison in HAVING."""
        if isinstance(node, exp.Column) and not has_aggregate(self.aliases.get(node.name.casefold(), node)):
            raise QueryRefused(
                f"{node.name[:60]} is refused in HAVING: only noisy numbers are compared there",
                hint="put a condition on a column or a key into WHERE",
            )
        value = self.scope.value(node) if self.scope.is_constant(node) else None
        return dated.constant(value) if isinstance(value, date) else self._post(node)

    def _rolled_up(self, node: exp.Expression) -> post.Post:
        """GROUPING(a, b): a fact about the set of a row, and so about no one."""
        indices = [self._key_index(self._positioned(item)) for item in node.expressions]
        axes = tuple(index for index in indices if index is not None)
        if not axes or len(axes) < len(indices):
            raise QueryRefused("GROUPING needs keys of GROUP BY", hint="write GROUPING(a) with GROUP BY ROLLUP (a, b)")
        return post.Number(Fraction(0)) if self.sets is None else post.Grouping(axes)

    def _not_grouped(self, node: exp.Expression) -> QueryRefused:
        if isinstance(node, (exp.Star, exp.Column)):
            star = isinstance(node, exp.Star) or isinstance(node.this, exp.Star)
            if isinstance(node, exp.Column) and not star and not self.scope.is_unit(node):
                self.scope.column(node)
            what = "*" if star else node.name[:60]
            hint = "ask for an aggregate, as in COUNT(*)"
            if what != "*":
                is_unit = isinstance(node, exp.Column) and self.scope.is_unit(node)
                counted = f"ask how many there are: COUNT(DISTINCT {what})"
                hint = counted if is_unit else f"GROUP BY {what}, or aggregate it: COUNT({what})"
            grouped = self.select.args.get("group") is not None or any(map(has_aggregate, self.select.expressions))
            why = "it is neither grouped nor aggregated" if grouped and what != "*" else "rows are not released"
            return QueryRefused(
                f"{what} is refused beside aggregates: {why}"
                if grouped
                else f"{what} is refused in the select list: {why}, and synthetic ones are of one table",
                hint=hint,
            )
        return QueryRefused(
            f"{name_of(node)} is refused in the select list",
            hint="aggregates, arithmetic over them, and GROUP BY keys are allowed",
        )

    def _order(self, outputs: list[Output]) -> list[Ordering]:
        order = self.select.args.get("order")
        items = order.expressions if order is not None else []
        if any(item.args.get("nulls_first") or item.args.get("with_fill") for item in items):
            raise QueryRefused("NULLS FIRST and WITH FILL are refused in ORDER BY", hint="NULL stands last")
        if len(items) == 1 and isinstance(items[0].this, exp.Var):  # ORDER BY ALL: by each column in turn
            return [Ordering(output, bool(items[0].args.get("desc"))) for output in outputs]
        return [Ordering(self._ordered(item.this, outputs), bool(item.args.get("desc"))) for item in items]

    def _ordered(self, node: exp.Expression, outputs: list[Output]) -> Output:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(outputs):
            return outputs[int(node.this) - 1]
        if isinstance(node, exp.Column) and not node.table:
            for out in outputs:
                if out.name.casefold() == node.name.casefold():
                    return out
        index = self._key_index(self._positioned(node))
        if index is not None:
            return Output("", key=index)
        return Output("", value=self._post(node))

    def _whole(self, name: str) -> int | None:
        clause = self.select.args.get(name)
        if clause is None:
            return None
        options = clause.args.get("limit_options")
        count = clause.args.get("count") if isinstance(clause, exp.Fetch) else clause.expression
        if clause.expressions or (options and (options.args.get("percent") or options.args.get("with_ties"))):
            raise QueryRefused(f"{name.upper()} needs a whole number of rows", hint=f"write {name.upper()} 10")
        value = self.scope.value(count) if isinstance(count, exp.Expression) else None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MAX_LIMIT:
            raise QueryRefused(f"{name.upper()} needs a whole number")
        return value


def names_totals(meant: exp.Expr, key: exp.Column) -> bool:
    """Whether an alias gives the totals of ROLLUP a name: COALESCE(ward, 'all') AS ward is no key, but ward is."""
    if key.parent is None or key.find_ancestor(exp.Rollup, exp.Cube, exp.GroupingSets) is None:
        return False
    first = meant.this if isinstance(meant, exp.Coalesce) else meant if meant.find(exp.Grouping) else None
    named = set() if first is None else {column.name.casefold() for column in first.find_all(exp.Column)}
    return key.name.casefold() in named


def _unaliased(item: exp.Expression) -> exp.Expression:
    inner: exp.Expression = item.this if isinstance(item, exp.Alias) else item
    return inner


def _heading(node: exp.Expression) -> str:
    if isinstance(node, exp.WithinGroup):
        return call_as_typed(node)[:60].lower()
    return node.name if isinstance(node, exp.Column) else text_of(node, comments=False)[:60].lower()


def _named_apart(outputs: list[Output]) -> list[Output]:
    """Column names that differ: a second `n` becomes `n_2`."""
    seen: dict[str, int] = {}
    apart = []
    for out in outputs:
        seen[out.name] = seen.get(out.name, 0) + 1
        name = out.name if seen[out.name] == 1 else f"{out.name}_{seen[out.name]}"
        apart.append(Output(name, out.key, out.value))
    return apart
