"""Questions over `t SYNTHETIC`, answered: computed from the rows of a model that was paid for, and so for nothing.

What a model gives is a function of the model and of our own coins, and the model is private: so is whatever is computed
from it, by any function (post-processing). No row of the source is read here, no table but a public one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import NOTHING, decimal_text
from tacit.core.digests import digest
from tacit.curator.computing.computing import apart
from tacit.curator.computing.public import public_table
from tacit.curator.explaining.explain import Explanation
from tacit.curator.forms.release import Receipt, Release
from tacit.curator.forms.shape import computed_shape
from tacit.curator.jobs.pricing import Session
from tacit.curator.reusing.reuse import data_version, shelf_of
from tacit.engines.answers.process import SHARED, AnswerEngine, CodedTable, Computed
from tacit.errors import QueryRefused
from tacit.ledger import KeptAnswer
from tacit.policy import Accounting, fold, resolve_types
from tacit.release.publishing import Publisher
from tacit.release.synthesise.asking.held_rows import (
    MOST_HELD,
    SYNTHETIC_ROWS,
    drawn_note,
    drawn_rows,
    error_note,
    held_rows,
    looked_at,
    model_note,
    rehearsed_rows,
)
from tacit.release.synthesise.columns import modelled_columns
from tacit.release.synthesise.model import SyntheticModel
from tacit.release.synthesise.request import model_family
from tacit.sql.expressions.names.typed import SYNTHETIC
from tacit.sql.postprocessing.synthetic import SyntheticQuestion, refuse_price, refuse_private

_CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class ReleasedModel:
    """A model on the shelf: when it was paid for, and whether the data have changed since."""

    model: SyntheticModel
    at: float
    stale: bool


@dataclass(frozen=True, slots=True)
class SyntheticAnswers:
    """Answers questions over the models of one dataset's tables that were released to whoever asks."""

    publisher: Publisher
    engine: AnswerEngine = SHARED

    def explain(self, asked: SyntheticQuestion, *, session: Session) -> Explanation:
        """Which models would answer, and what columns they would give. Free, as the answer is."""
        models = self._models(asked, session)
        held = [rehearsed_rows(_held_name(each.model), each.model.attributes) for each in models.values()]
        computed = self._computed(asked, models, held)
        return Explanation(
            loss=NOTHING,
            unit=self._unit(models),
            bounding="nobody's rows are read",
            measurements=(),
            notes=_notes(asked, models, {}),
            sql=(),
            pretty=(),
            plan=_plan(asked, models),
            confidence=_CONFIDENCE,
            outputs=apart(computed.columns),
            errors=(None,) * len(computed.columns),
            exact=(False,) * len(computed.columns),
            shapes=tuple(computed_shape(kind, noisy=False) for kind in computed.types),
        )

    def ask(self, asked: SyntheticQuestion, *, session: Session) -> Release:
        """The answer: of what is left of a budget, nothing is said yet."""
        models = self._models(asked, session)
        drawn, held = {}, []
        for each in models.values():
            model = each.model
            drawn[model.table] = min(model.rows, MOST_HELD // len(model.attributes))  # the same rows for all questions
            table = drawn_rows(model, drawn[model.table])
            held.append(held_rows(_held_name(model), table, None if asked.starred else asked.read))
        computed = self._computed(asked, models, held)
        return Release(
            columns=apart(computed.columns),
            rows=computed.rows,
            errors=tuple((None,) * len(row) for row in computed.rows),
            confidence=_CONFIDENCE,
            cost=NOTHING,
            left=None,
            reused="a synthetic table that is paid for",
            notes=_notes(asked, models, drawn),
            receipt=Receipt(
                plan=_plan(asked, models),
                policy=self.publisher.policy.version,
                entry=", ".join(each.model.entry for each in models.values()),
                guarantee="; ".join(f"{each.model.loss} for {self._unit(models)}" for each in models.values()),
                unit=self._unit(models),
                mechanisms=tuple(
                    f"discrete Gaussian on marginals of {each.model.table}, ρ = {float(each.model.rho):.4g} in all"
                    for each in models.values()
                ),
            ),
            shapes=tuple(computed_shape(kind, noisy=False) for kind in computed.types),
            keys=(),
        )

    def _unit(self, models: Mapping[str, ReleasedModel]) -> str:
        units = (str(self.publisher.policy.unit_of(each.model.table)) for each in models.values())
        return ", ".join(dict.fromkeys(units))

    def _computed(
        self, asked: SyntheticQuestion, models: Mapping[str, ReleasedModel], held: Sequence[CodedTable]
    ) -> Computed:
        """What the SELECT gives over these rows and the public tables it names."""
        public = refuse_private(asked, self.publisher.policy)
        policy, engine = self.publisher.policy, self.publisher.engine
        tables = [public_table(policy.table(name), engine.schema(), engine) for name in public.values()]
        names = public | {fold(SYNTHETIC + typed): _held_name(each.model) for typed, each in models.items()}
        columns = ", ".join(column.name for each in models.values() for column in each.model.attributes)
        hint = f"nothing was charged; the SELECT is DuckDB's SQL, and the model has {columns[:200]}"
        return looked_at(self.engine, asked.text(names), [*held, *tables], what="the synthetic rows", hint=hint)

    # ── which model ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _models(self, asked: SyntheticQuestion, session: Session) -> dict[str, ReleasedModel]:
        """The model of each synthetic table, by the name that was typed."""
        refuse_price(asked)
        refuse_private(asked, self.publisher.policy)
        return {typed: self._model(typed, asked, session) for typed in asked.tables}

    def _model(self, typed: str, asked: SyntheticQuestion, session: Session) -> ReleasedModel:
        """Of the models that were released to this analyst, the one with the most columns that are read; of several,
        the one with the least noise. A model of the data as they are now is taken before one of an earlier state.
        """
        policy = self.publisher.policy
        table = policy.table(typed)
        if table.public:
            raise QueryRefused(f"{table.name} is public: its rows can be read as they are", hint="leave out SYNTHETIC")
        now = data_version(policy, self.publisher.engine)
        wanted = {fold(column.name) for column in table.columns} & asked.read
        earlier = [each.data_version for each in self.publisher.ledger.states(policy.dataset.name)]
        for version in dict.fromkeys((now, *earlier)):
            best = max(self._kept(table.name, version, session), key=lambda kept: _worth(kept, wanted), default=None)
            if best is not None:
                packed = self.publisher.ledger.answer(best)
                return ReleasedModel(SyntheticModel.from_bytes(packed, entry=best.hash), best.at, stale=version != now)
        raise self._no_model(table.name)

    def _kept(self, table: str, version: str, session: Session) -> Iterator[KeptAnswer]:
        policy = self.publisher.policy
        who = policy.analyst(session.analyst).name
        yield from self.publisher.ledger.kept(
            shelf_of(policy, who, version), family=model_family(table, policy.version)
        )

    def _no_model(self, table: str) -> QueryRefused:
        """Why there is nothing to ask, and what gives it: a statement that every door takes."""
        policy = self.publisher.policy
        what = f"no model of {table} is released yet: {table} SYNTHETIC is computed from one"
        if not policy.budget.reuse:
            return QueryRefused(
                f"no model of {table} is kept: the policy keeps no answers (reuse = false)",
                hint="db.synthesise(…) gives a model, and its query(…) is free",
            )
        if policy.budget.accounting is Accounting.PURE:
            return QueryRefused(what, hint='a model needs a delta, which accounting = "pure" does not have')
        columns = modelled_columns(resolve_types(policy, self.publisher.engine.schema()).table(table))
        if not columns:
            return QueryRefused(
                what, hint=f"none can be made: no column in [tables.{table}.columns] has a domain, or lower and upper"
            )
        most = policy.budget.max_epsilon
        epsilon = decimal_text(min(Fraction(1), most) if most is not None else Fraction(1))
        delta = "" if policy.budget.default_delta else " DELTA 1e-9"
        named = ", ".join(_quoted(name) for name in columns[:3])
        return QueryRefused(what, hint=f"pay for one: DP-SELECT {epsilon}{delta} {named} FROM {_quoted(table)} LIMIT 1")


def _worth(kept: KeptAnswer, wanted: set[str]) -> tuple[int, Fraction, float]:
    facts = json.loads(kept.keep.facts)
    return len(wanted & set(map(fold, facts["columns"]))), Fraction(facts["rho"]), kept.at


def _held_name(model: SyntheticModel) -> str:
    return f"synthetic {model.table}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _notes(asked: SyntheticQuestion, models: Mapping[str, ReleasedModel], drawn: Mapping[str, int]) -> tuple[str, ...]:
    notes = [SYNTHETIC_ROWS]
    for each in models.values():
        model = each.model
        notes.append(model_note(model, at=each.at, stale=each.stale))
        notes.append(error_note(model, asked.read, starred=asked.starred))
        notes.append(drawn_note(drawn.get(model.table, model.rows), model))
    if len(models) > 1:
        notes.append("each model was made by itself: how rows of one table belong to rows of another is in none")
    return tuple(filter(None, notes))


def _plan(asked: SyntheticQuestion, models: Mapping[str, ReleasedModel]) -> str:
    """The same for the same SELECT over the same models."""
    names = {fold(name): name for name in asked.others}
    names |= {fold(SYNTHETIC + typed): typed for typed in asked.tables}
    return digest(asked.text(names), *(each.model.entry for each in models.values()))
