"""What a connection answers itself: settings, transactions, prepared statements."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.faces.server.wire.copying import copied, read_copy
from tacit.faces.server.wire.cursors import close, declare, fetch, move
from tacit.faces.server.wire.executor import Command, Executor
from tacit.faces.server.wire.faults import WireFault, limit_fault
from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.faces.server.wire.language.routing import Route
from tacit.faces.server.wire.outcome import Outcome, table
from tacit.faces.server.wire.portals import Bound, PreparedStatement, with_statement
from tacit.faces.server.wire.questions import warning
from tacit.faces.server.wire.settings import FORWARDED, REPORTED
from tacit.faces.server.wire.values import oids

_MOST_SAVEPOINTS = 1_000


async def _set(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    tokens = [token for token in prepared.statement.tokens[1:] if not token.says("session")]
    local = bool(tokens) and tokens[0].says("local")
    tokens = tokens[1:] if local else tokens
    if not tokens:
        raise _unreadable(prepared.statement)
    if tokens[0].says("transaction", "characteristics", "constraints"):
        return Outcome("SET")  # every isolation is the same here: there is nothing to write
    if tokens[0].says("authorization", "role"):
        raise WireFault("42501", "another role is refused", hint="connect under another name")
    if tokens[0].says("time"):
        tokens = [Token(Lexeme.WORD, "timezone", 0, 0), *tokens[2:]]
    elif tokens[0].says("names"):
        tokens = [Token(Lexeme.WORD, "client_encoding", 0, 0), *tokens[1:]]
    name, rest = _setting_name(tokens)
    if rest and rest[0].says("=", "to"):
        rest = rest[1:]
    value = None if len(rest) == 1 and rest[0].says("default") else _setting_value(rest)
    if local and not executor.transaction.has_end:
        executor.settings.get(name)  # a name that is none is told so
        return Outcome("SET", notices=(warning("25P01", "SET LOCAL can only be used in transaction blocks"),))
    known, transaction = executor.settings.known(name), executor.transaction
    if local:
        transaction.local.setdefault(known, executor.settings.values.get(known))
    else:
        transaction.local.pop(known, None)
    return await _changed(executor, known, value, tag="SET")


async def restored(executor: Executor, values: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Have settings go back to what they were, also where others know of them; what the client is to be told."""
    before = {name: executor.settings.get(name) for name in {*REPORTED, *FORWARDED}}
    executor.settings.values = dict(values)
    changed = {name: now for name, old in before.items() if (now := executor.settings.get(name)) != old}
    for name in FORWARDED & changed.keys():
        await executor.catalogue.put(name, changed[name])
    return tuple((name, value) for name, value in changed.items() if name in REPORTED)


async def _changed(executor: Executor, name: str, value: str | None, *, tag: str) -> Outcome:
    known = executor.settings.set(name, value)
    new = executor.settings.get(known)
    if known in FORWARDED:
        await executor.catalogue.put(known, new)
    return Outcome(tag, reports=((known, new),) if known in REPORTED else ())


def _setting_name(tokens: Sequence[Token]) -> tuple[str, Sequence[Token]]:
    """The name, of one or more parts, and what follows it."""
    parts, index = [tokens[0].value], 1
    while index + 1 < len(tokens) and tokens[index].says("."):
        parts.append(tokens[index + 1].value)
        index += 2
    return ".".join(parts), tokens[index:]


def _setting_value(tokens: Sequence[Token]) -> str:
    """One value, or several with commas between them."""
    return "".join(", " if token.says(",") else token.value for token in tokens)


