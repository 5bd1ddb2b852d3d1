"""Questions `USING RANDOMISED RESPONSE`, answered: every row is told with coins once, and looked at for nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from tacit.curator.computing.computing import apart
from tacit.curator.explaining.explain import Explanation
from tacit.curator.forms.release import Receipt, Release
from tacit.curator.forms.shape import ColumnShape
from tacit.curator.jobs.pricing import Session, row_price
from tacit.engines.answers.process import SHARED, AnswerEngine, CodedTable, Computed
from tacit.errors import QueryRefused
from tacit.policy import fold, resolve_types
from tacit.release.publishing import PricedPlan, Publisher
from tacit.release.responses.perturbed import PerturbedTable
from tacit.release.responses.request import ResponseRequest
from tacit.release.synthesise.asking.held_rows import MOST_DRAWN, held_rows, looked_at, rehearsed_rows
from tacit.release.synthesise.columns import MOST_CELLS, Attribute, chosen_columns, key_of, refuse_unit
from tacit.release.synthesise.conditions import cells_meeting
from tacit.release.synthesise.counting import plan_counts
from tacit.release.synthesise.table import SyntheticTable
from tacit.sql.binding.responses import ResponseCondition, ResponseQuestion

MOST_GROUPS = 10_000
_TABLE = "responses"
_CONFIDENCE = Fraction(95, 100)
_TOLD = "these rows are told with coins: any cell may be a lie; WHERE, ORDER BY and LIMIT act on what is told"


@dataclass(frozen=True, slots=True)
class ResponseAnswers:
    """Answers questions for responses of one dataset's tables."""

    publisher: Publisher
    engine: AnswerEngine = SHARED

    def explain(self, asked: ResponseQuestion, *, session: Session) -> Explanation:
        """What the responses would cost, free of charge. Some that are kept may make them free."""
        request = self._request(asked, session)
        plan = self.publisher.plan(request)
        attributes = self._rehearsed(asked, request)
        columns, shapes = _outputs(asked, attributes)
        return Explanation(
            loss=plan.loss,
            unit=self._unit(asked),
            bounding="each row is told once",
            measurements=(f"randomised response to {len(attributes)} columns",),
            notes=_notes(asked, plan.loss.is_pure),
            sql=(),
            pretty=(),
            plan=plan.shape,
            confidence=_CONFIDENCE,
            outputs=columns,
            errors=(None,) * len(columns),
            exact=(False,) * len(columns),
            shapes=shapes,
        )

    def ask(self, asked: ResponseQuestion, *, session: Session, request_id: str | None = None) -> Release:
        """The responses, or what is estimated from them. What makes no sense is refused before anything is charged."""
        request = self._request(asked, session, request_id=request_id)
        attributes = self._rehearsed(asked, request)
        plan = self.publisher.plan(request)
        paid = self.publisher.publish(request, self.publisher.policy.analyst(session.analyst))
        table = paid.value.refuse_untold()
        columns, shapes = _outputs(asked, attributes)
        notes = _notes(asked, plan.loss.is_pure)
        if asked.rows is None:
            rows, errors = self._counts(asked, table)
        else:
            rows, errors, more = self._rows(asked, table)
            notes = (*notes, *more)
        return Release(
            columns=columns,
            rows=rows,
            errors=errors,
            confidence=_CONFIDENCE,
            cost=paid.cost,
            left=None,
            reused="the same responses" if paid.reused else None,
            notes=(*notes, _lies(table)),
            receipt=self._receipt(asked, plan, table, paid.entry),
            shapes=shapes,
        )

    def _receipt(
        self, asked: ResponseQuestion, plan: PricedPlan[PerturbedTable], table: PerturbedTable, entry: str
    ) -> Receipt:
        unit = self._unit(asked)
        return Receipt(
            plan=plan.shape,
            policy=self.publisher.policy.version,
            entry=entry,
            guarantee=f"{table.loss} for {unit}",
            unit=unit,
            mechanisms=(f"k-ary randomised response, {len(table.attributes)} columns",),
        )

    def _unit(self, asked: ResponseQuestion) -> str:
        return str(self.publisher.policy.unit_of(asked.table))

    def _request(self, asked: ResponseQuestion, session: Session, *, request_id: str | None = None) -> ResponseRequest:
        query, policy = asked.query, self.publisher.policy
        if query.bias or (asked.rows is not None and query.confidence is not None):
            raise QueryRefused("WITH BIAS is refused over responses, and CONFIDENCE over rows", hint="leave them out")
        if query.confidence is not None and query.confidence != _CONFIDENCE:
            raise QueryRefused("± of responses is at a confidence of 0.95", hint="leave CONFIDENCE out")
        table = resolve_types(policy, self.publisher.engine.schema()).table(asked.table)
        refuse_unit(table, asked.needed)
        wanted = {fold(table.column(name).name) for name in asked.needed}
        ordered = tuple(column.name for column in table.columns if fold(column.name) in wanted)
        epsilon = row_price(query, policy, session, what="responses")
        return ResponseRequest(
            table.name, ordered, epsilon, query.delta or session.delta, query.fresh, request_id
        )  # fmt: skip

    def _rehearsed(self, asked: ResponseQuestion, request: ResponseRequest) -> tuple[Attribute, ...]:
        """The columns, by their cells; refused, before anything is charged, where the conditions cannot be computed."""
        engine = self.publisher.engine
        typed = resolve_types(self.publisher.policy, engine.schema())
        declared = typed.table(request.table)
        keys = [key_of(declared, column) for column in chosen_columns(declared, request.columns)]
        singles = [(axis,) for axis in range(len(keys))]
        attributes = plan_counts(typed, engine, declared, keys=keys, axes=singles, most=MOST_CELLS).attributes
        if asked.rows is not None:
            self._computed(asked.rows.text(_TABLE), rehearsed_rows(_TABLE, attributes))
            return attributes
        groups = math.prod(_named(attributes, name).cells for name in asked.groups)
        if groups > MOST_GROUPS:
            raise QueryRefused(f"the groups are {groups:,}: at most {MOST_GROUPS:,} are estimated")
        for condition in asked.conditions:
            self._cells(condition, _named(attributes, condition.column))
        return attributes

    def _computed(self, text: str, held: CodedTable) -> Computed:
        return looked_at(self.engine, text, [held], what="the responses")

    def _rows(
        self, asked: ResponseQuestion, table: PerturbedTable
    ) -> tuple[tuple[tuple[object, ...], ...], tuple[tuple[None, ...], ...], tuple[str, ...]]:
        if asked.rows is None:
            raise TypeError("rows are not what is asked")
        told = table.rows
        some = told.at(np.arange(min(len(told), MOST_DRAWN), dtype=np.int64))
        computed = self._computed(asked.rows.text(_TABLE), held_rows(_TABLE, some))
        more = (f"{len(some):,} of {len(told):,} responses are looked at",) if len(some) < len(told) else ()
        return computed.rows, tuple((None,) * len(row) for row in computed.rows), more

    # ── counts ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _counts(
        self, asked: ResponseQuestion, table: PerturbedTable
    ) -> tuple[tuple[tuple[object, ...], ...], tuple[tuple[float | None, ...], ...]]:
        """An estimate and its half-width for each group of cells."""
        held: dict[str, set[int]] = {}
        for condition in asked.conditions:
            attribute = _named(table.attributes, condition.column)
            held_cells = self._cells(condition, attribute)
            held[attribute.name] = held.get(attribute.name, held_cells) & held_cells
        grouped = [_named(table.attributes, name) for name in asked.groups]
        listed = [_values(attribute) for attribute in grouped]
        width = NormalDist().inv_cdf((1 + float(_CONFIDENCE)) / 2)
        rows, errors = [], []
        for cells in itertools.product(*(range(attribute.cells) for attribute in grouped)):
            chosen: dict[str, set[int]] = dict(held)
            for attribute, cell in zip(grouped, cells, strict=True):
                chosen[attribute.name] = chosen.get(attribute.name, {cell}) & {cell}
            estimate = table.count(**chosen)
            keys = {name: listed[at][cell] for at, (name, cell) in enumerate(zip(asked.groups, cells, strict=True))}
            rows.append(tuple(round(estimate.value, 2) if name is None else keys[name] for _, name in asked.shown))
            errors.append(tuple(width * estimate.standard_error if name is None else None for _, name in asked.shown))
        return tuple(rows), tuple(errors)

    def _cells(self, condition: ResponseCondition, attribute: Attribute) -> set[int]:
        """The cells that meet a condition."""
        met = cells_meeting(condition.sql, attribute, engine=self.engine)
        return set(np.flatnonzero(met).tolist())


