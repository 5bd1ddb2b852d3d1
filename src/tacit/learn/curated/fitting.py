"""Fitting to a table behind a curator: planned, charged, added up by the engine, and kept, in this order."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from tacit.core import Loss, decimal_text
from tacit.curator.jobs.caps import caps
from tacit.curator.jobs.pricing import check_limit, concentrated
from tacit.curator.payment import Payment, pay
from tacit.curator.reusing.reuse import data_version
from tacit.curator.unexpected import planning
from tacit.engines import Engine, one_state
from tacit.errors import InvalidParameter, QueryRefused
from tacit.learn.accuracy.first import AccuracyFirst
from tacit.learn.accuracy.telling import Reached
from tacit.learn.curated import accuracy as curated_accuracy
from tacit.learn.curated.accuracy import give, plan_of_accuracy, reached
from tacit.learn.curated.plans import FitPlan, FitRequest, T, TableJob
from tacit.learn.curated.search import Chosen, TableSearch, chosen, keep, plan_of_table
from tacit.learn.curated.table_columns import (
    coded_column,
    declared_classes,
    declared_features,
    declared_names,
    feature_names,
    rows_of_a_unit,
)
from tacit.learn.searching import PrivateSearch
from tacit.learn.sums.studies import Declared, Learnt, SumsLearner, spendable
from tacit.ledger import Answer, Charge, Inquiry, Ledger
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, ColumnPolicy, Policy, TablePolicy
from tacit.sql.rules import Facts
from tacit.sql.workloads.binned import coded_rows
from tacit.sql.workloads.owned import owned_rows, owned_table, raw_types, unit_facts


@dataclass(frozen=True, slots=True)
class TableLearner:
    """Fits models to one dataset's tables. Every sum is added up by the engine; only sums come back."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    source: Source = SYSTEM

    def plan(self, estimator: SumsLearner, request: FitRequest) -> FitPlan:
        """What a fit would add up and cost. Free; raises QueryRefused and InvalidParameter."""
        loss = self._price(estimator, request)
        with planning():
            return self.planned(estimator, request, loss)

    def plan_search(self, search: PrivateSearch, request: FitRequest) -> TableSearch:
        """What a search would run and cost. Free; raises QueryRefused and InvalidParameter."""
        loss = self._price(search, request)
        with planning():
            return plan_of_table(self, search, request, loss)

    def _price(self, estimator: SumsLearner | PrivateSearch, request: FitRequest) -> Loss:
        if not isinstance(estimator, SumsLearner | PrivateSearch):
            raise InvalidParameter(
                f"no way to fit a {type(estimator).__name__} behind a curator",
                hint="those that need sums alone can be: an AdditiveClassifier, a RidgeRegressor, …",
            )
        loss = spendable(
            estimator.epsilon if request.epsilon is None else request.epsilon,
            estimator.delta if request.delta is None else request.delta,
        )
        check_limit(loss.epsilon, self.policy)
        return loss

    def planned(self, estimator: SumsLearner, request: FitRequest, loss: Loss) -> FitPlan:
        """What a fit would add up for this price."""
        table = owned_table(self.policy, request.table)
        if table.public:
            raise QueryRefused(f"{table.name} is public: fit a model to its rows without a curator")
        schema = self.engine.schema()
        types = raw_types(schema, table)
        target = _target(estimator, table, request.target)
        names = feature_names(table, target, request.features or declared_names(estimator.features))
        columns = [table.column(name) for name in names]
        many, classes = estimator.many_classes, ()
        if target is not None and estimator.kind == "classifier":
            classes = declared_classes(getattr(estimator, "classes", None), target, many=many)
        declared = Declared(
            names=tuple(names),
            features=declared_features(estimator.features, columns),
            loss=loss,
            classes=classes,
            rows=rows_of_a_unit(table),
            adjacency=self.policy.adjacency,
            bounds=None if target is None or target.bounds is None else (target.bounds.lower, target.bounds.upper),
        )
        study = estimator.study(declared)
        facts = Facts(
            grids={},
            unit=unit_facts(table, schema),
            max_rows=declared.rows,
            sample_rows=table.unit_column is not None,
            salt=table.name.casefold(),
        )
        goal = None
        if target is not None and study.target is not None:
            goal = coded_column(study.target, target, types)
        read = [*names, target.name] if target is not None else names
        coded = coded_rows(
            owned_rows(table, read, policy=self.policy, schema=schema),
            [coded_column(each, column, types) for each, column in zip(study.columns, columns, strict=True)],
            goal,
            facts=facts,
            dialect=self.engine.dialect,
        )
        told = {name: value for name, value in estimator.get_params().items() if name not in _ELSEWHERE}
        kind = f"{type(estimator).__name__} {sorted(told.items())}"
        name = "" if target is None else target.name
        notes = _notes(table, target)
        return FitPlan(study, classes, coded, table.name, name, kind, notes, self.policy.version, declared.times)

    def fit(self, estimator: SumsLearner | PrivateSearch | AccuracyFirst, request: FitRequest, analyst: str) -> str:
        """Charge, then add up and learn; the hash of the entry that says so. The same request again is free."""
        who = self.policy.analyst(analyst)
        match estimator:
            case PrivateSearch():
                return self._paid(self._search(estimator, request), request, who)
            case AccuracyFirst():
                return self._paid(self._accuracy(estimator, request), request, who)
            case _:
                return self._paid(self._fit(estimator, request), request, who)

    def _fit(self, estimator: SumsLearner, request: FitRequest) -> TableJob[Learnt]:
        plan = self.plan(estimator, request)
        return TableJob(
            plan=plan,
            price=plan.model,
            hash=plan.hash,
            read=lambda: self._learnt(plan),
            to_bytes=_to_bytes,
            from_bytes=_from_bytes,
            give=lambda learnt: estimator.hold(
                plan.study, learnt, names=plan.names, classes=plan.classes, notes=plan.notes
            ),
        )

    def _search(self, search: PrivateSearch, request: FitRequest) -> TableJob[Chosen]:
        wanted = self.plan_search(search, request)
        return TableJob(
            plan=wanted.fits[0],
            price=wanted.plan,
            hash=wanted.hash,
            read=lambda: chosen(self, wanted),
            to_bytes=Chosen.to_bytes,
            from_bytes=Chosen.from_bytes,
            give=lambda choice: keep(search, wanted, choice),
        )

    def _accuracy(self, model: AccuracyFirst, request: FitRequest) -> TableJob[Reached]:
        with planning():
            wanted = plan_of_accuracy(self, model, request)
        check_limit(wanted.loss.epsilon, self.policy)
        return TableJob(
            plan=wanted.fit,
            price=wanted,
            hash=wanted.hash,
            read=lambda: reached(self, wanted),
            to_bytes=curated_accuracy.to_bytes,
            from_bytes=curated_accuracy.from_bytes,
            give=lambda outcome: give(model, wanted, outcome),
        )

    def _paid(self, job: TableJob[T], request: FitRequest, who: AnalystPolicy) -> str:
        payment: Payment[T] = Payment(
            charge=self._charge(job, who, fresh=request.fresh or not self.policy.budget.reuse),
            caps=caps(self.policy, who),
            what="the model",
            read=job.read,
            kept=lambda value: [Answer(job.to_bytes(value))],
            restored=lambda bodies: job.from_bytes(bodies[0]),
        )
        paid = pay(self.ledger, payment)
        job.give(paid.value)
        return paid.entry

    def _learnt(self, plan: FitPlan) -> Learnt:
        with one_state(self.engine) as state:
            return plan.study.learn(plan.rows(state.execute), self.source)

    def _charge(self, job: TableJob[T], who: AnalystPolicy, *, fresh: bool) -> Charge:
        plan, price, by = job.plan, job.price, ", ".join(job.plan.names)
        what = f"{plan.target} BY {by}" if plan.target else by
        said = f"FIT {decimal_text(price.loss.epsilon)} {what} FROM {plan.table}"
        version = hashlib.sha256(data_version(self.policy, self.engine).encode()).hexdigest()[:16]
        return Charge(
            dataset=self.policy.dataset.name,
            analyst=who.name,
            groups=who.groups,
            loss=price.loss,
            zcdp=concentrated(price.event),
            plan_hash=job.hash,
            policy_version=self.policy.version,
            kind="fit",
            request_id=None if fresh else f"fit {version} {job.hash}",
            note=said if len(said) <= 200 else f"{said[:196]} …",
            asked=Inquiry(questions=(said,), parameters=("{}",), tables=(plan.table,)),
        )


