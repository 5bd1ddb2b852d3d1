"""FROM and its joins → `Relation`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Bounding, ColumnPolicy, ColumnType, TablePolicy, fold
from tacit.sql.expressions.names.nodes import aliased, paren, quoted_column
from tacit.sql.expressions.names.printing import copied, table_named
from tacit.sql.expressions.names.scope import Scope, ScopeSource, all_of, bare, conjuncts
from tacit.sql.expressions.names.spoken import clause_named, name_of
from tacit.sql.expressions.predicates import predicate
from tacit.sql.parsing.clauses import refuse_places
from tacit.sql.parsing.planning_budget import size_of
from tacit.sql.relations.context import QueryContext
from tacit.sql.relations.correlating.membership import Asker, member, scalar
from tacit.sql.relations.deriving.derived import Derivation
from tacit.sql.relations.deriving.unions import union_all
from tacit.sql.relations.joining.growth import MOST, MOST_PUBLIC, CountedSchema, Fan, factors, growth
from tacit.sql.relations.joining.joins import Joins
from tacit.sql.relations.joining.own_joins import Condition, own_joins, pairing
from tacit.sql.relations.joining.parts import Named, NamedTable, base, named_apart, unlike
from tacit.sql.relations.joining.public_ends import with_ends
from tacit.sql.relations.joining.two_owners import PairedRows, paired
from tacit.sql.relations.relation import Relation
from tacit.sql.relations.rewriting.forms import settled
from tacit.sql.relations.rewriting.plainer import plainer
from tacit.sql.relations.rewriting.renamed import renamed
from tacit.sql.relations.rewriting.set_forms import distinct_union, membership
from tacit.sql.relations.rewriting.views import parsed

_MAX_PARTS = 20
_SUBQUERY_CLAUSES = {"kind", "expressions", "from_", "joins", "where", "group", "having", "with_", "distinct"}
_REASONS = {
    "limit": "LIMIT is refused in a subquery: which rows stay would depend on everybody",
    "order": "ORDER BY is refused in a subquery: its rows have no order",
    "offset": "OFFSET is refused in a subquery: which rows stay would depend on everybody",
}
_OF_EACH = "of each unit: ROW_NUMBER() OVER (PARTITION BY the unit ORDER BY …) AS r inside, WHERE r <= 10 around it"
_HINTS = {"limit": _OF_EACH, "offset": _OF_EACH, "order": "leave it out"}
_SET_PARTS = {"this", "expression", "with_", "distinct"}


def build(select: exp.Select, reading: QueryContext) -> Relation:
    """The rows a query reads: those of people. What is public needs no privacy."""
    relation = read(select, reading)
    if relation.table.public:
        if relation.remaining is not None and relation.remaining.find(exp.Select):
            predicate(relation.remaining, scope_of(relation, reading.inside(select)))  # people may be in there
        raise QueryRefused(f"{relation.table.name} is public: it needs no privacy", hint="write SELECT …: that is free")
    return relation


def read(select: exp.Select, reading: QueryContext) -> Relation:
    """The rows of a FROM, private or public."""
    pairs = None if reading.nested else paired(select, reading.policy, schema=reading.schema)
    return _read(select, reading, pairs)


def _read(select: exp.Select, reading: QueryContext, pairs: PairedRows | None) -> Relation:
    reading = reading.inside(select)
    source = select.args.get("from_")
    if source is None:
        raise QueryRefused("FROM is missing: one table of the policy is needed")
    joins = list(select.args.get("joins") or ())
    tied, reading = reading.tied, replace(reading, tied=frozenset())
    nodes = (source.this, *(join.this for join in joins))
    parts = [pairs.part if pairs is not None and node is pairs.node else _part(node, reading) for node in nodes]
    if not reading.names_only:
        parts = [with_ends(part, select, reading.schema) for part in parts]
    if parts[0].link in tied and len(parts) == 1 and _is_plain(select, parts[0].link or ""):
        parts = [replace(parts[0], link=None, tied=True)]
    where = select.args.get("where")
    if len(parts) == 1 and parts[0].derived is None and not (parts[0].link or parts[0].tied):
        return _single(parts[0], None if where is None else where.this)
    _refuse_parts(parts)
    return replace(_joined(_Asked(parts, joins, where), reading), pairs=None if pairs is None else pairs.facts)


def _is_plain(select: exp.Select, link: str) -> bool:
    """Whether a subquery asks nothing of whose its rows are: it looks at each, or at groups of one link."""
    if select.find(exp.Window) or any(inner is not select for inner in select.find_all(exp.Select)):
        return False
    group = select.args.get("group")
    if group is None:
        return not any(item.find(exp.AggFunc) for item in select.expressions) and select.args.get("having") is None
    return any(isinstance(bare(node), exp.Column) and fold(bare(node).name) == link for node in group.expressions)


def _part(node: exp.Expression, reading: QueryContext) -> NamedTable:
    reading.work.one_more()
    if isinstance(node, exp.Subquery):
        return _with_names(_subquery(_unwrapped(node), node.alias or "subquery", reading), node)
    if isinstance(node, exp.Table) and not node.db and fold(node.name) in reading.named:
        common = reading.named[fold(node.name)]
        part = _subquery(common.tree, node.alias or node.name, replace(reading, named=common.before))
        return _with_names(renamed(part, common.columns) if common.columns else part, node)
    view = reading.policy.view(node.name) if isinstance(node, exp.Table) and not node.db else None
    if view is not None:
        part = _subquery(parsed(view), node.alias or view.name, reading.beneath(view.name))
        return _with_names(part, node)
    return _with_names(base(node, reading.policy, schema=reading.schema), node)


def _with_names(part: NamedTable, node: exp.Expression) -> NamedTable:
    alias = node.args.get("alias")
    names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if names and part.derived is None:
        raise QueryRefused(f"{node.alias}(…) is refused after FROM", hint="name the columns in a SELECT of their own")
    return renamed(part, names) if names else part


def _unwrapped(node: exp.Expression) -> exp.Expression:
    """A query without its parentheses, on which nothing else may hang."""
    while isinstance(node, exp.Subquery):
        extra = [name for name, value in node.args.items() if value and name not in {"this", "alias"}]
        if extra:
            raise _refused(extra[0])
        node = node.this
    return node


def _subquery(select: exp.Expression, alias: str, reading: QueryContext) -> NamedTable:
    select = _unwrapped(select)
    if isinstance(select, exp.Union) and not select.args.get("distinct") and not _clauses(select):
        left = _subquery(select.this, alias, reading.inside(select))
        return union_all(left, _subquery(select.expression, alias, reading.inside(select)))
    if isinstance(select, (exp.Intersect, exp.Except)) and not _clauses(select):
        return _subquery(_membership(select, reading.inside(select)), alias, reading.inside(select))
    if isinstance(select, exp.Union) and not _clauses(select):
        return _subquery(distinct_union(select), alias, reading)
    if not isinstance(select, exp.Select):
        raise QueryRefused(
            f"{name_of(select)} is refused in a subquery",
            hint="a subquery is a SELECT, or several with UNION, INTERSECT or EXCEPT",
        )
    select = settled(plainer(select))
    refuse_places(select)
    for name, value in select.args.items():
        if value and name not in _SUBQUERY_CLAUSES:
            raise _refused(name)
    relation = read(select, replace(reading, nested=True))
    reading.work.nodes.spend(size_of([relation.sql]))  # it is copied into what reads it, and so on
    return Derivation(select, relation, scope_of(relation, reading.inside(select)), alias).part()


def _membership(operation: exp.SetOperation, reading: QueryContext) -> exp.Select:
    """INTERSECT and EXCEPT as a condition on the rows of the first."""
    left, right = (_subquery(side, "s", reading) for side in (operation.this, operation.expression))
    return membership(operation, left.listed, right.listed, left.keys)


def _refused(clause: str) -> QueryRefused:
    name = clause_named(clause)
    return QueryRefused(_REASONS.get(clause, f"{name} is refused in a subquery"), hint=_HINTS.get(clause, ""))


def _clauses(union: exp.SetOperation) -> list[str]:
    return [name for name, value in union.args.items() if value and name not in _SET_PARTS]


def scope_of(relation: Relation, reading: QueryContext) -> Scope:
    """The names that may be used over a relation, subqueries in conditions among them."""

    def bound(node: exp.Expression) -> exp.Expression:
        return member(node, asker)

    def one(node: exp.Expression) -> tuple[exp.Expression, ColumnType, str]:
        return scalar(node, asker)

    def derive(select: exp.Expression, tied: frozenset[str]) -> NamedTable:
        return _subquery(select, "s", replace(reading, tied=tied))

    def bounded(fan: Fan) -> None:
        growth([("the subquery", fan)], reading.schema, start=relation.growth)

    def counted(fan: Fan) -> int | None:
        return reading.schema.most(fan) if isinstance(reading.schema, CountedSchema) else None

    def names(select: exp.Select) -> Scope:
        inside = read(select, replace(reading, names_only=True, nested=True))
        first = inside.sources[0]  # FROM orders AS z: inside, orders is the one outside
        own = [source for source in inside.sources if source is first or source.columns is not first.columns]
        return Scope(inside.table, tuple(own), reading.parameters, inside.sql_types)

    scope = Scope(relation.table, relation.sources, reading.parameters, relation.sql_types, bound, one)
    asker = Asker(relation, scope, derive, names, bounded, counted, reading.work.notes.append)
    return scope


def _refuse_parts(parts: Sequence[NamedTable]) -> None:
    private = [part for part in parts if part.is_private]
    if len(parts) > _MAX_PARTS:
        raise QueryRefused(f"too many tables: at most {_MAX_PARTS} are joined")
    for each in private:
        if each.table.unit_column is None:
            raise QueryRefused(
                f"{each.table.name} cannot be joined: each row is a unit, and a join may copy a row",
                hint=f"write IN or EXISTS, which copy nothing; or name a column of {each.table.name} as its unit",
            )


def _single(only: NamedTable, where: exp.Expression | None) -> Relation:
    table = replace(only.table, columns=only.columns) if only.table.public else only.table
    sql = table_named(table.name)
    units = frozenset() if table.unit_column is None else frozenset({fold(table.unit_column)})
    columns = {fold(column.name): column.name for column in only.columns}
    written = {fold(name): name for name in only.types}
    keys = {name: (written[name], key) for name, key in only.keys.items()}
    source = ScopeSource(only.alias, columns, units, keys, table=table.name, public=table.public)
    sources = tuple(replace(source, alias=alias) for alias in dict.fromkeys((only.alias, table.name)))
    types = {name.casefold(): kind for name, kind in only.types.items()}
    return Relation(sql, table, types, sources, only.owner, where)


class _Asked:
    """What the analyst wrote after FROM and WHERE."""

    def __init__(self, parts: Sequence[NamedTable], joins: Sequence[exp.Join], where: exp.Where | None) -> None:
        self.parts, self.joins = named_apart(parts), joins
        self.conditions = [] if where is None else conjuncts(where.this)


def _joined(asked: _Asked, reading: QueryContext) -> Relation:
    parts = asked.parts
    table, sql_types = _described(parts)
    joins = Joins(parts, lambda node, count: predicate(node, scope(count)))

    def scope(count: int) -> Scope:
        return Scope(table, _sources(parts[:count], joins), reading.parameters, sql_types)

    conditions = list(asked.conditions)
    where = [copied(condition) for condition in conditions]

    def rows(named: Named) -> exp.Select:
        every = named.rows(reading.policy, schema=reading.schema, lent=named.index in joins.lenders)
        return cuts[named.index].first(every) if named.index in cuts else every

    joins.settle(asked.joins, where=conditions)
    way = pairing(parts, joins, policy=reading.policy)
    each = () if reading.names_only else factors(parts, joins, where=where, way=way)
    times = growth(each, reading.schema, most=MOST_PUBLIC if table.public else MOST)
    known = [node for node in conditions if not node.find(exp.Select)] if way is not None and way.free else []
    held: list[Condition] = [(joins.qualified(predicate(node, scope(len(parts)))), None) for node in known]
    cuts = {} if way is None or reading.names_only else own_joins(way, joins, conditions=[*joins.bound(), *held])
    reading.work.notes += [cut.note for cut in cuts.values()]
    tree = joins.tree(rows)
    for plain in _before_subqueries(conditions):
        tree = tree.where(paren(joins.qualified(predicate(plain, scope(len(parts))))), copy=False)
    owner = _owner_of(parts, joins)
    if owner is not None:
        tree = tree.select(aliased(owner, table.unit_column or ""), copy=False)
    sources = _sources(parts, joins)
    names = [*(column.name for column in table.columns), *(source.matched for source in sources if source.matched)]
    listed = [joins.qualified(quoted_column(name)) for name in names]
    keys = [named.key(name) for named in parts for name in named.part.keys]
    tree = tree.select(*listed, *keys, copy=False)
    sql = exp.Subquery(this=tree, alias=exp.TableAlias(this=exp.to_identifier("joined")))
    owned = next((named.part.owner for named in parts if named.part.is_private), None)
    times = 1 if table.public else times
    return Relation(sql, table, sql_types, sources, owned, all_of(conditions), times, tied=parts[0].part.tied)


def _owner_of(parts: Sequence[Named], joins: Joins) -> exp.Expression | None:
    """Whose a joined row is: of those that an outer join may have left out, the first that it has not."""
    private = [named for named in parts if named.part.is_private]
    never_missing = next((named for named in private if named.index not in joins.missing), None)
    if never_missing is not None:
        return joins.owner(never_missing)
    owners: list[exp.Expression] = [named.owner for named in private]
    if len(owners) < 2:
        return owners[0] if owners else None
    return exp.Coalesce(this=owners[0], expressions=owners[1:])


def _before_subqueries(conditions: list[exp.Expression]) -> list[exp.Expression]:
    """Take out the conditions to hold before any subquery is looked at: all others, where there is one at all.

    An engine that answers EXISTS for every row first, as DuckDB does, would do so for rows that these leave out: for
    the whole product of the tables, where a comma stands between them.
    """
    asking = [condition for condition in conditions if condition.find(exp.Select)]
    plain = [condition for condition in conditions if asking and not condition.find(exp.Select)]
    conditions[:] = asking or conditions
    return plain


def _described(parts: Sequence[Named]) -> tuple[TablePolicy, dict[str, str]]:
    """What the curator's words about each table say about the joined rows."""
    private = [named.part for named in parts if named.part.is_private]
    columns: list[ColumnPolicy] = []
    sql_types: dict[str, str] = {}
    for named in parts:
        types = {fold(name): kind for name, kind in named.part.types.items()}
        for column in named.part.columns:
            name = named.columns[fold(column.name)]
            columns.append(column.named(name))
            sql_types[name.casefold()] = types.get(fold(column.name), "")
    name = unlike(", ".join(dict.fromkeys(named.part.table.name for named in parts)), lambda _: False)
    if not private:
        return TablePolicy(name, public=True, columns=columns), sql_types
    owner = private[0].owner
    unit = "" if owner is None else owner.column
    taken = {fold(column.name) for column in columns}
    if owner is not None and fold(unit) in taken:
        unit = unlike(f"{owner.table}.{unit}", lambda name: fold(name) in taken)
    ways = {part.table.bounding for part in private}
    table = TablePolicy(
        name,
        unit,
        columns=columns,
        max_groups=_most([part.table.max_groups for part in private]),
        max_rows=_most([part.table.max_rows for part in private]),
        max_distinct=_most([part.table.max_distinct for part in private]),
        bounding=next(iter(ways)) if len(ways) == 1 else Bounding.AUTO,
        rows=_most([part.table.rows for part in private]),
        cut=private[0].table.cut if len(private) == 1 else None,
    )
    return table, sql_types


def _most(caps: Sequence[int | None]) -> int | None:
    """The widest cap: it bounds what is left of a unit after the join, whatever the tables have."""
    known = [cap for cap in caps if cap is not None]
    return max(known) if len(known) == len(caps) else None


def _sources(parts: Sequence[Named], joins: Joins) -> tuple[ScopeSource, ...]:
    """Without its own qualifier, a column that USING made one is that of one part alone."""
    sources = [named.source() for named in parts]
    plain: dict[str, str] = {}
    for name, index in joins.merged.items():
        if index < len(parts) and name in sources[index].columns:
            plain[name] = sources[index].columns[name]
    missing = [replace(source, plain=plain, missing=index in joins.missing) for index, source in enumerate(sources)]
    return tuple(
        replace(source, matched=named.marker) if source.missing else source
        for named, source in zip(parts, missing, strict=True)
    )
