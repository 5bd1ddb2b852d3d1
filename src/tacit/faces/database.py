"""The Python door: one analyst, one dataset, and no way to the data but through the curator."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from tacit.core import Number, positive, probability
from tacit.curator import Curator, Explanation, Release, Session
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.jobs.job_plan import Question, check_questions
from tacit.errors import InvalidParameter, QueryRefused
from tacit.faces.answering import AnswersQuestions, KeepsAccounts
from tacit.faces.budget_status import BudgetStatus, budget_status
from tacit.faces.catalogue import Catalogue, catalogue
from tacit.faces.marking import all_marked, marked, no_rehearsal
from tacit.faces.opening import Rehearsal, as_policy, open_policy
from tacit.faces.publications import Publications
from tacit.ledger import Entry
from tacit.policy import AnalystPolicy, Policy
from tacit.sql import Parameters, says_explain

if TYPE_CHECKING:
    from tacit.learn.accuracy.first import AccuracyFirst
    from tacit.learn.curated.fitting import TableLearner
    from tacit.learn.searching import PrivateSearch
    from tacit.learn.sums.studies import SumsLearner
    from tacit.release.publishing import Publishable, Publisher

T = TypeVar("T")
Model = TypeVar("Model", bound="SumsLearner | PrivateSearch | AccuracyFirst")


class Database(Publications):
    """A dataset as one analyst sees it. Made by `tacit.open`; safe to use from many threads.

    Its methods give out releases, explanations and accounts, all of them private or public. Python keeps no secrets
    from a program that digs in its own memory: who must not see the data asks from another process.
    """

    __slots__ = (
        "__answers", "__catalogue", "__curator", "__learner", "__process", "__publisher", "__rehearsal", "__rehearse",
        "__session",
    )  # fmt: skip

    def __init__(
        self,
        answers: AnswersQuestions,
        curator: Curator | KeepsAccounts,
        *,
        session: Session,
        catalogue: Catalogue,
        rehearse: Callable[[], Rehearsal] | None,
        learner: Callable[[], TableLearner] | None = None,
        publisher: Callable[[], Publisher] | None = None,
    ) -> None:
        self.__answers, self.__curator = answers, curator
        self.__session, self.__catalogue = session, catalogue
        self.__rehearse = rehearse  # None: this is the rehearsal
        self.__learner, self.__publisher = learner, publisher
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
        return answer if self.__rehearse is not None else marked(answer, left=self.budget.left)

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
        such as `"5%"` of its answer. What kept answers serve is given again, free, and the rest alone is charged,
        unless all must be `fresh`.
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
        return answers if self.__rehearse is not None else all_marked(answers, left=self.budget.left)

    def _priced(self, epsilon: Number | None, delta: Number | None) -> tuple[Number, Number | None]:
        """What a release costs: what was given, else what the session says."""
        price = self.__session.epsilon if epsilon is None else epsilon
        if price is None:
            raise QueryRefused("the release has no price", hint="give epsilon=1")
        return price, self.__session.delta if delta is None else delta

    def _publishing(self) -> tuple[Publisher, AnalystPolicy]:
        """Who publishes, and for whom."""
        self.__check_process()
        if self.__publisher is None:
            raise QueryRefused("nothing is published here", hint="open the database itself, not its dummy")
        publisher = self.__publisher()
        return publisher, publisher.policy.analyst(self.__session.analyst)

    def _published(self, wish: Publishable[T]) -> T:
        """What was wished for, paid for or kept."""
        publisher, who = self._publishing()
        return publisher.publish(wish, who).value

    def fit(
        self,
        estimator: Model,
        table: str,
        *,
        target: str | None = None,
        features: Sequence[str] = (),
        epsilon: Number | None = None,
        delta: Number | None = None,
        fresh: bool = False,
    ) -> Model:
        """Fit a private model to a table, counted where the data lives: the estimator itself, fitted.

        Its columns may hold what the policy says; `features` are all with bounds or a list of values, unless named. The
        price is `epsilon` and `delta`, else the estimator's own. The same fit again is free, unless it must be `fresh`.
        Raises QueryRefused and BudgetExceeded, at no charge.
        """
        from tacit.learn.curated.plans import FitRequest

        self.__check_process()
        if self.__learner is None:
            raise QueryRefused("dummy rows teach nothing: they are made up", hint="fit the database itself")
        request = FitRequest(table, target, features, epsilon, delta, fresh)
        self.__learner().fit(estimator, request, self.__session.analyst)
        return estimator

    def __check_process(self) -> None:
        if os.getpid() != self.__process:  # the engine would refuse as well, but after the charge
            raise InvalidParameter("the database was opened in another process", hint="open it again after a fork")

    def explain(self, sql: str, parameters: Parameters = ()) -> Explanation:
        """What a question would cost, and how far off its answer would be. Free.

        It may begin with EXPLAIN or not. `text(sql=True)` of it shows the SQL that would run.
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
        if isinstance(self.__curator, Curator):
            return budget_status(self.__catalogue.dataset, {self.analyst: self.__curator.balance(self.analyst)})
        return self.__curator.status(self.analyst)

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
    token: str | None = None,
    default_epsilon: Number | None = None,
    default_delta: Number | None = None,
    timeout: float | None = None,
    ca: Path | str | None = None,
    fingerprint: str | None = None,
) -> Database:
    """Open the dataset behind a policy for one of its analysts: `tacit.open("tacit.toml", analyst="ana")`.

    `default_epsilon` is what a plain SELECT costs. `timeout` is the seconds that one statement may take, at most the
    policy's; what is cut short stays charged. Raises PolicyError where the policy does not name the analyst or does not
    fit the source.

    `tacit.open("https://dp.example.org:8080", token="tacit_…")` is the same door to a server (`tacit serve`), which has
    the data and the policy. Its certificate must be signed by somebody this machine trusts, or by the one in the file
    `ca`, or have the `fingerprint` that the server prints. `timeout` is then what one request may take.
    """
    if isinstance(policy, str) and policy.lower().startswith(("https://", "http://")):
        from tacit.faces.remote.door import open_remote

        door, asks, known = open_remote(
            policy,
            token=token,
            analyst=analyst,
            default_epsilon=default_epsilon,
            default_delta=default_delta,
            timeout=timeout,
            ca=ca,
            fingerprint=fingerprint,
        )
        return Database(door, door, session=asks, catalogue=known, rehearse=no_rehearsal)
    for name, value in (("token", token), ("ca", ca), ("fingerprint", fingerprint)):
        if value is not None:
            raise InvalidParameter(f"{name} is for a server, and this is a policy", hint='tacit.open("https://…")')
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
        learner=opened.learner,
        publisher=opened.publisher,
    )
