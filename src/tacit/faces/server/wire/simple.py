"""The simple protocol: one message, any number of statements, each answered in turn."""

from __future__ import annotations

from tacit.errors import TacitError
from tacit.faces.server.wire.commands import restored
from tacit.faces.server.wire.executor import Executor
from tacit.faces.server.wire.faults import Passed, WireFault, of_error, tell
from tacit.faces.server.wire.framing import Fields, Outbox, text
from tacit.faces.server.wire.language.lexer import Lexed, statements
from tacit.faces.server.wire.outcome import Outcome, complete

MOST_CHARACTERS = 100_000
MOST_STATEMENTS = 100  # of one message


async def query(executor: Executor, outbox: Outbox, body: bytes) -> None:
    """Answer every statement of a message; an error ends it, and leaves what came before."""
    fields = Fields(body)
    written = fields.text()
    fields.ends()
    executor.shelf.statements.pop("", None)
    executor.shelf.portals.pop("", None)
    try:
        parsed = executor.remembered(written, checked)
        if not parsed:
            outbox.put(b"I")
        executor.transaction.implied = len(parsed) > 1
        for statement in parsed:
            await _one(executor, outbox, statement)
    except (WireFault, Passed, TacitError) as error:
        if isinstance(error, WireFault) and error.fatal:
            raise
        executor.transaction.fail()
        tell(outbox, of_error(error, written) if isinstance(error, TacitError) else error)
    finally:
        executor.transaction.implied = False
        if not executor.transaction.is_open:
            executor.shelf.end_transaction()
            await _without_local(executor, outbox)


async def _without_local(executor: Executor, outbox: Outbox) -> None:
    """End what SET LOCAL set in a message of several statements, where no block is left open."""
    transaction = executor.transaction
    if transaction.local:
        values, transaction.local = transaction.without_local(executor.settings.values), {}
        for name, value in await restored(executor, values):
            outbox.put(b"S", text(name) + text(value))


def checked(written: str) -> list[Lexed]:
    """The statements of a text that is not too long."""
    if len(written) > MOST_CHARACTERS:
        raise WireFault("54000", f"the statement is too long: at most {MOST_CHARACTERS:,} characters are read")
    lexed = statements(written)
    if len(lexed) > MOST_STATEMENTS:
        raise WireFault("54000", f"too many statements at once: at most {MOST_STATEMENTS} are read")
    return lexed


async def _one(executor: Executor, outbox: Outbox, statement: Lexed) -> None:
    outcome = await executor.run(await executor.prepare(statement))
    send_notices(outbox, outcome)
    if outcome.has_rows:
        outbox.raw(outcome.described(()))
    await send_rows(outbox, outcome, (), (0, len(outcome)))
    outbox.raw(complete(outcome.tag, len(outcome)))


def send_notices(outbox: Outbox, outcome: Outcome) -> None:
    """What is told beside the rows: the cost of an answer, a setting that changed."""
    for each in outcome.notices:
        outbox.raw(each)
    for name, value in outcome.reports:
        outbox.put(b"S", text(name) + text(value))


async def send_rows(outbox: Outbox, outcome: Outcome, formats: tuple[int, ...], part: tuple[int, int]) -> None:
    """The rows from one index up to another, or the data of a copy; a little at a time."""
    for each in outcome.copy:
        outbox.raw(each)
        if outbox.is_full:
            await outbox.flush()
    start, end = part
    while start < end:
        for row in outcome.rows(formats, start, min(start + 500, end)):
            outbox.raw(row)
        start += 500
        if outbox.is_full:
            await outbox.flush()
