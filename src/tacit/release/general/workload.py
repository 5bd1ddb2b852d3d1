"""A workload: counts of a table asked one by one, for one price, most of them answered free by a public hypothesis.

Guarantee. A run is one use of `OnlineWeights` over the cells of the columns, and one noisy number of rows: both are
priced for what one unit moves a count, which is what bounding leaves of it (the sum over all cells, and so over any of
them, is at most `sensitivity`; under replacement one such sum is taken away and one added, and neither is negative, so
that no count moves further). ε adds up over the two. The whole is charged before a row is read, and nothing of it is
given back: how much of it is used depends on the data. The exact cells stay with the run; it shows its answers alone.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.core import ComposedEvent, Event, Loss, Number, positive
from tacit.core.digests import digest
from tacit.curator.jobs.pricing import check_limit, concentrated
from tacit.curator.unexpected import bare_error
from tacit.engines import Engine, State
from tacit.errors import InvalidParameter, QueryRefused
from tacit.mechanisms import Laplace
from tacit.noise import IntArray, Source
from tacit.policy import AnalystPolicy, Policy, fold, resolve_types
from tacit.release.general.online import OnlineRun, OnlineWeights
from tacit.release.publishing import PricedPlan, Publisher
from tacit.release.synthesise.columns import Attribute, chosen_columns, key_of
from tacit.release.synthesise.conditions import cells_meeting, rows_meeting
from tacit.release.synthesise.counting import MarginalCounter, TablePlan, plan_counts
from tacit.release.synthesise.table import SyntheticTable
from tacit.sql.binding.rows import conjuncts, row_rule

MOST_CELLS = 1 << 16  # of all columns together
MOST_CORRECTIONS = 1_000
_FOR_SIZE = Fraction(1, 20)  # of ε, for how many rows there are
_SURE = Fraction(95, 100)
_ABOVE = Fraction(11, 10)  # how far above the error of comparing the threshold is: few hits are mistaken


@dataclass(frozen=True, slots=True)
class WorkloadAnswer:
    """A count: `error` is how far, 95 times in 100, none of the promised questions' answers is off; None once used up.

    `measured` says whether the data were asked for it; `left` how many times they may be again.
    """

    value: float
    error: float | None
    measured: bool
    left: int

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """A workload over some columns of a table. `questions` is for how many its error is stated.

    `corrections` is how often the data may be measured, `threshold` how many rows the hypothesis may be off, about,
    before they are; by default a little more than the comparison itself may err.
    """

    table: str
    columns: tuple[str, ...]
    epsilon: Number
    questions: int = 1_000
    corrections: int = 100
    threshold: int | None = None

    def plan(self, policy: Policy, engine: Engine) -> WorkloadPlan:
        """Bind the columns and share out the price. Reads public tables alone; raises QueryRefused."""
        epsilon = positive(self.epsilon, "epsilon")
        check_limit(epsilon, policy)
        if not 1 <= self.corrections <= MOST_CORRECTIONS or self.questions < 1:
            raise InvalidParameter(f"a workload has 1 to {MOST_CORRECTIONS:,} corrections, and at least one question")
        typed = resolve_types(policy, engine.schema())
        declared = typed.table(self.table)
        keys = [key_of(declared, column) for column in chosen_columns(declared, self.columns)]
        counted = plan_counts(
            typed, engine, declared, keys=keys, axes=[tuple(range(len(keys)))], most=MOST_CELLS,
            most_together=MOST_CELLS,
        )  # fmt: skip
        size = Laplace.costing(Loss(epsilon * _FOR_SIZE), counted.sensitivity)
        rest = Loss(epsilon * (1 - _FOR_SIZE))
        given = self.threshold
        if given is None:
            first = _weights(rest, self.corrections, 0, counted)
            given = math.ceil(first.sparse.error(_SURE, questions=self.questions) * _ABOVE / counted.weight)
        if given < 0:
            raise InvalidParameter("the threshold is a number of rows, and not negative")
        weights = _weights(rest, self.corrections, given * counted.weight, counted)
        return WorkloadPlan(counted, Loss(epsilon), weights, size, self.questions)


def _weights(loss: Loss, corrections: int, threshold: int, counted: TablePlan) -> OnlineWeights:
    return OnlineWeights.costing(loss, threshold=threshold, corrections=corrections, sensitivity=counted.sensitivity)


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """What a run counts, costs and promises."""

    counted: TablePlan
    loss: Loss
    weights: OnlineWeights
    size: Laplace  # noise on how many rows there are
    questions: int

    @property
    def event(self) -> Event:
        """What an accountant needs to know of a whole run, and of its number of rows."""
        return ComposedEvent(((self.weights.event(), 1), (self.size.event(self.counted.sensitivity), 1)))

    @property
    def error(self) -> float:
        """How far, 95 times in 100, no answer is off, in rows, while corrections are left."""
        return self.weights.error(_SURE, questions=self.questions) / self.counted.weight

    def priced(self) -> PricedPlan[OnlineRun]:
        """The plan with its price, as a payment wants it. What is read are exact cells: they never leave the run."""
        counted = self.counted
        (axes,) = counted.plans
        names = ", ".join(f'"{each.name}"' for each in counted.attributes)
        return PricedPlan(
            what="the workload",
            table=counted.table,
            said=f'WORKLOAD {names} FROM "{counted.table}" CORRECTIONS {self.weights.sparse.hits}',
            shape=digest(str(self.weights), str(self.size), counted.plans[axes].key),
            loss=self.loss,
            rho=concentrated(self.event).rho,
            read=self._begun,
            pack=_never,
            unpack=_never,
            other=self.event,
        )

    def _begun(self, state: State, source: Source) -> OnlineRun:
        """A run over the exact cells, with a noisy number of rows. Whatever breaks it off carries none of them out."""
        (axes,) = self.counted.plans
        cells: IntArray = MarginalCounter(self.counted, state)(axes).ravel()
        rows = max(1, int(self.size.release([int(cells.sum())], source)[0]))
        return self.weights.start(cells, rows=rows, source=source)


class OnlineWorkload:
    """A run in progress. It holds the data, so it shows nothing of them but its answers. Safe for many threads."""

    __slots__ = ("__lock", "__plan", "__run", "entry")

    def __init__(self, plan: WorkloadPlan, run: OnlineRun, *, entry: str) -> None:
        self.__plan, self.__run, self.__lock, self.entry = plan, run, threading.Lock(), entry

    @property
    def left(self) -> int:
        """How many more corrections are paid for."""
        return self.__run.left

    @property
    def columns(self) -> tuple[str, ...]:
        """What conditions may speak of."""
        return tuple(each.name for each in self.__plan.counted.attributes)

    @property
    def error(self) -> float:
        """How far, 95 times in 100, none of the promised questions' answers is off, in rows, while `left` is not 0."""
        return self.__plan.error

    def count(self, condition: str) -> WorkloadAnswer:
        """About how many rows meet a condition on the columns, in DuckDB's SQL: `workload.count("age < 40 AND ill")`.

        Nothing more is charged. With no corrections left the hypothesis answers alone, and no error is stated.
        """
        counted = self.__plan.counted
        query = universe_meeting(condition, counted.table, counted.attributes).astype(np.int8)
        try:
            with self.__lock:
                open_before = self.__run.left > 0
                answer = self.__run.ask(query)
        except BaseException as broken:  # on its way it passed exact counts, and holds on to them
            told = bare_error(broken, "the count")
        else:
            error = self.__plan.error if open_before else None
            return WorkloadAnswer(answer.value / counted.weight, error, answer.measured, answer.left)
        raise told

    def __repr__(self) -> str:
        return f"<workload on {self.__plan.counted.table}: {self.__plan.loss}, {self.left} corrections left>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a workload is neither copied nor pickled: it holds what nobody may see")


