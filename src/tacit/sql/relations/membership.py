"""IN and EXISTS over a subquery: of a public table, or of the same unit's own rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType, Owner, fold
from tacit.sql.operands import comparable
from tacit.sql.predicates import predicate
from tacit.sql.relations.parts import OWNER, Part, key_column
from tacit.sql.relations.relation import Relation
from tacit.sql.scope import Scope, all_of, bare, conjuncts

Public = tuple[exp.Select, ColumnType | None]
_HINT = "look within the unit: compare a key of the subquery with the same key outside, or name a public table"


@dataclass(frozen=True, slots=True)
class Asker:
    """The query around the subquery."""

    relation: Relation
    scope: Scope
    derive: Callable[[exp.Select], Part]  # the subquery as rows that belong to one unit each
    public: Callable[[exp.Select], Public | None]  # the subquery over public tables alone; None if it is not


def member(node: exp.Expression, asker: Asker) -> exp.Expression:
    """The condition, rebuilt."""
    if isinstance(node, exp.Exists):
        return _exists(node.this, asker)
    query = node.args["query"]
    select = query.this if isinstance(query, exp.Subquery) else query
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise QueryRefused("IN needs a subquery of one column", hint="write x IN (SELECT y FROM …)")
    public = asker.public(select)
    if public is not None:
        left = comparable(node.this, asker.scope)
        if left is None or left.constant:
            raise QueryRefused("IN needs a column before it")
        rows, kind = public
        if left.kind is not kind:
            raise QueryRefused(f"{left.kind} is looked for among {kind}: tacit does not convert cells")
        return exp.In(this=left.sql, query=exp.Subquery(this=rows))
    outside = asker.scope.key(bare(node.this))
    if outside is None:
        raise QueryRefused(
            "IN over other people's rows is refused: whether a row is counted would depend on everybody", hint=_HINT
        )
    item = select.expressions[0]
    found = _within(select, [(outside, exp.column(exp.to_identifier(item.alias_or_name, quoted=True)))], asker)
    missing = exp.Is(this=_outer(asker, outside[0]), expression=exp.null())
    return exp.paren(exp.Case(ifs=[exp.If(this=exp.Not(this=exp.paren(missing)), true=found)]))  # NULL IN … is NULL


def _exists(select: exp.Expression, asker: Asker) -> exp.Expression:
    if isinstance(select, exp.Subquery):
        select = select.this
    if not isinstance(select, exp.Select) or select.args.get("from_") is None:
        raise QueryRefused("EXISTS needs a SELECT … FROM …")
    if any(item.find(exp.AggFunc) for item in select.expressions):
        raise QueryRefused("EXISTS over an aggregate is refused: it would always hold")
    if select.args.get("group") or select.args.get("having"):
        raise QueryRefused("GROUP BY is refused in EXISTS", hint="write IN (SELECT key … GROUP BY key HAVING …)")
    where = select.args.get("where")
    conditions = [] if where is None else conjuncts(where.this)
    inner = select.copy()
    pairs: list[tuple[tuple[str, Owner], exp.Expression]] = []
    kept: list[exp.Expression] = []
    names = {_name(table) for table in (select.args["from_"].this, *(j.this for j in select.args.get("joins") or ()))}
    for condition in conditions:
        pair = _correlated(condition, asker, names)
        if pair is None:
            kept.append(condition)
        else:
            pairs.append(pair)
    if not pairs:
        raise QueryRefused("EXISTS is refused where nothing ties its rows to the unit outside", hint=_HINT)
    whole = all_of([condition.copy() for condition in kept])
    inner.set("where", exp.Where(this=whole) if whole is not None else None)
    inner.set("expressions", [node.copy() for _, node in pairs])
    return _within(inner, pairs, asker)


def _name(node: exp.Expression) -> str:
    return node.alias_or_name.casefold()


def _correlated(node: exp.Expression, asker: Asker, names: set[str]) -> tuple[tuple[str, Owner], exp.Expression] | None:
    """`inner key = outer key`, in either order."""
    if not isinstance(node, exp.EQ):
        return None
    left, right = bare(node.this), bare(node.expression)
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, exp.Column) or not isinstance(other, exp.Column):
            return None
        if one.table and one.table.casefold() in names:
            continue
        found = asker.scope.key(one)
        if found is not None and not (other.table and other.table.casefold() not in names):
            return found, other
    return None


def _within(select: exp.Select, pairs: list[tuple[tuple[str, Owner], exp.Expression]], asker: Asker) -> exp.Expression:
    """EXISTS over the unit's own rows. The owners are compared too, whatever the keys promise."""
    part = asker.derive(select)
    if part.derived is None or part.owner != asker.relation.owner:
        raise QueryRefused("the subquery's rows belong to other units than those outside", hint=_HINT)
    conditions: list[exp.Expression] = []
    for (outside, identity), node in pairs:
        name = node.name.casefold() if isinstance(node, exp.Column) else ""
        if part.keys.get(name) != identity:
            raise QueryRefused("the subquery is tied to the unit outside by different keys", hint=_HINT)
        if not _is_owner(identity, asker.relation):  # which is compared below, in its one spelling
            conditions.append(exp.EQ(this=_of(key_column(name)), expression=_outer(asker, outside)))
    conditions.append(exp.EQ(this=_of(OWNER), expression=asker.relation.unit))
    columns = [_of(key_column(name)) for name in part.keys]
    only = exp.select(*columns, _of(OWNER)).from_(
        exp.Subquery(this=part.derived.copy(), alias=exp.TableAlias(this=exp.to_identifier("s")))
    )
    inner = exp.Subquery(this=only, alias=exp.TableAlias(this=exp.to_identifier("s")))
    return exp.Exists(this=exp.select(exp.Literal.number(1)).from_(inner).where(*conditions))


def _is_owner(key: Owner, relation: Relation) -> bool:
    owner = relation.owner
    return owner is not None and (key.table, key.column) == (fold(owner.table), fold(owner.column))


def public_rows(select: exp.Select, part: Part, scope: Scope) -> Public:
    """A one-column subquery over a public table, rebuilt."""
    extra = [
        name for name, value in select.args.items() if value and name not in {"kind", "expressions", "from_", "where"}
    ]
    if extra:
        raise QueryRefused(f"{extra[0].rstrip('_').upper()} is refused in a subquery over a public table")
    value = comparable(select.expressions[0].unalias(), scope)
    if value is None or value.constant:
        raise QueryRefused("the subquery needs a column of its table")
    table = exp.to_table(exp.to_identifier(part.table.name, quoted=True).sql(dialect="duckdb"), dialect="duckdb")
    rows = exp.select(value.sql).from_(table)
    where = select.args.get("where")
    return (rows if where is None else rows.where(predicate(where.this, scope))), value.kind


def _of(column: str) -> exp.Column:
    return exp.column(exp.to_identifier(column, quoted=True), table=exp.to_identifier("s"))


def _outer(asker: Asker, column: str) -> exp.Expression:
    """A column of the query around: no name inside is like it, for those all begin with a space."""
    return asker.relation.held(column)