async def _show(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    tokens = prepared.statement.tokens[1:]
    if not tokens:
        raise _unreadable(prepared.statement)
    if tokens[0].says("all"):
        return table("SHOW", ("name", "setting", "description"), [(*pair, "") for pair in executor.settings.all()])
    name = _setting_name(tokens)[0]
    if tokens[0].says("transaction") and len(tokens) > 2:
        name = "transaction_isolation"
    elif tokens[0].says("time") and len(tokens) > 1:
        name = "TimeZone"
    return table("SHOW", (name.lower() if "." in name else name,), [(executor.settings.get(name),)])


async def _reset(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    tokens = prepared.statement.tokens[1:]
    if not tokens:
        raise _unreadable(prepared.statement)
    if tokens[0].says("role", "session"):
        return Outcome("RESET")
    if tokens[0].says("all"):
        return await _reset_all(executor, "RESET")
    name = "timezone" if tokens[0].says("time") else _setting_name(tokens)[0]
    return await _changed(executor, name, None, tag="RESET")


async def _reset_all(executor: Executor, tag: str) -> Outcome:
    return Outcome(tag, reports=await restored(executor, {}))


async def _begin(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    executor.transaction.begin(executor.settings.values)
    return Outcome("START TRANSACTION" if prepared.statement.word(0) == "start" else "BEGIN")


async def _commit(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    transaction = executor.transaction
    if transaction.status == "E":
        return await _undone(executor)
    reports = await restored(executor, transaction.without_local(executor.settings.values))
    transaction.end()
    executor.shelf.end_transaction()
    return Outcome("COMMIT", reports=reports)


async def _rollback(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    words = [token.value for token in prepared.statement.tokens[1:] if not token.says("work", "transaction")]
    if words[:1] == ["to"]:
        names = [word for word in words[1:] if word != "savepoint"]
        return await _back_to(executor, names[0] if names else "")
    return await _undone(executor)


async def _undone(executor: Executor) -> Outcome:
    """Settings go back; what was charged stays charged."""
    before = executor.transaction.before
    reports = () if before is None else await restored(executor, before)
    executor.transaction.end()
    executor.shelf.end_transaction()
    return Outcome("ROLLBACK", reports=reports)


async def _back_to(executor: Executor, name: str) -> Outcome:
    transaction = executor.transaction
    transaction.need("ROLLBACK TO SAVEPOINT")
    savepoint = transaction.savepoint(name)
    reports = await restored(executor, transaction.savepoints[savepoint][1])
    transaction.savepoints = transaction.savepoints[: savepoint + 1]
    transaction.status = "T" if transaction.is_open else "I"
    return Outcome("ROLLBACK", reports=reports)


async def _savepoint(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    executor.transaction.need("SAVEPOINT")
    if len(executor.transaction.savepoints) >= _MOST_SAVEPOINTS:
        raise limit_fault(f"a transaction has at most {_MOST_SAVEPOINTS:,} savepoints")
    name = prepared.statement.tokens[-1].value
    executor.transaction.savepoints.append((name, dict(executor.settings.values)))
    return Outcome("SAVEPOINT")


async def _release(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    executor.transaction.need("RELEASE SAVEPOINT")
    savepoint = executor.transaction.savepoint(prepared.statement.tokens[-1].value)
    executor.transaction.savepoints = executor.transaction.savepoints[:savepoint]
    return Outcome("RELEASE")


async def _discard(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    what = prepared.statement.word(1)
    if what == "all":
        executor.shelf.statements.clear()
        executor.shelf.portals.clear()
        await _reset_all(executor, "DISCARD ALL")
    return Outcome(f"DISCARD {what.upper()[:20]}")


async def _deallocate(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    name = prepared.statement.tokens[-1]
    if name.says("all"):
        executor.shelf.statements.clear()
        return Outcome("DEALLOCATE ALL")
    executor.shelf.statement(name.value)
    del executor.shelf.statements[name.value]
    return Outcome("DEALLOCATE")


async def _prepare(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    tokens = prepared.statement.tokens
    index_of_as = next((index for index, token in enumerate(tokens) if token.says("as")), None)
    if index_of_as is None or index_of_as + 1 >= len(tokens):
        raise _unreadable(prepared.statement)
    named = [oids.oid_of_name(token.value) or 0 for token in tokens[2:index_of_as] if token.is_name]
    kept = await executor.prepare(prepared.statement.after(index_of_as + 1), tuple(named))
    executor.shelf.keep_statement(tokens[1].value, kept)
    return Outcome("PREPARE")


async def _execute(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    tokens = prepared.statement.tokens
    if len(tokens) < 2:
        raise _unreadable(prepared.statement)
    values = [_literal(token) for token in tokens[2:] if not token.says("(", ")", ",")]
    return await executor.run(executor.shelf.statement(tokens[1].value), Bound(tuple(values), (), bound.results))


def _literal(token: Token) -> bytes | None:
    if token.says("null"):
        return None
    if token.kind in (Lexeme.STRING, Lexeme.NUMBER) or token.says("true", "false"):
        return token.value.encode()
    raise WireFault("0A000", "EXECUTE takes constants", hint="EXECUTE name ('text', 5, null)", position=token.start + 1)


async def _copy(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    asked = read_copy(prepared.statement)
    inner = await executor.prepare(asked.query, prepared.types)
    if inner.route is Route.CATALOGUE:  # its server writes copies as it writes rows
        whole = with_statement(prepared, prepared.statement)
        whole.route = Route.CATALOGUE
        return await executor.run(whole, bound)
    if inner.route is not Route.CURATOR:
        raise WireFault("42601", "COPY takes a question")
    return copied(await executor.run(inner, bound), asked.options)


async def _nothing(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    """LISTEN, UNLISTEN and their like: nobody ever tells anything."""
    return Outcome(prepared.statement.word(0).upper())


def _unreadable(statement: Lexed) -> WireFault:
    end = statement.tokens[-1].end if statement.tokens else 0
    return WireFault("42601", "syntax error at end of input", position=end + 1)


COMMANDS: dict[str, Command] = {
    "set": _set,
    "show": _show,
    "reset": _reset,
    "begin": _begin,
    "start": _begin,
    "commit": _commit,
    "end": _commit,
    "rollback": _rollback,
    "abort": _rollback,
    "savepoint": _savepoint,
    "release": _release,
    "discard": _discard,
    "deallocate": _deallocate,
    "prepare": _prepare,
    "execute": _execute,
    "declare": declare,
    "fetch": fetch,
    "move": move,
    "close": close,
    "copy": _copy,
    "unlisten": _nothing,
}
