"""Weighing in one reading of the data, for engines that do not keep a common table but compute it where it is named."""

from __future__ import annotations

from sqlglot import exp

_TOUCHED = "touched"


def weighed_in_one_reading(node: exp.Expression) -> exp.Expression:
    """Count a unit's groups beside its rows rather than in a second reading.

    Before:   WITH spread AS MATERIALIZED (…) SELECT …, COALESCE(w, 1024) AS w FROM spread LEFT JOIN (SELECT u, …
              COUNT(*) … AS w FROM spread GROUP BY u HAVING COUNT(*) > 10) AS heavy ON spread.u = heavy.u
    After:    SELECT …, CASE WHEN touched > 10 THEN … touched … ELSE 1024 END AS w FROM (SELECT *, COUNT(*) OVER
              (PARTITION BY u) AS touched FROM (…) AS spread) AS spread
    Ensures:  the weights are those of the very rows that they weigh, also where files change while they are read.
    """
    kept = node.args.get("with_")
    if not isinstance(kept, exp.With) or not any(cte.args.get("materialized") for cte in kept.expressions):
        return node
    (pairs,) = kept.expressions
    (join,) = node.args["joins"]
    heavy = join.this.this
    unit, weight = heavy.expressions
    last = node.expressions[-1]
    full = last.this.expressions[0]
    case = exp.Case(ifs=[exp.If(this=_counted(heavy.args["having"].this), true=_counted(weight.this))], default=full)
    last.set("this", case)
    touched = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[unit.copy()])
    inner = exp.select(exp.Star(), exp.alias_(touched, _TOUCHED)).from_(_as(pairs.this, pairs.alias))
    node.set("with_", None)
    node.set("joins", None)
    node.set("from_", exp.From(this=_as(inner, pairs.alias)))
    return node


def _counted(value: exp.Expression) -> exp.Expression:
    """The same of a number of groups that stands beside each row."""
    return value.transform(lambda part: exp.column(_TOUCHED) if isinstance(part, exp.Count) else part)


def _as(query: exp.Expression, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))
