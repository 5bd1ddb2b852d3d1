"""Questions for rows, answered: a model of the whole table is paid for once, and its rows are looked at for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.curator.computing.computing import apart
from tacit.curator.explaining.explain import Explanation
from tacit.curator.forms.release import Receipt, Release
from tacit.curator.forms.shape import ColumnShape
from tacit.curator.jobs.pricing import Session, row_price
from tacit.engines.answers.process import SHARED, AnswerEngine, CodedTable, Computed
from tacit.policy import fold, resolve_types
from tacit.release.publishing import Publisher
from tacit.release.synthesise.asking.held_rows import (
    MOST_DRAWN,
    SYNTHETIC_ROWS,
    drawn_rows,
    held_rows,
    looked_at,
    rehearsed_rows,
)
from tacit.release.synthesise.columns import Attribute, modelled_columns, refuse_unit
from tacit.release.synthesise.model import SyntheticModel
from tacit.release.synthesise.request import SynthesisPlan, SynthesisRequest, plan_synthesis
from tacit.sql.binding.rows import RowQuestion, refuse_unpriced

_TABLE = "synthetic"


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """Answers questions for rows of one dataset."""

    publisher: Publisher
    engine: AnswerEngine = SHARED

    def explain(self, asked: RowQuestion, *, session: Session) -> Explanation:
        """What the rows would cost, free of charge. A model that is kept may make them free."""
        plan = self._plan(self._request(asked, session))
        shown = _shown(asked, plan)
        columns = self._looked_at(asked, rehearsed_rows(_TABLE, plan.counted.attributes)).columns
        return Explanation(
            loss=plan.loss,
            unit=str(self.publisher.policy.unit_of(asked.table)),
            bounding=f"at most {plan.counted.sensitivity // plan.counted.weight} rows of a unit count",
            measurements=(f"{len(plan.counted.plans)} marginals, by {plan.method}",),
            notes=(SYNTHETIC_ROWS, "WHERE, ORDER BY and LIMIT act on synthetic rows, and so are free"),
            sql=(),
            pretty=(),
            plan=plan.hash,
            confidence=Fraction(95, 100),
            outputs=apart(columns),
            errors=(None,) * len(columns),
            exact=(False,) * len(columns),
            shapes=tuple(_shape(each) for each in shown),
        )

    def ask(self, asked: RowQuestion, *, session: Session, request_id: str | None = None) -> Release:
        """The rows. What could not be computed whatever they are is refused before anything is charged."""
        request = self._request(asked, session, request_id=request_id)
        plan = self._plan(request)
        shown = _shown(asked, plan)
        self._looked_at(asked, rehearsed_rows(_TABLE, plan.counted.attributes))
        paid = self.publisher.publish(request, self.publisher.policy.analyst(session.analyst))
        model = paid.value
        rows = self._looked_at(asked, _held(model))
        unit = str(self.publisher.policy.unit_of(asked.table))
        return Release(
            columns=apart(rows.columns),
            rows=rows.rows,
            errors=tuple((None,) * len(row) for row in rows.rows),
            confidence=Fraction(95, 100),
            cost=paid.cost,
            left=None,
            reused="the same synthetic table" if paid.reused else None,
            notes=_notes(model),
            receipt=Receipt(
                plan=plan.hash,
                policy=plan.policy_version,
                entry=model.entry,
                guarantee=f"{model.loss} for {unit}",
                unit=unit,
                mechanisms=(f"discrete Gaussian on marginals, ρ = {float(model.rho):.4g} in all",),
            ),
            shapes=tuple(_shape(each) for each in shown),
        )

    def _plan(self, request: SynthesisRequest) -> SynthesisPlan:
        return plan_synthesis(self.publisher.policy, self.publisher.engine, request)

    def _request(self, asked: RowQuestion, session: Session, *, request_id: str | None = None) -> SynthesisRequest:
        """A model of every column that can be made: so that it serves the next question too."""
        refuse_unpriced(asked)
        policy = self.publisher.policy
        table = resolve_types(policy, self.publisher.engine.schema()).table(asked.table)
        refuse_unit(table, asked.needed)
        for name in asked.needed:
            table.column(name)  # a name that nobody knows is told of in its own words
        modelled = modelled_columns(table)
        missing = [name for name in asked.needed if fold(name) not in set(map(fold, modelled))]
        columns = tuple(missing) if missing else () if not asked.columns else modelled
        epsilon = row_price(asked.query, policy, session, what="rows")
        delta = asked.query.delta or session.delta
        return SynthesisRequest(
            table.name, epsilon, delta, columns, fresh=asked.query.fresh, request_id=request_id, enough=asked.needed
        )

    def _looked_at(self, asked: RowQuestion, held: CodedTable) -> Computed:
        return looked_at(self.engine, asked.text(_TABLE), [held], what="the synthetic rows")


def _shown(asked: RowQuestion, plan: SynthesisPlan) -> tuple[Attribute, ...]:
    """The columns of the answer, in order."""
    known = {fold(each.name): each for each in plan.counted.attributes}
    return tuple(known[fold(name)] for name in asked.columns) or plan.counted.attributes


def _held(model: SyntheticModel) -> CodedTable:
    return held_rows(_TABLE, drawn_rows(model, min(model.rows, MOST_DRAWN)))


def _notes(model: SyntheticModel) -> tuple[str, ...]:
    drawn = f"{MOST_DRAWN:,} rows are drawn of about {model.rows:,}" if model.rows > MOST_DRAWN else ""
    return tuple(filter(None, (SYNTHETIC_ROWS, drawn)))


def _shape(attribute: Attribute) -> ColumnShape:
    return ColumnShape(attribute.kind.value, noisy=False)
