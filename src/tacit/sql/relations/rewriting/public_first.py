"""A public table LEFT JOIN people: every public group is in the answer anyway, so the join need keep none.

An outer join that keeps rows of nobody would have them counted, or not, by what everybody else has. But where groups
are of the public table, and no aggregate gains by a row in which all that is of people is NULL, such a row adds
nothing: COUNT(v.x) of it is zero, SUM(v.x) is empty. Then the inner join has the same groups with the same numbers,
and lists the empty ones. So it has where WHERE, or a later join, leaves such rows out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.policy import Policy, TablePolicy, fold
from tacit.sql.expressions.absent import Absent
from tacit.sql.expressions.names.printing import copied
from tacit.sql.relations.rewriting.unowned_rows import UnownedRows, side_of

_SIDES = {"LEFT", "RIGHT", "FULL"}


def without_empty_rows(select: exp.Select, policy: Policy) -> exp.Select:
    """The same question without the rows of nobody, where that is the same; else as it is, to be refused."""
    joins = select.args.get("joins") or ()
    if select.args.get("from_") is None or not any(side_of(join) in _SIDES for join in joins):
        return select
    sources = _sources(select, policy)
    if sources is None:
        return select
    narrowed = {at: side for at, join in enumerate(joins) if (side := _narrowed(join, sources[: at + 2])) is not None}
    if (
        not narrowed
        or not UnownedRows(select, _columns_of_people(select, sources, narrowed), max(narrowed)).add_nothing()
    ):
        return select
    copy = copied(select)
    for at, side in narrowed.items():
        copy.args["joins"][at].set("side", side or None)
        copy.args["joins"][at].set("kind", None)
    return copy


@dataclass(frozen=True, slots=True)
class _Source:
    """What stands after FROM or JOIN: its alias, whether it is public, and which columns it is known to have."""

    alias: str
    is_public: bool
    names: frozenset[str]


def _narrowed(join: exp.Join, sources: Sequence[_Source]) -> str | None:
    """The side of a join that keeps no rows of public tables alone; nothing where it keeps none as it is."""
    before, here = any(not source.is_public for source in sources[:-1]), not sources[-1].is_public
    side = side_of(join)
    if join.kind in {"SEMI", "ANTI"}:  # they keep no columns of the other side
        return None
    if side == "FULL" and before is not here:
        return "LEFT" if before else "RIGHT"
    keeps_public = (side == "LEFT" and here and not before) or (side == "RIGHT" and before and not here)
    return "" if keeps_public else None


def _columns_of_people(select: exp.Select, sources: Sequence[_Source], narrowed: Iterable[int]) -> Absent:
    """Which columns are of people. One that USING names is there in every row, whoever has a partner."""
    joins = select.args.get("joins") or ()
    kept = [joins[at] for at in narrowed if side_of(joins[at]) != "FULL"]
    shared = {fold(name.name) for join in kept for name in join.args.get("using") or ()}

    def is_of_people(column: exp.Column) -> bool:
        alias, name = fold(column.table), fold(column.name)
        of = [each for each in sources if not each.is_public and (each.alias == alias if alias else name in each.names)]
        return bool(of) and bool(alias or name not in shared)

    return is_of_people


def _sources(select: exp.Select, policy: Policy) -> list[_Source] | None:
    """What a select reads from, in order; nothing where one of them is not known."""
    clause = select.args.get("with_")
    common = {fold(cte.alias): cte.this for cte in (clause.expressions if clause is not None else ())}
    listed: list[_Source] = []
    for holder in (select.args["from_"], *(select.args.get("joins") or ())):
        private = _private_tables(holder.this, policy, common)
        if private is None:
            return None
        listed.append(_Source(fold(holder.this.alias_or_name), not private, _names(holder.this, private, common)))
    return listed


def _private_tables(
    node: exp.Expr, policy: Policy, common: dict[str, exp.Expr], depth: int = 0
) -> list[TablePolicy] | None:
    """The private tables that a source reads, of the policy or by way of WITH; nothing where one is of neither."""
    found: list[TablePolicy] = []
    for table in node.find_all(exp.Table):
        name = fold(table.name)
        meant = next((each for each in policy.tables if fold(each.name) == name), None)
        if not table.db and name in common and depth <= len(common):
            below = _private_tables(common[name], policy, common, depth + 1)
            if below is None:
                return None
            found += below
        elif meant is None or table.db:
            return None
        elif not meant.public:
            found.append(meant)
    return found if isinstance(node, exp.Table) or node.find(exp.Table) else None


def _names(node: exp.Expr, private: Sequence[TablePolicy], common: dict[str, exp.Expr]) -> frozenset[str]:
    """The columns of people that a source has, for those who write them without its alias."""
    query = common.get(fold(node.name)) if isinstance(node, exp.Table) else node
    select = query.find(exp.Select) if query is not None else None
    declared = {fold(column.name) for table in private for column in table.columns}
    if select is None:
        return frozenset(declared)
    listed = {fold(item.alias_or_name) for item in select.expressions}
    return frozenset(listed | (declared if select.find(exp.Star) else set()) if private else ())
