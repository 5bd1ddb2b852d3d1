"""Questions that no plan answers: for rows, which are made up or told with coins, and for public tables alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tacit.curator.computing.public_answers import PublicAnswers
from tacit.curator.explaining.explain import Explanation
from tacit.curator.forms.release import Release
from tacit.curator.jobs.pricing import Session
from tacit.errors import QueryRefused
from tacit.policy import Policy, Schema
from tacit.sql import Query
from tacit.sql.binding.responses import ResponseQuestion, response_asked
from tacit.sql.binding.rows import RowQuestion, rows_asked
from tacit.sql.postprocessing.public_only import PublicQuestion, public_asked
from tacit.sql.postprocessing.synthetic import SyntheticQuestion, synthetic_asked

AsksRows = RowQuestion | SyntheticQuestion | ResponseQuestion
Unplanned = RowQuestion | SyntheticQuestion | ResponseQuestion | PublicQuestion


class AnswersRows(Protocol):
    """Whoever answers questions for rows, which are then synthetic, and questions over such rows."""

    def ask(self, asked: AsksRows, *, session: Session, request_id: str | None = None) -> Release:
        """The rows; of what is left, nothing is said yet."""

    def explain(self, asked: AsksRows, *, session: Session) -> Explanation:
        """The explanation of what questions would cost; free of charge."""


@dataclass(frozen=True, slots=True)
class UnplannedAnswers:
    """Answers them: public tables by itself, rows where somebody answers questions for those."""

    public: PublicAnswers
    rows: AnswersRows | None

    def asked(self, query: Query, policy: Policy, *, schema: Schema) -> Unplanned | None:
        """What a statement asks: of public tables; of rows told with coins, released already, or to be made up."""
        public = public_asked(query, policy, schema=schema)
        if public is not None or self.rows is None:
            return public
        return synthetic_asked(query) or (response_asked(query) if query.perturbed else rows_asked(query))

    def ask(self, asked: Unplanned, *, session: Session, request_id: str | None) -> Release:
        """The answer; of what is left, nothing is said yet."""
        if isinstance(asked, PublicQuestion):
            return self.public.ask(asked)
        return self._rows().ask(asked, session=session, request_id=request_id)

    def explain(self, asked: Unplanned, *, session: Session) -> Explanation:
        """What it would cost, free of charge."""
        if isinstance(asked, PublicQuestion):
            return self.public.explain(asked)
        return self._rows().explain(asked, session=session)

    def _rows(self) -> AnswersRows:
        if self.rows is None:
            raise QueryRefused("rows are refused here", hint="ask for an aggregate, as in COUNT(*)")
        return self.rows
