"""FROM and its joins → `Relation`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.errors import PolicyError, QueryRefused
from tacit.policy import Bounding, ColumnPolicy, Policy, Schema, TablePolicy, fold
from tacit.sql.predicates import predicate
from tacit.sql.relations.derived import Derivation, ctes_of
from tacit.sql.relations.joins import Joins
from tacit.sql.relations.membership import Asker, Public, member, public_rows
from tacit.sql.relations.parts import Named, Part, base, named_apart
from tacit.sql.relations.relation import Relation
from tacit.sql.relations.unions import union_all
from tacit.sql.relations.views import parsed
from tacit.sql.scope import Scope, Source, all_of, conjuncts

_MAX_PARTS = 20
_MAX_READ = 60
_SUBQUERY_CLAUSES = {"kind", "expressions", "from_", "joins", "where", "group", "having", "with_", "distinct"}
_REASONS = {
    "limit": "LIMIT is refused in a subquery: which rows stay would depend on everybody",
    "order": "ORDER BY is refused in a subquery: its rows have no order",
    "offset": "OFFSET is refused in a subquery: which rows stay would depend on everybody",
}


@dataclass(slots=True)
class Work:
    """How much of a question has been read: a WITH that is used twice is read twice, and so on, doubling."""

    left: int = _MAX_READ

    def one_more(self) -> None:
        """One more table or subquery."""
        self.left -= 1
        if self.left < 0:
            raise QueryRefused(f"the question is too large: at most {_MAX_READ} tables and subqueries are read")


@dataclass(frozen=True, slots=True)
class Subquery:
    """What WITH names, and the names that were there before it."""

    tree: exp.Expression
    before: Mapping[str, Subquery]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query is read against: the policy, the schema, its parameters, and the subqueries it has named so far."""

    policy: Policy
    schema: Schema
    parameters: Mapping[str, object]
    named: Mapping[str, Subquery] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    views: frozenset[str] = frozenset()  # those that are being read, folded

    def inside(self, select: exp.Query) -> Reading:
        """The same with what this select's WITH names; each of those sees the ones before it."""
        named = dict(self.named)
        for name, tree in ctes_of(select).items():
            named[name] = Subquery(tree, dict(named))
        return replace(self, named=named)

    def beneath(self, view: str) -> Reading:
        """What a view is read against: the curator's words, none of the analyst's."""
        if fold(view) in self.views:
            raise PolicyError(f"the view {view} reads from itself", hint="a view reads from tables and other views")
        return replace(self, parameters={}, named={}, views=self.views | {fold(view)})


def build(select: exp.Select, reading: Reading) -> Relation:
    """The rows a query reads."""
    reading = reading.inside(select)
    source = select.args.get("from_")
    if source is None:
        raise QueryRefused("FROM is missing: one table of the policy is needed")
    joins = list(select.args.get("joins") or ())
    parts = [_part(node, reading) for node in (source.this, *(join.this for join in joins))]
    where = select.args.get("where")
    if len(parts) == 1 and parts[0].derived is None and not _is_looked_up(parts[0], reading.policy):
        return _single(parts[0], None if where is None else where.this)
    _refuse_parts(parts)
    return _joined(_Asked(parts, joins, where), reading)


def _part(node: exp.Expression, reading: Reading) -> Part:
    reading.work.one_more()
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        raise QueryRefused(f"{node.alias}(…) is refused after FROM", hint="name the columns in its SELECT")
    if isinstance(node, exp.Subquery):
        return _subquery(_unwrapped(node), node.alias or "subquery", reading)
    if isinstance(node, exp.Table) and not node.db and fold(node.name) in reading.named:
        found = reading.named[fold(node.name)]
        return _subquery(found.tree, node.alias or node.name, replace(reading, named=found.before))
    view = reading.policy.view(node.name) if isinstance(node, exp.Table) and not node.db else None
    if view is not None:
        return _subquery(parsed(view), node.alias or view.name, reading.beneath(view.name))
    return base(node, reading.policy, schema=reading.schema)


