"""ASOF JOIN: of the rows that suit the one before it, the nearest, by LATERAL … ORDER BY … LIMIT 1."""

from __future__ import annotations

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of, bare, conjuncts

_BEHIND = (exp.GTE, exp.GT)  # the row outside is at or after the one that is looked for: the last of them
_BEFORE = (exp.LTE, exp.LT)


def nearest_as_laterals(select: exp.Select) -> exp.Select:
    """The same rows; a join of another form stays, and is refused by its name."""
    if not any(_is_asof(join) for join in select.args.get("joins") or ()):
        return select
    copy = copied(select)
    for join in [each for each in copy.args["joins"] if _is_asof(each)]:
        lateral = _nearest(join, copy.args["from_"].this.alias_or_name)
        if lateral is not None:
            join.replace(lateral)
    return copy


def _is_asof(join: exp.Join) -> bool:
    return str(join.args.get("method") or "").upper() == "ASOF"


def _nearest(join: exp.Join, first: str) -> exp.Join | None:
    alias, side = join.this.alias_or_name, str(join.args.get("side") or "").upper()
    conditions = [] if join.args.get("on") is None else conjuncts(join.args["on"])
    named = [name.name for name in join.args.get("using") or ()]
    for name in named:  # the last is the one that need not be equal
        kind = exp.GTE if name == named[-1] else exp.EQ
        conditions.append(kind(this=quoted_column(name, first), expression=quoted_column(name, alias)))
    places = [place for place in (_place(condition, alias) for condition in conditions) if place is not None]
    if not alias or not first or side not in {"", "LEFT"} or len(places) != 1:
        return None
    rows = exp.Select(expressions=[exp.Column(this=exp.Star(), table=exp.to_identifier(alias, quoted=True))])
    rows.set("from_", exp.From(this=copied(join.this)))
    whole = all_of([copied(each) for each in conditions])
    rows.set("where", None if whole is None else exp.Where(this=whole))
    rows.set("order", exp.Order(expressions=[places[0]]))
    rows.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    named_as = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    return exp.Join(this=exp.Lateral(this=exp.Subquery(this=rows), alias=named_as), side=side or None, on=exp.true())


def _place(condition: exp.Expression, alias: str) -> exp.Ordered | None:
    """In which order the rows of the table stand, so that the nearest is first."""
    if not isinstance(condition, (*_BEHIND, *_BEFORE)):
        return None
    left, right = bare(condition.this), bare(condition.expression)
    ours = [side for side in (left, right) if isinstance(side, exp.Column) and fold(side.table) == fold(alias)]
    if len(ours) != 1:
        return None
    behind = isinstance(condition, _BEHIND) is (ours[0] is right)
    return exp.Ordered(this=copied(ours[0]), desc=behind, nulls_first=False)
