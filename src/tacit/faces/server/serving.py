"""One curator, many doors: the policy opened once, questions in fair turns, answers at slot boundaries."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from tacit.core import Number, positive, probability
from tacit.curator import Curator, Explanation, Release, Session
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.jobs.job_plan import BatchOptions, BatchPrice, Question
from tacit.errors import EngineError, PolicyError, TacitError
from tacit.faces.budget_status import BudgetStatus, budget_status
from tacit.faces.catalogue import Catalogue, catalogue
from tacit.faces.log_file import log
from tacit.faces.opening import Opened, open_policy
from tacit.faces.server.accounts import Accounts
from tacit.faces.server.calls import Colleagues, CuratorCall
from tacit.faces.server.turns import Turns, stopping
from tacit.ledger import Entry
from tacit.policy import Policy, load_policy
from tacit.sql import Parameters

_Stamp = tuple[int, int, int] | None
_AWAKE = 0.003  # seconds before the end of a slot from which on the clock is watched


@dataclass(slots=True, eq=False)
class _House:
    """One version of the policy, opened. It is closed when another takes its place and nobody uses it any more."""

    policy: Policy
    curator: Curator
    catalogue: Catalogue
    users: int = 0
    replaced: bool = False


@dataclass(slots=True)
class Counts:
    """How often things happened, for the operator: of requests alone, never of what is in an answer."""

    answered: int = 0
    refused: int = 0
    failed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, error: BaseException | None) -> None:
        """Count one question: answered, refused, or failed for reasons of ours."""
        with self.lock:
            if error is None:
                self.answered += 1
            elif isinstance(error, TacitError) and not isinstance(error, EngineError):
                self.refused += 1
            else:
                self.failed += 1


class Hub:
    """What every door asks. Safe to use from many threads and from any event loop.

    The policy's file is looked at before every question: one that changed is opened whole and takes the place of the
    one before; one that cannot be opened stops all questions, for what the curator wants is then not known.
    """

    def __init__(
        self,
        policy: Policy,
        opened: Opened,
        *,
        path: Path | None = None,
        stamp: _Stamp = None,
        processes: Colleagues | None = None,
    ) -> None:
        server = policy.server
        self._path, self._stamp = path, stamp
        self._house = _House(policy, opened.curator, catalogue(policy, opened.schema))
        self._refusal: PolicyError | None = None
        self._lock = threading.RLock()
        self._turns = Turns(server.workers, per_analyst=server.per_analyst, queue=server.queue)
        self._processes = processes
        self._closed = False
        self.accounts = Accounts.of(policy)
        self.counts = Counts()

    @property
    def policy(self) -> Policy:
        """What the curator declares, as it is in force."""
        return self._house.policy

    @property
    def path(self) -> Path | None:
        """Where the policy lies; None where it was made in Python."""
        return self._path

    @property
    def catalogue(self) -> Catalogue:
        """The public schema."""
        return self._house.catalogue

    @property
    def load(self) -> tuple[int, int]:
        """How many questions run, and how many wait."""
        return self._turns.load

    @property
    def processes(self) -> Colleagues | None:
        """Who answers questions beside this process; None where it does so itself."""
        return self._processes

    def session(self, analyst: str, epsilon: Number | None = None, delta: Number | None = None) -> Session:
        """Who asks, and what a plain SELECT costs them. Raises PolicyError where the policy does not name them."""
        return Session(
            self.policy.analyst(analyst).name,
            None if epsilon is None else positive(epsilon, "epsilon"),
            None if delta is None else probability(delta, "delta"),
        )

    async def look_for(self, analyst: str) -> None:
        """Take up a policy that changed, if the one in force does not name this analyst: the other one may.

        Raises PolicyError where it cannot be opened.
        """
        try:
            self.policy.analyst(analyst)
        except PolicyError:
            await asyncio.to_thread(self.check_policy)

    async def ask(
        self, session: Session, sql: str, parameters: Parameters = (), *, request_id: str | None = None
    ) -> Release | Explanation:
        """Answer the question, or explain it where it says EXPLAIN."""
        options = {"session": session, "request_id": request_id}
        answer: Release | Explanation = await self._in_slots(session, CuratorCall("ask", (sql, parameters), options))
        return answer

    async def batch(
        self, session: Session, questions: Sequence[Question], **options: Unpack[BatchOptions]
    ) -> BatchRelease:
        """Answer several questions for one price."""
        call = CuratorCall("batch", (questions,), {"session": session, **options})
        answer: BatchRelease = await self._in_slots(session, call)
        return answer

    async def explain(self, session: Session, sql: str, parameters: Parameters = ()) -> Explanation:
        """What the question would cost and run. It depends on no row, so it waits for no slot."""
        explanation: Explanation = await self._turn(
            session, CuratorCall("explain", (sql, parameters), {"session": session})
        )
        return explanation

    async def explain_batch(
        self, session: Session, questions: Sequence[Question], **price: Unpack[BatchPrice]
    ) -> Explanation:
        """The same of several questions for one price."""
        call = CuratorCall("explain_batch", (questions,), {"session": session, **price})
        explanation: Explanation = await self._turn(session, call)
        return explanation

    async def replay(self, session: Session, entry: str) -> Release | BatchRelease | None:
        """The answer that an entry of the analyst's own settled, given again; None where there is no such entry."""
        answer: Release | BatchRelease | None = await self._turn(
            session, CuratorCall("given", (entry,), {"session": session})
        )
        return answer

    def answer(self, call: CuratorCall) -> Any:
        """What a call comes to, in this thread and this process, without a turn."""
        with self._using() as house:
            return call.on(house.curator)

    def balance(self, analyst: str) -> BudgetStatus:
        """What is spent and left, for one analyst."""
        with self._using() as house:
            name = house.policy.analyst(analyst).name
            return budget_status(house.policy.dataset.name, {name: house.curator.balance(name)})

    def log(self, analyst: str, *, limit: int = 50) -> tuple[Entry, ...]:
        """The analyst's newest entries in the ledger."""
        with self._using() as house:
            return house.curator.log(analyst, limit=limit)

    def check_policy(self) -> None:
        """Take up a policy that changed. Raises PolicyError where it cannot be opened."""
        with self._using():
            pass

    def close(self, seconds: float | None = None) -> bool:
        """Take no more questions, wait for those that run, and let go; whether all of them finished in that time."""
        finished = self._turns.stop(self.policy.server.drain.total_seconds() if seconds is None else seconds)
        with self._lock:
            if not self._closed:
                self._closed = True
                self._house.curator.close()  # what still runs fails now, and stays charged
        if self._processes is not None:
            self._processes.close()
        return finished

    async def _in_slots(self, session: Session, call: CuratorCall) -> Any:
        """As `_turn`; whatever comes of it, it leaves when a whole number of slots has passed."""
        slot, start = self.policy.server.slot_ms, time.monotonic()
        try:
            return await self._turn(session, call)
        finally:
            if slot is not None:
                passed = time.monotonic() - start
                await _woken_at(start + passed + -passed % (slot / 1000))

    async def _turn(self, session: Session, call: CuratorCall) -> Any:
        """What a call comes to, in a thread of ours. Who stops waiting is charged for what has begun, no more."""

        def run() -> Any:
            error = None
            try:
                if self._processes is None:
                    return self.answer(call)
                self.check_policy()  # they look at it too: what this process would refuse, none of them answers
                return self._processes.do(call)
            except BaseException as raised:
                error = raised
                raise
            finally:
                self.counts.note(error)

        return await asyncio.wrap_future(self._turns.submit(session.analyst.casefold(), run))

    @contextmanager
    def _using(self) -> Iterator[_House]:
        with self._lock:
            house = self._current()
            house.users += 1
        try:
            yield house
        finally:
            with self._lock:
                house.users -= 1
                if house.replaced and not house.users:
                    house.curator.close()

    def _current(self) -> _House:
        """The policy in force, reopened if its file is another one."""
        if self._closed:
            raise stopping()
        stamp = self._stamp if self._path is None else _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            self._reopen()
        if self._refusal is not None:
            raise PolicyError(self._refusal.message, hint=self._refusal.hint)
        return self._house

    def _reopen(self) -> None:
        if self._path is None:
            return
        try:
            policy = load_policy(self._path)
            opened = open_policy(policy)
        except TacitError as error:
            log.error("the policy changed and cannot be opened: %s", error.message)
            self._refusal = PolicyError(
                "the policy changed and cannot be opened: no question is answered until it can",
                hint="the curator sees why with: tacit check",
            )
            return
        before, self._refusal = self._house, None
        self._house = _House(policy, opened.curator, catalogue(policy, opened.schema))
        if Accounts.of(policy).path != self.accounts.path:
            self.accounts = Accounts.of(policy)
        before.replaced = True
        if not before.users:
            before.curator.close()


def open_hub(path: Path | str, *, processes: Callable[[Policy], Colleagues | None] = lambda _: None) -> Hub:
    """The hub of the policy in a file, with the processes that answer for it. Raises PolicyError where it misfits."""
    file = Path(path)
    stamp = _stamp(file)  # before it is read: a change in between is then seen
    policy = load_policy(file)
    opened = open_policy(policy)
    try:
        others = processes(policy)
    except BaseException:
        opened.curator.close()
        raise
    return Hub(policy, opened, path=file, stamp=stamp, processes=others)


def _stamp(path: Path) -> _Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


async def _woken_at(moment: float) -> None:
    """Sleep until just before a moment, and then look at the clock until it is there.

    How late a machine wakes depends on how long, and how deeply, it slept: that is what the answer took, once more.
    """
    await asyncio.sleep(moment - time.monotonic() - _AWAKE)
    while time.monotonic() < moment:
        await asyncio.sleep(0)