def _unwrapped(node: exp.Expression) -> exp.Expression:
    """A query without its parentheses, on which nothing else may hang."""
    while isinstance(node, exp.Subquery):
        extra = [name for name, value in node.args.items() if value and name not in {"this", "alias"}]
        if extra:
            raise QueryRefused(_REASONS.get(extra[0], f"{extra[0].upper()} is refused after a subquery"))
        node = node.this
    return node


def _subquery(select: exp.Expression, alias: str, reading: Reading) -> Part:
    select = _unwrapped(select)
    if isinstance(select, exp.Union) and not select.args.get("distinct") and not _clauses(select):
        left = _subquery(select.this, alias, reading.inside(select))
        return union_all(left, _subquery(select.expression, alias, reading.inside(select)))
    if not isinstance(select, exp.Select):
        raise QueryRefused(
            f"{select.key.upper()} is refused in a subquery", hint="a subquery is a SELECT, or several with UNION ALL"
        )
    for name, value in select.args.items():
        if value and name not in _SUBQUERY_CLAUSES:
            raise QueryRefused(_REASONS.get(name, f"{name.rstrip('_').upper()} is refused in a subquery"))
    inside = reading.inside(select)
    relation = build(select, reading)
    return Derivation(select, relation, scope_of(relation, inside), alias).part()


def _clauses(union: exp.Union) -> list[str]:
    return [name for name, value in union.args.items() if value and name not in {"this", "expression", "with_"}]


def scope_of(relation: Relation, reading: Reading) -> Scope:
    """The names that may be used over a relation, subqueries in conditions among them."""

    def bound(node: exp.Expression) -> exp.Expression:
        return member(node, Asker(relation, scope, derive, public))

    def derive(select: exp.Select) -> Part:
        return _subquery(select, "s", reading)

    def public(select: exp.Select) -> Public | None:
        source = select.args.get("from_")
        if source is None or not isinstance(source.this, exp.Table) or fold(source.this.name) in reading.named:
            return None
        if reading.policy.view(source.this.name) is not None:
            return None
        part = base(source.this, reading.policy, schema=reading.schema)
        if part.is_private or select.args.get("joins"):
            return None
        columns = {fold(column.name): column.name for column in part.columns}
        types = {name.casefold(): kind for name, kind in part.types.items()}
        table = replace(part.table, columns=part.columns)
        return public_rows(select, part, Scope(table, (Source(part.alias, columns),), reading.parameters, types))

    scope = Scope(relation.table, relation.sources, reading.parameters, relation.sql_types, bound)
    return scope


def _is_looked_up(single: Part, policy: Policy) -> bool:
    """Whether the owner of a row is in another table."""
    link = single.table.link
    return link is not None and not policy.table(link.table).is_unit(link.key)


def _refuse_parts(parts: Sequence[Part]) -> None:
    private = [part for part in parts if part.is_private]
    if not private:
        raise QueryRefused(f"{parts[0].table.name} is public: it needs no privacy", hint="read it directly")
    if len(parts) > _MAX_PARTS:
        raise QueryRefused(f"too many tables: at most {_MAX_PARTS} are joined")
    for each in private:
        if each.table.unit_column is None:
            raise QueryRefused(
                f"{each.table.name} cannot be joined: each row is a unit, and a join may copy a row",
                hint=f"name a column of {each.table.name} as its unit",
            )


def _single(only: Part, where: exp.Expression | None) -> Relation:
    table = only.table
    if table.public:
        raise QueryRefused(f"{table.name} is public: it needs no privacy", hint="read it directly")
    sql = exp.to_table(exp.to_identifier(table.name, quoted=True).sql(dialect="duckdb"), dialect="duckdb")
    units = frozenset() if table.unit_column is None else frozenset({fold(table.unit_column)})
    columns = {fold(column.name): column.name for column in only.columns}
    written = {fold(name): name for name in only.types}
    keys = {name: (written[name], key) for name, key in only.keys.items()}
    sources = tuple(Source(alias, columns, units, keys) for alias in dict.fromkeys((only.alias, table.name)))
    types = {name.casefold(): kind for name, kind in only.types.items()}
    return Relation(sql, table, types, sources, only.owner, where)


