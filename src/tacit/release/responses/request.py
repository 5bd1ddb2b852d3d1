"""A wish for responses: which columns, how much each may tell, and how the number of rows is hidden.

Guarantee. A row x is told as y with density R(y | x), a product over its columns of k-ary randomised response at ε_j
each; U is the law of a row of cells drawn evenly. As k e^ε / (e^ε + k − 1) ≤ e^ε and k / (e^ε + k − 1) ≥ e^(−ε),

    e^(−ε₁) U ≤ R(· | x) ≤ e^(ε₁) U  and  R(· | x) ≤ e^(ε₁) R(· | x'),   ε₁ = Σ ε_j.

*Replacement*, with the number of rows declared public: as many responses leave as there are rows, a row outside of the
domains is told as U, and replacing one of them changes one factor by at most e^(ε₁). So ε₁ = ε, with no δ.

*One more row, or one less*: the number of responses would tell. D rows drawn from U are put among them, and D is
max(0, m + Z) with two-sided geometric Z of scale 1/ε₂; p is its law. Let μ_j be the law of the multiset of all
responses of S and j rows from U. With one more row, M(S + x) = Σ p(j) μ_j ⊗ R(· | x) ≤ e^(ε₁) Σ p(j) μ_{j+1}, and
p(j) ≤ e^(ε₂) p(j + 1) for j ≥ 1, so that M(S + x) ≤ e^(ε₁ + ε₂) M(S) + e^(ε₁) p(0). The other way round,
M(S) = Σ p(j) μ_j ≤ p(0) + Σ_{j ≥ 1} e^(ε₂) p(j − 1) e^(ε₁) μ_{j−1} ⊗ R(· | x) ≤ p(0) + e^(ε₁ + ε₂) M(S + x).
p(0) = P(Z ≤ −m) = q^m / (1 + q) with q = e^(−ε₂), and m is the least whole number (or a little more) for which
e^(ε₁) p(0) ≤ δ. A row outside of the domains is left out: then it changes nothing.

*Too many rows* for memory are not told at all, and that they are too many would tell of the one that makes them so.
Where their number is public it is compared as it is; else with two-sided geometric noise of scale 1/ε₃, before any row
is read: one row moves it by one, so that the comparison costs ε₃, and ε₁ + ε₂ + ε₃ = ε.

What leaves is the multiset, sorted by its cells: the order of the rows in the source is nowhere in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import (
    Adjacency,
    ApproximateEvent,
    Event,
    Loss,
    Number,
    PureEvent,
    decimal_text,
    positive,
    probability,
)
from tacit.core.digests import digest
from tacit.curator.jobs.pricing import check_limit, concentrated
from tacit.engines import Engine, State
from tacit.errors import QueryRefused
from tacit.mechanisms import KaryResponse, Laplace
from tacit.noise import IntArray, Source, uniform_integer
from tacit.policy import Accounting, Policy, TablePolicy, resolve_types
from tacit.release.publishing import PricedPlan
from tacit.release.responses.perturbed import PerturbedTable, lie_of, too_large
from tacit.release.synthesise.columns import MOST_CELLS, chosen_columns, key_of
from tacit.release.synthesise.counting import MarginalCounter, TablePlan, all_rows, plan_all_rows, plan_counts
from tacit.sql import Plan

MOST_TOGETHER = 1 << 62  # cells of all columns together: a number of 64 bits
MOST_MADE_UP = 1_000_000  # rows, in the mean: they are drawn in memory, as many as a small ε needs
MOST_TOLD = 10_000_000  # cells that are told: rows times columns
_FOR_SIZE = Fraction(1, 10)  # of ε, for how many rows there are, where that is not public
_FOR_LIMIT = Fraction(1, 100)  # of ε, for whether there are too many of them, where that is not public


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """Responses to every row of a table, in these columns or in all, at a price."""

    table: str
    columns: tuple[str, ...]
    epsilon: Number
    delta: Number | None = None
    fresh: bool = False
    request_id: str | None = None

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[PerturbedTable]:
        """Bind the columns, and divide the price among them. Reads public tables alone; raises QueryRefused."""
        typed = resolve_types(policy, engine.schema())
        declared = typed.table(self.table)
        _refuse_units(declared)
        loss = _price(policy, declared, self.epsilon, self.delta)
        keys = [key_of(declared, column) for column in chosen_columns(declared, self.columns)]
        counted = plan_counts(
            typed, engine, declared, keys=keys, axes=[tuple(range(len(keys)))], most=MOST_CELLS,
            most_together=MOST_TOGETHER,
        )  # fmt: skip
        _refuse_many(declared, columns=len(keys))
        public = _public_rows(declared, typed)
        planned = response_plan(counted, loss, rows=plan_all_rows(typed, engine, declared.name), public=public)
        event: Event = PureEvent(loss.epsilon) if loss.is_pure else ApproximateEvent(loss)
        names = ", ".join(f'"{each.name}"' for each in counted.attributes)
        return PricedPlan(
            what="the responses",
            table=declared.name,
            said=f'RANDOMISED RESPONSE {names} FROM "{declared.name}"',
            shape=_digest(planned),
            loss=loss,
            rho=concentrated(event).rho,
            read=lambda state, source: read_responses(planned, state, source),
            pack=PerturbedTable.to_bytes,
            unpack=PerturbedTable.from_bytes,
            other=event,
        )


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """What is told of each row, and how many rows are made up."""

    counted: TablePlan
    loss: Loss
    lies: tuple[Fraction, ...]  # of each column, the chance of a lie
    size_epsilon: Fraction  # for how many rows there are; 0 where that is public
    padding: int  # rows that are made up, in the mean
    rows: Plan  # counts all rows
    limit_epsilon: Fraction  # for whether there are too many of them; 0 where their number is public

    @property
    def most(self) -> int:
        """How many rows are told at most."""
        return MOST_TOLD // len(self.counted.attributes)


def response_plan(counted: TablePlan, loss: Loss, *, rows: Plan, public: bool) -> ResponsePlan:
    """The price shared out: the number of rows has its part unless it is public, columns of several cells the rest."""
    size_epsilon, limit_epsilon = (Fraction(0) if public else loss.epsilon * part for part in (_FOR_SIZE, _FOR_LIMIT))
    telling = sum(each.cells > 1 for each in counted.attributes)
    each_has = (loss.epsilon - size_epsilon - limit_epsilon) / max(1, telling)
    lies = tuple(lie_of(attribute, each_has) for attribute in counted.attributes)
    padding = 0
    if size_epsilon:
        told = float(each_has * telling)
        needed = (told - math.log(loss.delta)) / float(size_epsilon) * (1 + 1e-9)
        _refuse_made_up(needed, loss)  # before it is paid; the scales can then be drawn
        padding = math.ceil(needed) + 1
    return ResponsePlan(counted, loss, lies, size_epsilon, padding, rows, limit_epsilon)


def read_responses(plan: ResponsePlan, state: State, source: Source) -> PerturbedTable:
    """The only place where exact rows are: each is told with its coins before anything is made of it."""
    counted = plan.counted
    number = all_rows(plan.rows, state)
    if too_many(plan, number, source):
        return _untold(plan)
    (axes,) = counted.plans
    cells, counts = MarginalCounter(counted, state).counted(axes)
    order = np.argsort(cells)  # whatever order an engine has its groups in
    rows: IntArray = np.repeat(cells[order], counts[order])
    return told_rows(plan, rows, 0 if plan.size_epsilon else number - rows.size, source)


def too_many(plan: ResponsePlan, number: int, source: Source) -> bool:
    """Whether so many rows are more than are told: with noise, but where their number is public."""
    if not plan.limit_epsilon:
        return number > plan.most
    return int(Laplace(1 / plan.limit_epsilon).release([number], source)[0]) > plan.most


def _untold(plan: ResponsePlan) -> PerturbedTable:
    """What leaves where there are too many rows: that there are."""
    nothing: IntArray = np.zeros(0, dtype=np.int64)
    attributes = plan.counted.attributes
    return PerturbedTable(
        plan.counted.table, attributes, plan.lies, (nothing,) * len(attributes), 0, 0.0, plan.loss, limit=plan.most
    )


def told_rows(plan: ResponsePlan, rows: IntArray, outside: int, source: Source) -> PerturbedTable:
    """The responses to rows of cells (as numbers with the last column's digit last), and to some outside of them all.

    `outside` are told of as any cells where the number of rows is public, and not at all where it is hidden: there so
    many rows are made up that nobody can tell.
    """
    counted, made_up = plan.counted, outside
    if plan.size_epsilon:
        made_up = max(0, int(Laplace(1 / plan.size_epsilon).release([plan.padding], source)[0]))
    columns: list[IntArray] = []
    for attribute, lie in zip(reversed(counted.attributes), reversed(plan.lies), strict=True):
        rows, truth = np.divmod(rows, attribute.cells)
        told = KaryResponse(attribute.cells, lie).release(truth, source) if attribute.cells > 1 else truth
        columns.insert(0, np.concatenate([told, uniform_integer(attribute.cells, made_up, source=source)]))
    order = np.lexsort(columns[::-1])
    return PerturbedTable(
        table=counted.table,
        attributes=counted.attributes,
        lies=plan.lies,
        codes=tuple(column[order] for column in columns),
        padding=plan.padding,
        padding_variance=Laplace(1 / plan.size_epsilon).variance if plan.size_epsilon else 0.0,
        loss=plan.loss,
    )


def _price(policy: Policy, table: TablePolicy, epsilon: Number, delta: Number | None) -> Loss:
    """What is asked for: without a delta where the number of rows is public, and with one where it is hidden."""
    asked = positive(epsilon, "epsilon")
    check_limit(asked, policy)
    if table.public_totals is not None:
        return Loss(asked)
    if policy.adjacency is Adjacency.REPLACE:
        raise QueryRefused(
            f"as many responses leave as {table.name} has rows, and nobody declared that number public",
            hint=f'add public_totals = "*" to [tables.{table.name}]',
        )
    if policy.budget.accounting is Accounting.PURE:
        raise QueryRefused(
            'responses are refused under accounting = "pure": made-up rows hide how many there are, and need a delta',
            hint='add delta = 1e-9 to [budget]; or adjacency = "replace" and public_totals = "*" to the policy',
        )
    given = policy.budget.default_delta if delta is None else probability(delta, "delta")
    if not given:
        raise QueryRefused(
            "randomised response needs a delta: made-up rows hide how many there are",
            hint="write DP-SELECT 1 DELTA 1e-9 …, give delta=1e-9, or set default_delta in [budget]",
        )
    return Loss(asked, given)


def _refuse_units(table: TablePolicy) -> None:
    if table.public:
        raise QueryRefused(f"{table.name} is public: its rows can be read as they are")
    if table.unit_column is not None:
        raise QueryRefused(
            f"randomised response hides one row, and a unit of {table.name} may have several",
            hint="leave USING RANDOMISED RESPONSE out: synthetic rows hide a whole unit",
        )


def _refuse_made_up(made_up: float, loss: Loss) -> None:
    if made_up > MOST_MADE_UP:
        raise QueryRefused(
            f"ε = {decimal_text(loss.epsilon)} would need about {made_up:,.0f} rows that nobody is behind, to hide how "
            f"many there are: at most {MOST_MADE_UP:,} are made up",
            hint="ask with a larger epsilon or delta",
        )


def _refuse_many(table: TablePolicy, *, columns: int) -> None:
    """Refuse what the policy says to be too large, before anything is paid."""
    if (table.rows or 0) * columns > MOST_TOLD:
        raise too_large(table.name, MOST_TOLD // columns, columns=columns)


def _public_rows(table: TablePolicy, typed: Policy) -> bool:
    """Whether the number of rows is public."""
    if table.public_totals is None:
        return False
    if typed.adjacency is not Adjacency.REPLACE:
        raise QueryRefused(
            "public_totals need replacement: with one more person, or one less, they would not be the same",
            hint='set adjacency = "replace" in [dataset], or take public_totals out',
        )
    return True


def _digest(plan: ResponsePlan) -> str:
    (counted,) = plan.counted.plans.values()
    return digest(counted.key, repr(plan.counted.attributes), str(not plan.size_epsilon), str(plan.most))
