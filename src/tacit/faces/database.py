"""The Python door: one analyst, one dataset, and no way to the data but through the curator."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Protocol, Self

from tacit.core import NOTHING, Budget, Number, positive, probability
from tacit.curator import Curator, Explanation, Release, Session
from tacit.curator.batch_release import BatchRelease
from tacit.curator.job_plan import Question, check_questions
from tacit.errors import InvalidParameter, QueryRefused
from tacit.faces.budget_status import BudgetStatus, budget_status
from tacit.faces.catalogue import Catalogue, catalogue
from tacit.faces.opening import Rehearsal, as_policy, open_policy
from tacit.ledger import Entry
from tacit.policy import Policy
from tacit.sql import Parameters, says_explain


class AnswersQuestions(Protocol):
    """Whoever answers questions: a curator, or a rehearsal on made-up rows."""

    def ask(
        self, text: str, parameters: Parameters = (), *, session: Session, request_id: str | None = None
    ) -> Release | Explanation:
        """Answer the question, or explain it."""

    def batch(
        self,
        questions: Sequence[Question],
        *,
        session: Session,
        epsilon: Number | None = None,
        within: Number | str | None = None,
        delta: Number | None = None,
        request_id: str | None = None,
        fresh: bool = False,
    ) -> BatchRelease:
        """Answer several questions for one price."""

    def close(self) -> None:
        """Let go of what is held."""


class Database:
    """A dataset as one analyst sees it. Made by `tacit.open`; safe to use from many threads.

    Its methods give out releases, explanations and accounts, all of them private or public. Python keeps no secrets
    from a program that digs in its own memory: who must not see the data asks from another process.
    """

    __slots__ = ("__answers", "__catalogue", "__curator", "__process", "__rehearsal", "__rehearse", "__session")

    def __init__(
        self,
        answers: AnswersQuestions,
        curator: Curator,
        *,
        session: Session,
        catalogue: Catalogue,
        rehearse: Callable[[], Rehearsal] | None,
    ) -> None:
        self.__answers, self.__curator = answers, curator
        self.__session, self.__catalogue = session, catalogue
        self.__rehearse = rehearse  # None: this is the rehearsal
        self.__rehearsal: Rehearsal | None = None
        self.__process = os.getpid()

    def query(self, sql: str, parameters: Parameters = (), *, request_id: str | None = None) -> Release:
        """Ask one question, with a value for each `?` or `:name`.

        The same `request_id` gives the answer already paid for. Raises QueryRefused and BudgetExceeded, at no charge.
        """
        self.__check_process()
        answer = None
        if not says_explain(sql):
            answer = self.__answers.ask(sql, parameters, session=self.__session, request_id=request_id)
        if not isinstance(answer, Release):
            raise QueryRefused("EXPLAIN gives no answer: query() pays for one", hint="db.explain(sql) is free")
        return answer if self.__rehearse is not None else _marked(answer, left=self.budget.left)

    def batch(
        self,
        questions: Sequence[Question],
        *,
        epsilon: Number | None = None,
        within: Number | str | None = None,
        delta: Number | None = None,
        request_id: str | None = None,
        fresh: bool = False,
    ) -> BatchRelease:
        """Ask several questions for one price: counts that overlap are answered together, and agree with each other.

        A question is its SQL, or a pair of SQL and the values for its `?` or `:name`; it has no price of its own.
        The price of all is `epsilon`, or the least at which every error bar is `within` a number, or within a share
        such as `"5%"` of its answer. Kept answers that serve them all are given again, free, unless they must be
        `fresh`.
        Raises QueryRefused and BudgetExceeded, at no charge.
        """
        self.__check_process()
        check_questions(questions)
        answers = self.__answers.batch(
            list(questions),
            session=self.__session,
            epsilon=epsilon,
            within=within,
            delta=delta,
            request_id=request_id,
            fresh=fresh,
        )
        return answers if self.__rehearse is not None else _all_marked(answers, left=self.budget.left)

    def __check_process(self) -> None:
        if os.getpid() != self.__process:  # the engine would refuse as well, but after the charge
            raise InvalidParameter("the database was opened in another process", hint="open it again after a fork")

    def explain(self, sql: str, parameters: Parameters = ()) -> Explanation:
        """What a question would cost, how far off its answer would be, and the SQL it would run. Free.

        It may begin with EXPLAIN or not.
        """
        return self.__curator.explain(sql, parameters, session=self.__session)

    def explain_batch(
        self,
        questions: Sequence[Question],
        *,
        epsilon: Number | None = None,
        within: Number | str | None = None,
        delta: Number | None = None,
    ) -> Explanation:
        """How a batch would be answered: the strategy and what it gains, each question's error, the SQL. Free."""
        check_questions(questions)
        return self.__curator.explain_batch(
            list(questions), session=self.__session, epsilon=epsilon, within=within, delta=delta
        )

    @property
    def budget(self) -> BudgetStatus:
        """What is spent and what is left: of the total, by this analyst, and by the analyst's groups."""
        return budget_status(self.__catalogue.dataset, {self.analyst: self.__curator.balance(self.analyst)})

    @property
    def log(self) -> tuple[Entry, ...]:
        """The analyst's newest entries in the ledger, newest first."""
        return self.__curator.log(self.analyst)

    @property
    def schema(self) -> Catalogue:
        """The tables and columns that may be asked about, and what the policy says of them."""
        return self.__catalogue

    @property
    def analyst(self) -> str:
        """Who asks."""
        return self.__session.analyst

    @property
    def default_epsilon(self) -> Fraction | None:
        """What a plain SELECT costs in this session; None leaves it to the policy."""
        return self.__session.epsilon

    @default_epsilon.setter
    def default_epsilon(self, epsilon: Number | None) -> None:
        value = None if epsilon is None else positive(epsilon, "default_epsilon")
        self.__session = replace(self.__session, epsilon=value)

    @property
    def default_delta(self) -> Fraction | None:
        """The delta of a question with private keys that states none; None leaves it to the policy."""
        return self.__session.delta

    @default_delta.setter
    def default_delta(self, delta: Number | None) -> None:
        value = None if delta is None else probability(delta, "default_delta")
        self.__session = replace(self.__session, delta=value)

    def dummy(self) -> Database:
        """The same door on rows made up from the public policy alone: any question, free, as often as you like."""
        if self.__rehearse is None:
            return self
        if self.__rehearsal is None:
            self.__rehearsal = self.__rehearse()
        return Database(
            self.__rehearsal, self.__curator, session=self.__session, catalogue=self.__catalogue, rehearse=None
        )

    def close(self) -> None:
        """Let go of the source and the ledger; what was charged stays charged. Closing the dummy closes nothing."""
        if self.__rehearse is None:
            return
        if self.__rehearsal is not None:
            self.__rehearsal.close()
        self.__answers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        rows = ", dummy rows" if self.__rehearse is None else ""
        return f"<tacit.Database {self.__catalogue.dataset!r}, asked by {self.analyst!r}{rows}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Database is neither copied nor pickled: open one where it is needed")