class _Asked:
    """What the analyst wrote after FROM and WHERE."""

    def __init__(self, parts: Sequence[Part], joins: Sequence[exp.Join], where: exp.Where | None) -> None:
        self.parts, self.joins = named_apart(parts), joins
        self.conditions = [] if where is None else conjuncts(where.this)


def _joined(asked: _Asked, reading: Reading) -> Relation:
    parts = asked.parts
    table, sql_types = _described(parts)
    joins = Joins(parts, lambda node, count: predicate(node, scope(count)))

    def scope(count: int) -> Scope:
        return Scope(table, _sources(parts[:count], joins), reading.parameters, sql_types)

    conditions = list(asked.conditions)
    rows = [named.rows(reading.policy, schema=reading.schema) for named in parts]
    tree = joins.tree(rows, asked.joins, where=conditions)
    owners: list[exp.Expression] = [named.owner for named in parts if named.part.is_private]
    owner = owners[0] if len(owners) == 1 else exp.Coalesce(this=owners[0], expressions=owners[1:])
    listed = [exp.column(exp.to_identifier(column.name, quoted=True)) for column in table.columns]
    keys = [named.key(name) for named in parts for name in named.part.keys]
    tree = tree.select(exp.alias_(owner, table.unit_column or "", quoted=True), *listed, *keys)
    sql = exp.Subquery(this=tree, alias=exp.TableAlias(this=exp.to_identifier("joined")))
    owned = next(named.part.owner for named in parts if named.part.is_private)
    return Relation(sql, table, sql_types, _sources(parts, joins), owned, all_of(conditions))


def _described(parts: Sequence[Named]) -> tuple[TablePolicy, dict[str, str]]:
    """What the curator's words about each table say about the joined rows."""
    private = [named.part for named in parts if named.part.is_private]
    columns: list[ColumnPolicy] = []
    sql_types: dict[str, str] = {}
    for named in parts:
        types = {fold(name): kind for name, kind in named.part.types.items()}
        for column in named.part.columns:
            name = named.columns[fold(column.name)]
            columns.append(replace(column, name=name))
            sql_types[name.casefold()] = types.get(fold(column.name), "")
    owner = private[0].owner
    unit = "" if owner is None else owner.column
    taken = {fold(column.name) for column in columns}
    while owner is not None and fold(unit) in taken:
        unit = f"{owner.table}.{unit}"
    ways = {part.table.bounding for part in private}
    table = TablePolicy(
        ", ".join(dict.fromkeys(named.part.table.name for named in parts)),
        unit,
        columns=columns,
        max_groups=_most([part.table.max_groups for part in private]),
        max_rows=_most([part.table.max_rows for part in private]),
        max_distinct=_most([part.table.max_distinct for part in private]),
        bounding=next(iter(ways)) if len(ways) == 1 else Bounding.AUTO,
    )
    return table, sql_types


def _most(caps: Sequence[int | None]) -> int | None:
    """The widest cap: it bounds what is left of a unit after the join, whatever the tables have."""
    known = [cap for cap in caps if cap is not None]
    return max(known) if len(known) == len(caps) else None


def _sources(parts: Sequence[Named], joins: Joins) -> tuple[Source, ...]:
    """Without its own qualifier, a column that USING made one is that of one part alone."""
    sources = [named.source() for named in parts]
    plain: dict[str, str] = {}
    for name, place in joins.merged.items():
        if place < len(parts) and name in sources[place].columns:
            plain[name] = sources[place].columns[name]
    return tuple(replace(source, plain=plain, missing=place in joins.missing) for place, source in enumerate(sources))
