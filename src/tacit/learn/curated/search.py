"""A search among models behind a curator: all of it is charged first, then runs are fitted, scored and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core import Loss
from tacit.core.digests import digest
from tacit.engines import one_state
from tacit.errors import InvalidParameter
from tacit.learn.curated.plans import FitPlan, FitRequest, PlansFits
from tacit.learn.searching import PrivateSearch, SearchPlan, copy_at, number_of_runs, plan_table_search
from tacit.learn.sums.studies import Learnt, Study, SumsClassifier, SumsLearner
from tacit.noise import uniform_integer


@dataclass(frozen=True, slots=True)
class TableSearch:
    """What a search of a table will run and cost. Made without reading a row."""

    plan: SearchPlan
    candidates: tuple[SumsClassifier, ...]
    fits: tuple[FitPlan, ...]  # one for each, at the price of a run

    @property
    def loss(self) -> Loss:
        """What all of it costs."""
        return self.plan.loss

    @property
    def hash(self) -> str:
        """The same for searches that run, charge and choose alike."""
        return digest("search", str(self.plan), *(fit.hash for fit in self.fits))


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The best run: which candidate it was, about how many rows it tells right, and what it learned."""

    index: int
    right: int
    learnt: Learnt

    def to_bytes(self) -> bytes:
        """The choice as the bytes that the ledger keeps."""
        learnt = {name: np.asarray(value).tolist() for name, value in self.learnt.items()}
        return json.dumps({"index": self.index, "right": self.right, "learnt": learnt}).encode("ascii")

    @classmethod
    def from_bytes(cls, body: bytes) -> Chosen:
        """The choice that `to_bytes` wrote."""
        kept = json.loads(body)
        learnt = {name: np.array(value, dtype=np.float64) for name, value in kept["learnt"].items()}
        return cls(int(kept["index"]), int(kept["right"]), learnt)


def plan_of_table(learner: PlansFits, search: PrivateSearch, request: FitRequest, loss: Loss) -> TableSearch:
    """What a search would run and cost. Free; raises QueryRefused and InvalidParameter."""
    candidates = _judged(search)

    def studied(candidate: SumsLearner, price: Loss) -> Study:
        return learner.planned(candidate, request, price).study

    times = learner.planned(candidates[0], request, loss).times
    plan = plan_table_search(loss, search.chance(), candidates, studied=studied, times=times)
    fits = tuple(learner.planned(each, request, plan.run) for each in candidates)
    if any(len(fit.classes) != 2 for fit in fits):
        raise InvalidParameter("a search of a table compares models that tell two classes apart")
    return TableSearch(plan, tuple(candidates), fits)


def _judged(search: PrivateSearch) -> Sequence[SumsClassifier]:
    """The candidates, if an engine can count what each of them tells right."""
    candidates = []
    for each in search.candidates:
        if not isinstance(each, SumsClassifier) or not each.can_count_right:
            raise InvalidParameter(
                f"no engine can count what a {type(each).__name__} tells right",
                hint="search among AdditiveClassifier, LogisticClassifier and NaiveBayesClassifier",
            )
        candidates.append(each)
    if not candidates:
        raise InvalidParameter("there is nothing to search among", hint="[LogisticClassifier(), AdditiveClassifier()]")
    return candidates


def chosen(learner: PlansFits, wanted: TableSearch) -> Chosen:
    """Run as often as is drawn, each time a random candidate; the best is what is told, and nothing else."""
    tried = []
    with one_state(learner.engine) as state:
        for _ in range(number_of_runs(wanted.plan.chance, learner.source)):
            index = int(uniform_integer(len(wanted.fits), 1, source=learner.source)[0])
            fit = wanted.fits[index]
            data = fit.rows(state.execute)
            learnt = fit.study.learn(data, learner.source)
            exact = _held(wanted, index, learnt).right_in(data)
            tried.append(Chosen(index, int(wanted.plan.noise.release([exact], learner.source)[0]), learnt))
    return max(tried, key=lambda run: run.right)


def _held(wanted: TableSearch, index: int, learnt: Learnt) -> SumsClassifier:
    fit = wanted.fits[index]
    model = copy_at(wanted.candidates[index], wanted.plan.run, None)
    return model.hold(fit.study, learnt, names=fit.names, classes=fit.classes, notes=fit.notes)


def keep(search: PrivateSearch, wanted: TableSearch, chosen: Chosen) -> None:
    """Give the search what it found."""
    model = _held(wanted, chosen.index, chosen.learnt)
    search.hold(wanted.plan, model, index=chosen.index, right=float(chosen.right))
