"""A wish for hierarchical counts: its places, their cells, and which level has how much of the price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Number, rational
from tacit.core.digests import digest
from tacit.curator.forms.extras import needs
from tacit.curator.measuring.measure import listed
from tacit.engines import Engine
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import ColumnPolicy, ListDomain, Policy, TableDomain, TablePolicy, fold, resolve_types
from tacit.release.hierarchies.counts import HierarchicalCounts
from tacit.release.hierarchies.measuring import HierarchyPlan, PublicTotals, read_hierarchy
from tacit.release.hierarchies.tree import PlaceTree, tree_of
from tacit.release.hierarchies.whole import EXTRA
from tacit.release.noisy_counts import noisy_counts
from tacit.release.publishing import PricedPlan, check_public_totals, gaussian_price
from tacit.release.synthesise.columns import ColumnKey, chosen_columns, key_of, refuse_empty
from tacit.release.synthesise.counting import TablePlan, plan_all_rows, plan_counts
from tacit.sql.emitting.dialects import rows_of

MOST_PLACES = 1_000_000
EVERYTHING = "*"  # in public_totals: the number of all rows
_TOTALS = Fraction(1, 4)  # of a level's price, for how many there are in each place, whatever their cells
_WHAT = "hierarchical counts"


@dataclass(frozen=True, slots=True)
class HierarchyRequest:
    """Counts of a table at every level of a public tree, and in each place by the cells of other columns.

    `place` is the column of the lowest level; its domain is a public table's column, and `levels` are columns of that
    table, from the top. `shares` say how the price is divided among the whole, each of `levels` and the places: any
    numbers that are not negative, in proportion; equally where none are given.
    """

    table: str
    place: str
    epsilon: Number
    delta: Number | None = None
    levels: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    shares: tuple[Number, ...] = ()
    fresh: bool = False
    request_id: str | None = None

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[HierarchicalCounts]:
        """Bind the columns, read the public tree, and price all levels. Reads public tables alone."""
        loss = gaussian_price(policy, self.epsilon, self.delta, what=_WHAT)
        typed = resolve_types(policy, engine.schema())
        declared = typed.table(self.table)
        place, *others = chosen_columns(declared, (self.place, *self.by))
        lines = _lines(place, declared, self.levels, engine)
        keys = [key_of(declared, column) for column in (place, *others)]
        axes = tuple(range(len(keys)))
        counted = plan_counts(typed, engine, declared, keys=keys, axes=[axes], most=MOST_PLACES)
        refuse_empty(declared.name, counted.attributes[0])
        tree = tree_of(self.levels, lines, leaf=place.name, values=counted.attributes[0].values)
        held = _held(declared, typed, tree, counted)
        shares = shares_of_levels(self.shares, tree.levels)
        least = min(share for share in shares if share) * min(_TOTALS, 1 - _TOTALS)
        planned = HierarchyPlan(
            noisy=noisy_counts(counted, policy, loss, least=least),
            tree=tree,
            shares=shares,
            totals=_TOTALS,
            held=held,
            public=_public(typed, engine, declared, keys[0], held=held),
        )
        return PricedPlan(
            what="the hierarchy",
            table=declared.name,
            said=_said(planned),
            shape=_digest(planned),
            loss=loss,
            rho=planned.noisy.rho,
            read=lambda state, source: read_hierarchy(planned, state, source),
            pack=HierarchicalCounts.to_bytes,
            unpack=HierarchicalCounts.from_bytes,
        )


def shares_of_levels(shares: Sequence[Number], levels: Sequence[str]) -> tuple[Fraction, ...]:
    """The part of rho that each level has: exact, and together the whole."""
    weights = [rational(share, "a share") for share in shares] or [Fraction(1)] * len(levels)
    if min(weights) < 0:
        raise InvalidParameter("a share is negative: shares are in proportion to each other")
    if len(weights) != len(levels):
        raise InvalidParameter(
            f"there are {len(weights)} shares for {len(levels)} levels", hint=f"one each for {', '.join(levels)}"
        )
    if not weights[-1]:
        raise InvalidParameter("the lowest level has no share", hint="give the last of the shares some of the price")
    return tuple(weight / sum(weights) for weight in weights)


def _lines(
    place: ColumnPolicy, declared: TablePolicy, levels: Sequence[str], engine: Engine
) -> list[tuple[object, ...]]:
    """Every line of the public table that says where places lie."""
    domain = place.domain
    if not isinstance(domain, (ListDomain, TableDomain)):
        raise QueryRefused(
            f"{declared.name}.{place.name} has no listed places: they are public, and never read off the data",
            hint=f'add {place.name} = {{ domain = {{ table = "…", column = "…" }} }} to [tables.{declared.name}.columns]',  # noqa: E501
        )
    if not levels:
        return []
    if isinstance(domain, ListDomain):
        raise QueryRefused(
            f"nothing says where each {place.name} lies: its places are a list in the policy",
            hint=f'keep them in a public table: {place.name} = {{ domain = {{ table = "…", column = "…" }} }}',
        )
    known = {fold(table): columns for table, columns in engine.schema().items()}[fold(domain.table)]
    spelt = {fold(column): column for column in known}
    for level in levels:
        if fold(level) not in spelt:
            raise QueryRefused(f"the public table {domain.table} has no column {level[:60]}")
    columns = [spelt[fold(name)] for name in (*levels, domain.column)]
    if len(set(columns)) < len(columns):
        raise InvalidParameter("a level is named twice")
    exact = engine.execute(rows_of(domain.table, columns, dialect=engine.dialect))
    lines = zip(*(listed(exact.keys(column)) for column in columns), strict=True)
    return [line for line in lines if line[-1] is not None]


def _held(declared: TablePolicy, policy: Policy, tree: PlaceTree, counted: TablePlan) -> int | None:
    """The lowest level whose totals the curator has declared public; None where there is none."""
    said = declared.public_totals
    if said is None:
        return None
    names = [fold(level) for level in tree.levels]
    if said != EVERYTHING and fold(said) not in names[1:]:
        return None
    check_public_totals(declared, policy)
    if len(counted.attributes) > 1:
        needs("scipy", extra=EXTRA)  # before anything is paid
    return 0 if said == EVERYTHING else names.index(fold(said), 1)


def _public(
    typed: Policy, engine: Engine, declared: TablePolicy, place: ColumnKey, *, held: int | None
) -> PublicTotals | None:
    """What counts the totals that are public: all rows that a place has, or that there are, whatever else they hold."""
    if held is None:
        return None
    by_place = plan_counts(typed, engine, declared, keys=[place], axes=[(0,)], most=MOST_PLACES)
    return PublicTotals(by_place, plan_all_rows(typed, engine, declared.name))


def _said(plan: HierarchyPlan) -> str:
    quoted = [f'"{name}"' for name in (*plan.tree.levels[1:], *(each.name for each in plan.counted.attributes[1:]))]
    depth = len(plan.tree.levels) - 1
    by = f" BY {', '.join(quoted[depth:])}" if quoted[depth:] else ""
    return f'HIERARCHY {", ".join(quoted[:depth])}{by} FROM "{plan.counted.table}"'


def _digest(plan: HierarchyPlan) -> str:
    (counted,) = plan.counted.plans.values()
    return digest(
        counted.key, str(plan.shares), str(plan.totals), str(plan.held), str(plan.noisy.l2), repr(plan.tree.paths)
    )
