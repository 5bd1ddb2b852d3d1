"""LATERAL and APPLY: a subquery that looks at the row before it, written as a join with one that does not."""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import fold
from tacit.sql.expressions.names.nodes import aliased, paren, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of
from tacit.sql.relations.rewriting.joined_values import Ties, tied_by
from tacit.sql.relations.rewriting.numbered_rows import BESIDE, beside_each_row
from tacit.sql.relations.rewriting.of_no_rows import aggregate_calls, apart

_LONGEST = 200  # nodes of what is computed of a LATERAL's aggregates
_PLAIN = {"kind", "expressions", "from_", "joins", "where"}
_JOINED = "join its table by all that tells which of its rows counts: LEFT JOIN t ON t.id = a.id AND a.day BETWEEN …"
_HINT = "tie it by a key: LATERAL (SELECT MAX(b.x) AS x FROM b WHERE b.id = a.id); or join a grouped subquery"


def joined_laterals(select: exp.Select) -> exp.Select:
    """The same rows: what is aggregated is grouped by what it is tied by, the first so many of each are counted off."""
    if not any(isinstance(join.this, exp.Lateral) for join in select.args.get("joins") or ()):
        return select
    copy = copied(select)
    for join in copy.args["joins"]:
        lateral = join.this
        held = lateral.this if isinstance(lateral, exp.Lateral) else None
        if isinstance(held, exp.Subquery) and isinstance(held.this, exp.Select) and lateral.alias:
            _join(copy, join, held.this, outer=lateral.args.get("cross_apply") is False)
    return copy


def _join(select: exp.Select, join: exp.Join, inner: exp.Select, *, outer: bool) -> None:
    alias, on = str(join.this.alias), join.args.get("on")
    always = on is None or (isinstance(on, exp.Boolean) and bool(on.this))
    beside = _beside_its_rows(inner) if tied_by(inner) is not None else beside_each_row(select, join, inner)
    if beside is None or not always or join.args.get("using"):
        if alias.startswith(BESIDE):  # a value in the select list, which nobody has called LATERAL
            raise QueryRefused("a subquery is refused here: what ties it to the row outside is no key", hint=_JOINED)
        raise QueryRefused("LATERAL is refused where no equality ties it to the row before it", hint=_HINT)
    rows, ties = beside
    keys = [copied(inside) for inside, _ in ties]
    alone = any(map(aggregate_calls, inner.expressions)) and inner.args.get("group") is None
    if alone:  # one row, whether there is any inside or not
        rows.set("group", exp.Group(expressions=[copied(key) for key in keys]))
        rows.set("expressions", _aggregated(select, alias, inner))
    else:
        _first_of_each(rows, keys)
    listed = [aliased(copied(key), f"{alias} {index}") for index, key in enumerate(keys)]
    rows.set("expressions", [*rows.expressions, *listed])
    named = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    same: list[exp.Expression] = [
        exp.EQ(
            this=quoted_column(f"{alias} {index}", alias),
            expression=copied(outside),
        )
        for index, (_, outside) in enumerate(ties)
    ]
    side = "LEFT" if alone or outer or str(join.args.get("side") or "").upper() == "LEFT" else None
    plain_join = exp.Join(this=exp.Subquery(this=rows, alias=named), on=all_of(same), side=side)
    join.replace(plain_join)


def _beside_its_rows(inner: exp.Select) -> tuple[exp.Select, Ties] | None:
    """The subquery without the equalities that tie it."""
    tied = tied_by(inner)
    if tied is None:
        return None
    rows, whole = copied(inner), all_of(tied[0])
    rows.set("where", None if whole is None else exp.Where(this=whole))
    return rows, tied[1]


def _first_of_each(rows: exp.Select, keys: list[exp.Expression]) -> None:
    """ORDER BY … LIMIT n for each row outside: the first n of each."""
    extra = [name for name, value in rows.args.items() if value and name not in {*_PLAIN, "order", "limit"}]
    limit, order = rows.args.get("limit"), rows.args.get("order")
    if extra or (order is not None and limit is None):
        raise QueryRefused("LATERAL is refused with these clauses", hint=_HINT)
    if limit is None:
        return
    window = exp.Window(this=exp.RowNumber(), partition_by=[copied(key) for key in keys])
    if order is not None:
        window.set("order", copied(order))
    rows.set("qualify", exp.Qualify(this=exp.LTE(this=window, expression=copied(limit.expression))))
    rows.set("limit", None)
    rows.set("order", None)


def _aggregated(select: exp.Select, alias: str, inner: exp.Select) -> list[exp.Expr]:
    """The aggregates to join; what is computed of them is written where the question reads it."""
    lateral = next(join for join in select.args["joins"] if join.this.alias == alias)
    within = {id(node) for node in lateral.walk()}
    ours = [each for each in select.find_all(exp.Column) if id(each) not in within and _may_be_of(each, alias)]
    listed: list[exp.Expr] = []
    for item in inner.expressions:
        calls, value = apart(item.unalias(), item.alias_or_name, lambda name: quoted_column(name, alias))
        listed += calls
        if isinstance(value, exp.Column):
            continue
        if any(each.is_star and not isinstance(each, exp.Count) for each in select.expressions):
            raise QueryRefused(
                "* is refused beside a LATERAL that counts or computes: of no rows that says more than nothing",
                hint="name the columns",
            )
        for column in [each for each in ours if fold(each.name) == fold(item.alias)]:
            if sum(1 for _ in value.walk()) > _LONGEST:  # what the next LATERAL reads would grow with each of them
                raise QueryRefused(
                    "what a LATERAL computes is too long: it would be written out wherever it is read",
                    hint="let it aggregate, and compute with its columns outside",
                )
            shown = column.parent is select
            column.replace(aliased(copied(value), column.name) if shown else paren(copied(value)))
    return listed


def _may_be_of(column: exp.Column, alias: str) -> bool:
    return not column.table or fold(column.table) == fold(alias)
