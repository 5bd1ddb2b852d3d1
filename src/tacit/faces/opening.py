"""A policy opened: its engine, its ledger, and the curator between them.

The only module of this room that opens either. Analysts' doors get a curator from it, never its parts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tacit.curator import Curator, Explanation, Release, Session
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.jobs.job_plan import BatchOptions, Question
from tacit.curator.unplanned import AsksRows
from tacit.engines import Engine, dummy_engine, limits_of, open_engine
from tacit.errors import PolicyError
from tacit.ledger import Ledger, SqliteLedger, open_books
from tacit.policy import Policy, Schema, Severity, check_policy, load_policy
from tacit.sql import Parameters
from tacit.sql.binding.responses import ResponseQuestion
from tacit.sql.postprocessing.synthetic import SyntheticQuestion

if TYPE_CHECKING:
    from tacit.learn.curated.fitting import TableLearner
    from tacit.release.publishing import Publisher
    from tacit.release.responses import ResponseAnswers


@dataclass(frozen=True, slots=True, repr=False)
class Opened:
    """A curator, the names and types it knows, and a way to the same on made-up rows."""

    curator: Curator
    schema: Schema
    rehearse: Callable[[], Rehearsal]
    learner: Callable[[], TableLearner]
    publisher: Callable[[], Publisher]


class Rehearsal:
    """Answers questions on made-up rows. Every question meets a whole budget, and nothing is charged anywhere."""

    def __init__(self, policy: Policy, engine: Engine) -> None:
        self._policy, self._engine = policy, engine

    def ask(
        self, text: str, parameters: Parameters = (), *, session: Session, request_id: str | None = None
    ) -> Release | Explanation:
        """What a curator answers, on a ledger that is thrown away."""
        with self._curator() as curator:
            return curator.ask(text, parameters, session=session, request_id=request_id)

    def batch(
        self, questions: Sequence[Question], *, session: Session, **options: Unpack[BatchOptions]
    ) -> BatchRelease:
        """What a curator answers to a batch, on a ledger that is thrown away."""
        with self._curator() as curator:
            return curator.batch(questions, session=session, **options)

    @contextmanager
    def _curator(self) -> Iterator[Curator]:
        with (
            tempfile.TemporaryDirectory(prefix="tacit-dummy-") as scratch,
            closing(SqliteLedger(Path(scratch, "dummy.ledger"), create=True)) as ledger,
        ):
            yield Curator(self._policy, self._engine, ledger)

    def close(self) -> None:
        """Forget the made-up rows."""
        self._engine.close()


def as_policy(policy: Policy | Path | str) -> Policy:
    """The policy itself, or the one in a file."""
    return policy if isinstance(policy, Policy) else load_policy(policy)


def open_policy(policy: Policy, *, timeout: float | None = None) -> Opened:
    """Open source and ledger. Raises PolicyError where policy and source disagree, before anything is asked."""
    limits = limits_of(policy.limits, timeout=timeout)
    with ExitStack() as undo:
        engine = undo.enter_context(closing(open_engine(policy, limits)))
        schema = engine.schema()
        refuse_misfit(policy, schema)
        ledger = _books(policy)
        undo.pop_all()

    def rehearse() -> Rehearsal:
        return Rehearsal(policy, dummy_engine(policy, schema, public=engine, limits=limits))

    def learner() -> TableLearner:
        from tacit.learn.curated.fitting import TableLearner

        return TableLearner(policy, engine, ledger)

    def publisher() -> Publisher:
        from tacit.release.publishing import Publisher

        return Publisher(policy, engine, ledger)

    curator = Curator(policy, engine, ledger, rows=_LateRows(publisher))
    return Opened(curator, schema, rehearse, learner, publisher)


class _LateRows:
    """Who answers questions for rows: fetched when the first of them is asked."""

    def __init__(self, publisher: Callable[[], Publisher]) -> None:
        self._publisher = publisher

    def ask(self, asked: AsksRows, *, session: Session, request_id: str | None = None) -> Release:
        """The rows, or what is computed from those that are released."""
        from tacit.release.synthesise import RowAnswers, SyntheticAnswers

        if isinstance(asked, SyntheticQuestion):
            return SyntheticAnswers(self._publisher()).ask(asked, session=session)
        if isinstance(asked, ResponseQuestion):
            return self._responses().ask(asked, session=session, request_id=request_id)
        return RowAnswers(self._publisher()).ask(asked, session=session, request_id=request_id)

    def explain(self, asked: AsksRows, *, session: Session) -> Explanation:
        """What they would cost, free of charge."""
        from tacit.release.synthesise import RowAnswers, SyntheticAnswers

        if isinstance(asked, SyntheticQuestion):
            return SyntheticAnswers(self._publisher()).explain(asked, session=session)
        if isinstance(asked, ResponseQuestion):
            return self._responses().explain(asked, session=session)
        return RowAnswers(self._publisher()).explain(asked, session=session)

    def _responses(self) -> ResponseAnswers:
        from tacit.release.responses import ResponseAnswers

        return ResponseAnswers(self._publisher())


@contextmanager
def source_and_books(policy: Policy) -> Iterator[tuple[Engine, Callable[[], Ledger]]]:
    """For the curator's own acts: the engine, and the ledger once it is asked for."""
    with ExitStack() as stack:
        engine = stack.enter_context(closing(open_engine(policy, limits_of(policy.limits))))
        refuse_misfit(policy, engine.schema())
        yield engine, lambda: stack.enter_context(closing(_books(policy)))


def _books(policy: Policy) -> Ledger:
    return open_books(policy, create=True)


def refuse_misfit(policy: Policy, schema: Schema) -> None:
    """Raise the first error that `tacit check` would show."""
    for finding in check_policy(policy, schema):
        if finding.level is Severity.ERROR:
            raise PolicyError(finding.message, hint=finding.hint or "tacit check shows everything that does not fit")