def open_workload(publisher: Publisher, request: WorkloadRequest, who: AnalystPolicy) -> OnlineWorkload:
    """Charge for a whole run, read the cells, and begin."""
    plan = request.plan(publisher.policy, publisher.engine)
    paid = publisher.hold(plan.priced(), who)
    return OnlineWorkload(plan, paid.value, entry=paid.entry)


def universe_meeting(condition: str, table: str, attributes: tuple[Attribute, ...]) -> NDArray[np.bool_]:
    """Of every combination of cells whether it meets a condition: an AND of parts, each on one column, or on several
    whose cells are single values.
    """
    shape = tuple(each.cells for each in attributes)
    met = np.ones(shape, dtype=bool)
    named = {fold(each.name): axis for axis, each in enumerate(attributes)}
    for part in conjuncts(row_rule(condition, table)):
        unknown = [name for name in part.columns if fold(name) not in named]
        if unknown:
            known = ", ".join(each.name for each in attributes)
            raise QueryRefused(f"the workload does not know {unknown[0][:60]}", hint=f"it was opened over {known}")
        axes = sorted({named[fold(name)] for name in part.columns})
        if not axes:
            raise QueryRefused("a condition reads no column", hint="leave it out")
        one_or_more = _part_meeting(part.condition, [attributes[axis] for axis in axes])
        met &= np.expand_dims(one_or_more, tuple(axis for axis in range(len(shape)) if axis not in axes))
    return met.ravel()


def _part_meeting(condition: str, attributes: list[Attribute]) -> NDArray[np.bool_]:
    if len(attributes) == 1:
        return cells_meeting(condition, attributes[0])
    wide = [each.name for each in attributes if any(width > 1 for width in each.widths)]
    if wide:
        raise QueryRefused(
            f"a condition on several columns reads {wide[0]}, whose values are known by their bins alone",
            hint="write AND between conditions that are each on one column",
        )
    shape = tuple(each.cells for each in attributes)
    codes = tuple(index.ravel() for index in np.indices(shape))
    zeros = np.zeros(codes[0].size, dtype=np.int64)
    table = SyntheticTable("cells", tuple(attributes), codes, (zeros,) * len(attributes))
    return rows_meeting(condition, table).reshape(shape)


def _never(_: object) -> NoReturn:
    raise TypeError("a workload is kept nowhere")
