"""Who stands behind a door, and how what is typed there is answered or explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Unpack

from tacit.curator import Explanation, Release, Session
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.jobs.job_plan import BatchOptions, BatchPrice, Question
from tacit.faces.budget_status import BudgetStatus
from tacit.ledger import Entry
from tacit.sql import Parameters, says_explain


class AnswersQuestions(Protocol):
    """Whoever answers questions: a curator, or a rehearsal on made-up rows."""

    def ask(
        self, text: str, parameters: Parameters = (), *, session: Session, request_id: str | None = None
    ) -> Release | Explanation:
        """Answer the question, or explain it."""

    def batch(
        self, questions: Sequence[Question], *, session: Session, **options: Unpack[BatchOptions]
    ) -> BatchRelease:
        """Answer several questions for one price."""

    def close(self) -> None:
        """Let go of what is held."""


class KeepsAccounts(Protocol):
    """Whoever explains questions and knows what was spent: the curator, or a server's door."""

    def explain(self, text: str, parameters: Parameters = (), *, session: Session) -> Explanation:
        """Say what a question would cost."""

    def explain_batch(
        self, questions: Sequence[Question], *, session: Session, **price: Unpack[BatchPrice]
    ) -> Explanation:
        """What several questions would cost together; free."""

    def status(self, analyst: str) -> BudgetStatus:
        """What is spent and left."""

    def log(self, analyst: str) -> tuple[Entry, ...]:
        """The analyst's newest entries."""


class OpenDoor(Protocol):
    """A door where one asks or has explained."""

    def query(self, sql: str, parameters: Parameters = (), *, request_id: str | None = None) -> Release:
        """The answer to a question, paid for; see `Database.query`."""

    def explain(self, sql: str, parameters: Parameters = ()) -> Explanation:
        """What a question would cost, and how far off its answer may be; free."""


def ask_or_explain(
    database: OpenDoor, sql: str, parameters: Parameters = (), *, request_id: str | None = None
) -> Release | Explanation:
    """The answer; or, where the text says EXPLAIN, the explanation: for doors where people type."""
    if says_explain(sql):
        return database.explain(sql, parameters)
    return database.query(sql, parameters, request_id=request_id)