_ELSEWHERE = {"epsilon", "delta", "features", "classes", "source", "max_rows"}  # what a plan says by itself


def _target(estimator: SumsLearner, table: TablePolicy, name: str | None) -> ColumnPolicy | None:
    """The column that is predicted, where the model predicts one."""
    learns = estimator.kind in {"classifier", "regressor"}
    if learns and name is None:
        raise InvalidParameter(
            f"{type(estimator).__name__} predicts a column: nobody said which", hint="name it: target=…, or --target …"
        )
    if not learns and name is not None:
        raise InvalidParameter(
            f"{type(estimator).__name__} predicts no column", hint="leave the target out: target=, or --target"
        )
    return None if name is None else table.column(name)


def _notes(table: TablePolicy, target: ColumnPolicy | None) -> tuple[str, ...]:
    notes = []
    if target is not None:
        missing = "of no class" if target.bounds is None else "missing, or of no class"
        notes.append(f"left out: rows whose {target.name} is {missing}")
    if table.unit_column is not None:
        notes.append(f"counts at most {table.max_rows} rows of a unit")
    return tuple(notes)


def _to_bytes(learnt: Learnt) -> bytes:
    return json.dumps({name: np.asarray(value).tolist() for name, value in learnt.items()}).encode("ascii")


def _from_bytes(body: bytes) -> Learnt:
    return {name: np.array(value, dtype=np.float64) for name, value in json.loads(body).items()}