def open_database(
    policy: Policy | Path | str,
    *,
    analyst: str | None = None,
    default_epsilon: Number | None = None,
    default_delta: Number | None = None,
    timeout: float | None = None,
) -> Database:
    """Open the dataset behind a policy for one of its analysts: `tacit.open("tacit.toml", analyst="ana")`.

    `default_epsilon` is what a plain SELECT costs. `timeout` is the seconds that one statement may take, at most the
    policy's; what is cut short stays charged. Raises PolicyError where the policy does not name the analyst or does not
    fit the source.
    """
    if not isinstance(analyst, str):
        raise InvalidParameter("the analyst is a name", hint='tacit.open("tacit.toml", analyst="ana")')
    declared = as_policy(policy)
    session = Session(
        declared.analyst(analyst).name,
        None if default_epsilon is None else positive(default_epsilon, "default_epsilon"),
        None if default_delta is None else probability(default_delta, "default_delta"),
    )
    opened = open_policy(declared, timeout=timeout)
    return Database(
        opened.curator,
        opened.curator,
        session=session,
        catalogue=catalogue(declared, opened.schema),
        rehearse=opened.rehearse,
    )


def ask_or_explain(
    database: Database, sql: str, parameters: Parameters = (), *, request_id: str | None = None
) -> Release | Explanation:
    """The answer; or, where the text says EXPLAIN, the explanation: for doors where people type."""
    if says_explain(sql):
        return database.explain(sql, parameters)
    return database.query(sql, parameters, request_id=request_id)


def _marked(answer: Release, *, left: object) -> Release:
    """An answer on made-up rows says so, and says that nothing was paid."""
    note = f"dummy data: made up from the public policy, of nobody's rows; asked for real it costs {answer.cost}"
    receipt = replace(answer.receipt, entry="dummy data", guarantee="none needed: dummy data")
    return replace(
        answer,
        cost=NOTHING,
        left=left if isinstance(left, Budget) else None,
        notes=(note, *answer.notes),
        receipt=receipt,
    )


def _all_marked(batch: BatchRelease, *, left: object) -> BatchRelease:
    """The same of a batch."""
    receipt = replace(batch.receipt, entry="dummy data", guarantee="none needed: dummy data")
    return replace(
        batch,
        answers=tuple(_marked(answer, left=left) for answer in batch.answers),
        cost=NOTHING,
        left=left if isinstance(left, Budget) else None,
        receipt=receipt,
    )
