"""The extended protocol: Parse, Bind, Describe, Execute and Close, one handler each."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tacit.errors import TacitError
from tacit.faces.server.wire.executor import Executor
from tacit.faces.server.wire.faults import WireFault, of_error
from tacit.faces.server.wire.framing import Fields, Outbox
from tacit.faces.server.wire.language.lexer import Lexed
from tacit.faces.server.wire.language.routing import Route
from tacit.faces.server.wire.outcome import complete
from tacit.faces.server.wire.portals import Bound, Portal
from tacit.faces.server.wire.simple import checked, send_notices

T = TypeVar("T")
_MOST_PARAMETERS = 10_000


async def _parse(executor: Executor, outbox: Outbox, body: bytes) -> None:
    fields = Fields(body)
    name, written = fields.text(), fields.text()
    types = tuple(fields.int32() for _ in range(_count(fields)))
    fields.ends()
    parsed = executor.remembered(written, checked)
    if len(parsed) > 1:
        raise WireFault("42601", "cannot insert multiple commands into a prepared statement")
    statement = parsed[0] if parsed else Lexed(written, ())
    first = statement.tokens[0].value if statement.tokens else ""
    executor.transaction.check(first, statement)
    prepared = await executor.prepare(statement, types)
    if prepared.route is Route.CATALOGUE:
        await executor.foreign(prepared)  # a name that is wrong is told here, and where it stands
    if name == "":
        executor.shelf.statements.pop("", None)
    executor.shelf.keep_statement(name, prepared)
    outbox.put(b"1")


async def _bind(executor: Executor, outbox: Outbox, body: bytes) -> None:
    fields = Fields(body)
    portal, name = fields.text(), fields.text()
    formats = tuple(fields.int16() for _ in range(_count(fields)))
    values: list[bytes | None] = []
    for _ in range(_count(fields)):
        length = fields.int32()
        values.append(None if length == -1 else fields.octets(length))
    results = tuple(fields.int16() for _ in range(_count(fields)))
    fields.ends()
    if any(form not in (0, 1) for form in (*formats, *results)):
        raise WireFault("08P01", "a format is 0 or 1")
    prepared = executor.shelf.statement(name)
    bound = Bound(tuple(values), formats, results)
    if prepared.route is not Route.CATALOGUE:
        bound.decoded(prepared.types)
    if portal == "":
        executor.shelf.portals.pop("", None)
    executor.shelf.keep_portal(portal, Portal(prepared, bound))
    outbox.put(b"2")


async def _describe(executor: Executor, outbox: Outbox, body: bytes) -> None:
    fields = Fields(body)
    kind, name = fields.octets(1), fields.text()
    fields.ends()
    if kind == b"S":
        prepared = executor.shelf.statement(name)
        described = await _told(prepared.statement, executor.described(prepared))
        outbox.put(b"t", struct.pack(f"!H{len(prepared.types)}I", len(prepared.types), *prepared.types))
        outbox.raw(described)
        return
    if kind != b"P":
        raise WireFault("08P01", "a statement (S) or a portal (P) is described")
    portal = executor.shelf.portal(name)
    if portal.outcome is None and portal.prepared.route is Route.CATALOGUE:
        await executor.run_portal(portal)  # it is free, and then known in the formats that are wanted
    if portal.outcome is not None:
        outbox.raw(portal.outcome.described(portal.bound.results))
        return
    columns = executor.described(portal.prepared, portal.bound.results, bound=portal.bound)
    outbox.raw(await _told(portal.prepared.statement, columns))


async def _execute(executor: Executor, outbox: Outbox, body: bytes) -> None:
    fields = Fields(body)
    name, most = fields.text(), fields.int32()
    fields.ends()
    portal = executor.shelf.portal(name)
    if not portal.prepared.statement.tokens:
        outbox.put(b"I")
        return
    is_new = portal.outcome is None
    outcome = await _told(portal.prepared.statement, executor.run_portal(portal))
    if is_new:
        send_notices(outbox, outcome)
    for each in outcome.copy:
        outbox.raw(each)
    before = portal.at if portal.at < len(outcome) else 0
    rows, more = portal.part(most)
    for index, row in enumerate(rows):
        outbox.raw(row)
        if index % 500 == 0 and outbox.is_full:
            await outbox.flush()
    if more:
        outbox.put(b"s")
        return
    outbox.raw(complete(outcome.tag, portal.at - before))


async def _close(executor: Executor, outbox: Outbox, body: bytes) -> None:
    fields = Fields(body)
    kind, name = fields.octets(1), fields.text()
    fields.ends()
    if kind == b"S":
        executor.shelf.statements.pop(name, None)
    elif kind == b"P":
        executor.shelf.portals.pop(name, None)
    else:
        raise WireFault("08P01", "a statement (S) or a portal (P) is closed")
    outbox.put(b"3")


async def _told(statement: Lexed, work: Awaitable[T]) -> T:
    """What the work comes to; our errors learn where in the statement they are."""
    try:
        return await work
    except TacitError as error:
        raise of_error(error, statement.whole) from None


def _count(fields: Fields) -> int:
    count = fields.int16()
    if count > _MOST_PARAMETERS:
        raise WireFault("54000", f"too many parameters: at most {_MOST_PARAMETERS:,} are read")
    return count


Handler = Callable[[Executor, Outbox, bytes], Awaitable[None]]
HANDLERS: dict[bytes, Handler] = {b"P": _parse, b"B": _bind, b"D": _describe, b"E": _execute, b"C": _close}
