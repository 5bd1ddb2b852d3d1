"""Weighing in one reading of the data, for engines that do not keep a common table but compute it where it is named."""

from __future__ import annotations

from sqlglot import exp

from tacit.policy.reading.names import RESERVED
from tacit.sql.expressions.names.printing import copied

_TOUCHED = f"{RESERVED}touched"


def weighed_in_one_reading(node: exp.Expression) -> exp.Expression:
    """Count a unit's groups, or add up its rows, beside its rows rather than in a second reading.

    Before:   WITH spread AS MATERIALIZED (…) SELECT …, shares.w FROM spread JOIN (SELECT u, … COUNT(*) … AS w FROM
              spread GROUP BY u) AS shares ON spread.u = shares.u
    After:    SELECT …, … spread.touched … AS w FROM (SELECT shares.u, …, COUNT(*) OVER (PARTITION BY shares.u) AS
              touched FROM (…) AS shares) AS spread
    Ensures:  the weights are those of the very rows that they weigh, also where files change while they are read.
    """
    kept = node.args.get("with_")
    if not isinstance(kept, exp.With) or not any(cte.args.get("materialized") for cte in kept.expressions):
        return node
    (pairs,) = kept.expressions
    (join,) = node.args["joins"]
    shares = join.this.this
    unit, weight = shares.expressions
    outer, inner = (select.args["from_"].this.alias for select in (node, shares))
    touched = exp.Window(this=copied(weight.find(exp.Count, exp.Sum)), partition_by=[copied(unit)])
    carried = [exp.column(item.alias_or_name, table=inner) for item in pairs.this.expressions]
    rows = exp.select(*carried, exp.alias_(touched, _TOUCHED)).from_(_as(pairs.this, inner))
    node.expressions[-1].replace(exp.alias_(_beside(weight.this, outer), weight.alias))
    node.set("with_", None)
    node.set("joins", None)
    node.set("from_", exp.From(this=_as(rows, outer)))
    return node


def _beside(value: exp.Expression, table: str) -> exp.Expression:
    """The same of a number of groups, or of rows, that stands beside each row."""
    touched = exp.column(_TOUCHED, table=table)
    return value.transform(lambda part: copied(touched) if isinstance(part, (exp.Count, exp.Sum)) else part)


def _as(query: exp.Expression, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))
