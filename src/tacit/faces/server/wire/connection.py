"""One connection after its start: messages in, messages out, until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tacit.errors import TacitError
from tacit.faces.log_file import log
from tacit.faces.server.wire import extended, simple
from tacit.faces.server.wire.executor import Executor
from tacit.faces.server.wire.faults import Passed, WireFault, of_error, tell
from tacit.faces.server.wire.framing import CutOff, Inbox, Message, Outbox, text
from tacit.faces.server.wire.seats import Seat

T = TypeVar("T")
_IGNORED = {b"d", b"c", b"f"}  # data of a copy that was refused
_EXTENDED = {b"P", b"B", b"D", b"E", b"C"}
_ASKING = {b"Q", b"P", b"E"}


class Cancellation:
    """Lets one question at a time be waited for no longer. What was charged stays charged."""

    def __init__(self) -> None:
        self._waiting: asyncio.Future[Any] | None = None
        self._asked = False

    def cancel(self) -> None:
        """Stop waiting, if anything is waited for."""
        if self._waiting is not None:
            self._asked = True
            self._waiting.cancel()

    async def waits(self, work: Awaitable[T]) -> T:
        """What the work comes to. Raises WireFault once it is cancelled."""
        self._asked = False
        task = asyncio.ensure_future(work)
        self._waiting = task
        try:
            return await task
        except asyncio.CancelledError:
            if not self._asked:
                task.cancel()
                raise
            raise WireFault(
                "57014", "canceling statement due to user request", hint="a question that was begun stays charged"
            ) from None
        finally:
            self._waiting = None


class WireConnection:
    """The protocol's state: after an error in the extended protocol all is skipped until Sync."""

    def __init__(
        self, inbox: Inbox, outbox: Outbox, executor: Executor, seat: Seat, check_account: Callable[[], None]
    ) -> None:
        self.inbox, self.outbox, self.executor, self.seat = inbox, outbox, executor, seat
        self._check_account = check_account  # raises WireFault where it has been taken away
        self._skipping = False

    async def serve(self) -> None:
        """Answer messages until the client goes, or sends what is none."""
        self.ready()
        await self.outbox.flush()
        while True:
            message = await self._next()
            if message.kind == b"X":
                return
            if self._skipping and message.kind != b"S":
                continue
            await self._answer(message)

    async def _next(self) -> Message:
        """The next message. Who sends none for too long is told so, and the connection ends."""
        if self.inbox.pending:
            return await self.inbox.message()
        in_block = self.executor.transaction.is_open
        self.seat.rest()
        try:
            async with asyncio.timeout(self.executor.settings.patience(in_block=in_block)):
                return await self.inbox.message()
        except TimeoutError:
            sqlstate, which = ("25P03", "idle-in-transaction") if in_block else ("57P05", "idle-session")
            raise WireFault(sqlstate, f"terminating connection due to {which} timeout", fatal=True) from None
        finally:
            self.seat.work()

    async def _answer(self, message: Message) -> None:
        try:
            if message.kind in _ASKING:
                self._check_account()
            if message.kind == b"Q":
                await simple.query(self.executor, self.outbox, message.body)
                self.ready()
                await self.outbox.flush()
            elif message.kind == b"S":
                self._sync()
                await self.outbox.flush()
            elif message.kind == b"H":
                await self.outbox.flush()
            elif message.kind == b"F":
                await self._refuse_call()
            elif message.kind in _EXTENDED:
                await extended.HANDLERS[message.kind](self.executor, self.outbox, message.body)
            elif message.kind not in _IGNORED:
                raise CutOff(f"invalid frontend message type {message.kind[0]}")
        except (WireFault, Passed, TacitError) as error:
            await self._failed(error)

    async def _failed(self, error: WireFault | Passed | TacitError) -> None:
        fault = of_error(error) if isinstance(error, TacitError) else error
        self.executor.transaction.fail()
        tell(self.outbox, fault)
        self._skipping = True
        await self.outbox.flush()  # the client may wait for it before it sends Sync
        if isinstance(fault, WireFault) and fault.fatal:
            raise CutOff

    async def _refuse_call(self) -> None:
        """FunctionCall, by which libpq reads and writes large objects: there are none, and the connection goes on."""
        self.executor.transaction.fail()
        tell(
            self.outbox,
            WireFault("0A000", "functions are not called by message here", hint="there are no large objects"),
        )
        self.ready()
        await self.outbox.flush()

    def _sync(self) -> None:
        self._skipping = False
        if not self.executor.transaction.is_open:
            self.executor.shelf.end_transaction()
        self.ready()

    def ready(self) -> None:
        """ReadyForQuery, with where the transaction stands."""
        self.outbox.put(b"Z", self.executor.transaction.status.encode())


def report(outbox: Outbox, name: str, value: str) -> None:
    """ParameterStatus."""
    outbox.put(b"S", text(name) + text(value))


async def run(connection: WireConnection) -> None:
    """Serve a connection to its end, whatever it is."""
    try:
        await connection.serve()
    except WireFault as fault:
        tell(connection.outbox, fault)
        await connection.outbox.flush()
    except CutOff as cut:
        if cut.why:
            tell(connection.outbox, WireFault("08P01", cut.why, fatal=True))
            await connection.outbox.flush()
    except Exception:  # a fault of ours: nobody is told more than that, and the log has it
        log.exception("a connection of the PostgreSQL wire failed")
        tell(connection.outbox, WireFault("XX000", "internal error", fatal=True))
        await connection.outbox.flush()