def _values(attribute: Attribute) -> list[object]:
    """Of every cell its value, or the least of its bin."""
    codes = np.arange(attribute.cells, dtype=np.int64)
    (values,) = SyntheticTable(_TABLE, (attribute,), (codes,), (np.zeros_like(codes),)).lists()
    return values


def _named(attributes: Sequence[Attribute], name: str) -> Attribute:
    return next(each for each in attributes if fold(each.name) == fold(name))


def _outputs(
    asked: ResponseQuestion, attributes: Sequence[Attribute]
) -> tuple[tuple[str, ...], tuple[ColumnShape, ...]]:
    """The names of the columns that leave, and what they hold."""
    if asked.rows is None:
        shapes = tuple(
            ColumnShape("number", noisy=True)
            if name is None
            else ColumnShape(_named(attributes, name).kind.value, noisy=False)
            for _, name in asked.shown
        )
        return apart([name for name, _ in asked.shown]), shapes
    shown = [_named(attributes, name) for name in asked.rows.columns] or list(attributes)
    items = asked.rows.query.question.expressions
    names = [item.alias_or_name for item in items] if asked.rows.columns else [each.name for each in shown]
    return apart(names), tuple(ColumnShape(each.kind.value, noisy=False) for each in shown)


def _notes(asked: ResponseQuestion, public_size: bool) -> tuple[str, ...]:
    """What must be said of every such answer."""
    size = (
        "as many responses leave as there are rows, which is public; a row outside of the domains is told as any cell"
        if public_size
        else "rows that nobody is behind are among them, so that their number hides how many there are"
    )
    if asked.rows is None:
        return ("counts are unbiased estimates from responses: single ones may fall below zero", size)
    return (_TOLD, size)


def _lies(table: PerturbedTable) -> str:
    said = (
        f"{attribute.name}: a lie in {float(lie):.3g} of rows, any of {attribute.cells - 1} other cells"
        for attribute, lie in zip(table.attributes, table.lies, strict=True)
    )
    padding = f"; about {table.padding:,} rows are made up" if table.padding else ""
    return "; ".join(said)[:600] + padding
