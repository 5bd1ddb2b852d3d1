"""The protocol's own rules, by messages: portals, errors until Sync, start-up, TLS, limits, damaged bytes."""

from __future__ import annotations

import random
import resource
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from e2e.test_wire_psycopg import BY_DEPT, rich
from support.wire import Wire, serving
from support.wire_client import (
    FLUSH,
    SYNC,
    RawClient,
    Reply,
    bind,
    describe,
    execute,
    logged_in,
    message,
    parse,
    query,
    start_packet,
)
from tacit.faces.server.certificates import tls_context, tls_files
from tacit.policy import load_policy

ASKED = "DP-SELECT 0.1 FRESH dept, COUNT(*) AS n FROM visits GROUP BY dept"


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(rich(tmp_path_factory.mktemp("clinic"))) as served:
        yield served


@pytest.fixture
def client(wire: Wire) -> Iterator[RawClient]:
    with logged_in(wire.port) as connection:
        yield connection


def kinds(replies: list[Reply]) -> str:
    return "".join(reply.kind for reply in replies)


def test_a_portal_that_is_executed_twice_gives_the_same_rows_for_one_charge(wire: Wire, client: RawClient) -> None:
    before = wire.spent
    replies = client.ask(parse(ASKED) + bind() + execute() + execute() + SYNC)
    assert kinds(replies) == "12NDDDCDDDCZ"
    rows = [reply.body for reply in replies if reply.kind == "D"]
    assert rows[:3] == rows[3:]
    assert wire.spent == pytest.approx(before + 0.1)


def test_a_portal_gives_its_rows_part_by_part(wire: Wire, client: RawClient) -> None:
    before = wire.spent
    client.ask(query("BEGIN"))
    replies = client.ask(parse(ASKED) + bind("p") + execute("p", 2) + SYNC)
    assert kinds(replies) == "12NDDsZ"
    replies = client.ask(execute("p", 2) + SYNC)
    assert kinds(replies) == "DCZ"
    assert replies[1].body == b"SELECT 1\0"
    client.ask(query("COMMIT"))
    gone = client.ask(execute("p", 2) + SYNC)
    assert gone[0].fields["C"] == "34000"
    assert wire.spent == pytest.approx(before + 0.1)


def test_describing_costs_nothing_and_tells_the_types_that_come(wire: Wire, client: RawClient) -> None:
    before = wire.spent
    sql = "DP-SELECT 0.1 dept, COUNT(*) AS n FROM visits WHERE age > $1 AND dept = $2 GROUP BY dept"
    client.send(parse(sql, "s") + describe("S", "s") + FLUSH)
    assert kinds(described := client.until("T")) == "1tT"
    assert described[1].body == struct.pack("!HII", 2, 20, 25)
    assert b"dept\0" in described[2].body
    assert wire.spent == before
    replies = client.ask(bind("", "s", (b"30", b"CS"), (1,)) + describe("P") + execute() + SYNC)
    assert kinds(replies) == "2TNDCZ"
    assert wire.spent == pytest.approx(before + 0.1)


SEVERAL = (
    "DP-SELECT 0.1 a.n, b.n AS older, DATE '2024-01-31' AS day FROM (SELECT COUNT(*) AS n FROM visits) AS a,"
    " (SELECT COUNT(*) AS n FROM visits WHERE age > 40) AS b"
)


@pytest.mark.parametrize(
    "sql",
    [
        "DP-SELECT 0.1 dept, COUNT(*) AS n, n / SUM(n) OVER () AS share FROM visits GROUP BY dept",
        SEVERAL,
        "DP-SELECT 0.1 dept, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept)",
    ],
)
@pytest.mark.parametrize("binary", [0, 1])
def test_what_is_computed_from_answers_has_its_types(client: RawClient, sql: str, binary: int) -> None:
    client.ask(query("SET tacit.errors = on"))
    simple = client.ask(query(sql))
    assert set(kinds(simple)) == set("NTDCZ")
    replies = client.ask(parse(sql) + bind(results=(binary,)) + describe("P") + execute() + SYNC)
    assert set(kinds(replies)) == set("12TNDCZ")
    client.ask(query("SET tacit.errors = off"))


def test_after_an_error_all_is_skipped_until_sync(wire: Wire, client: RawClient) -> None:
    before = wire.spent
    client.send(parse("DP-SELECT 1 COUNT(*) FROM nowhere") + bind() + describe("P") + execute())
    client.send(parse(ASKED) + bind() + execute() + FLUSH + query(ASKED))
    replies = client.ask(SYNC)
    assert kinds(replies) == "12EZ"
    assert replies[2].fields["C"] == "42P01"
    assert wire.spent == before


def test_one_message_begins_asks_and_commits_with_one_charge(wire: Wire, client: RawClient) -> None:
    before = wire.spent
    replies = client.ask(query(f"BEGIN; {ASKED}; COMMIT"))
    assert kinds(replies) == "CNTDDDCCZ"
    assert wire.spent == pytest.approx(before + 0.1)


def test_an_error_in_a_message_ends_it_and_leaves_what_came_before(wire: Wire, client: RawClient) -> None:
    before = wire.spent
    replies = client.ask(query(f"{ASKED}; DP-SELECT 1 COUNT(*) FROM nowhere; {ASKED}"))
    assert kinds(replies) == "NTDDDCEZ"
    assert wire.spent == pytest.approx(before + 0.1)


def test_an_empty_statement_is_answered_as_one(client: RawClient) -> None:
    for text in ("", " ; ;", "-- nothing", "/* a /* nested */ comment */"):
        assert kinds(client.ask(query(text))) == "IZ"
    assert kinds(client.ask(parse("") + bind() + describe("P") + execute() + SYNC)) == "12nIZ"


def test_a_start_tells_the_settings_and_a_key(client: RawClient) -> None:
    greeting: list[Reply] = client.greeting  # type: ignore[attr-defined]
    told = dict(reply.body.split(b"\0")[:2] for reply in greeting if reply.kind == "S")  # type: ignore[misc]
    assert told[b"server_version"] == b"14.20"
    assert told[b"client_encoding"] == b"UTF8"
    assert told[b"standard_conforming_strings"] == b"on"
    assert kinds(greeting)[-2:] == "KZ"


def test_a_wrong_key_cancels_nothing(wire: Wire, client: RawClient) -> None:
    greeting: list[Reply] = client.greeting  # type: ignore[attr-defined]
    process, secret = struct.unpack("!II", next(reply.body for reply in greeting if reply.kind == "K"))
    wire.hub.gate.clear()
    client.send(query(ASKED))
    with RawClient(wire.port) as other:
        other.send(struct.pack("!IIII", 16, 80_877_102, process, secret ^ 1))
        assert other.rest() == []
    wire.hub.gate.set()
    assert kinds(client.until()) == "NTDDDCZ"


def test_settings_follow_transactions_and_are_told(client: RawClient) -> None:
    replies = client.ask(query("SET application_name = 'notebook'"))
    assert kinds(replies) == "SCZ"
    client.ask(query("BEGIN; SET tacit.epsilon = 0.5"))
    client.ask(query("ROLLBACK"))
    assert b"\0\0\0\0" in client.ask(query("SHOW tacit.epsilon"))[1].body
    for wrong in ("SET tacit.epsilon = 0", "SET tacit.epsilon = 'much'", "SET client_encoding = 'LATIN1'"):
        assert client.ask(query(wrong))[0].fields["C"] == "22023"
    assert client.ask(query("SET no_such_thing = 1"))[0].fields["C"] == "42704"
    assert client.ask(query("SET server_version = '9.1'"))[0].fields["C"] == "55P02"
    assert client.ask(query("SET ROLE curator"))[0].fields["C"] == "42501"


def test_tls_is_spoken_when_it_is_asked_for(tmp_path: Path) -> None:
    path = rich(tmp_path)
    context = tls_context(*tls_files(load_policy(path)))
    with serving(path, tls=context) as wire:
        certificate = tls_files(load_policy(path))[0]
        for how in ({"sslmode": "require"}, {"sslmode": "verify-full", "sslrootcert": str(certificate)}):
            with psycopg.connect(wire.dsn(**how)) as client:
                assert client.pgconn.ssl_in_use
                assert len(client.execute(BY_DEPT).fetchall()) == 3
        with RawClient(wire.port) as eager:  # bytes before TLS, which somebody in between might have put there
            eager.send(struct.pack("!II", 8, 80_877_103) + start_packet())
            assert eager.socket.recv(10) in (b"", b"S")
            assert eager.socket.recv(10) == b""
        with RawClient(wire.port) as other:
            other.send(struct.pack("!II", 8, 80_877_103))
            assert other.socket.recv(1) == b"S"
            encrypted = ssl._create_unverified_context().wrap_socket(other.socket)
            encrypted.sendall(start_packet())
            assert encrypted.recv(1) == b"R"
            encrypted.close()


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("!I", 0x7FFFFFFF) + b"x",
        struct.pack("!I", 3),
        struct.pack("!II", 8, 5),
        struct.pack("!II", 9, 196_608) + b"\0",
        struct.pack("!II", 20, 196_608) + b"user\0" + b"x" * 7,
        struct.pack("!II", 8, 80_877_103) * 5,
        b"GET / HTTP/1.1\r\nHost: tacit\r\n\r\n",
    ],
)
def test_what_is_no_start_is_cut_off(wire: Wire, content: bytes) -> None:
    with RawClient(wire.port) as client:
        client.send(content)
        client.socket.shutdown(1)
        assert all(reply.kind in "ENR" for reply in client.rest())


@pytest.mark.parametrize(
    "content",
    [
        b"Q" + struct.pack("!I", 0x7FFFFFFF) + b"SELECT",
        b"Q" + struct.pack("!I", 2),
        b"Q" + struct.pack("!I", 2_000_000),
        message(b"Q", b"no end"),
        message(b"Q", b"\xff\xfe\0"),
        message(b"P", b"\0SELECT 1\0\0\x05"),
        message(b"B", b"\0\0\0\0\0\1\0\0\0\x09abc"),
        message(b"?", b"what"),
    ],
)
def test_what_is_no_message_ends_the_connection_with_a_word(client: RawClient, content: bytes) -> None:
    client.send(content)
    client.socket.shutdown(1)
    replies = [reply for reply in client.rest() if reply.kind == "E"]
    assert all(reply.fields["C"] == "08P01" for reply in replies)
    assert len(replies) == 1


def test_a_function_call_is_refused_and_the_connection_goes_on(client: RawClient) -> None:
    """As libpq sends it for large objects."""
    call = message(b"F", struct.pack("!IHHIiH", 957, 1, 1, 1, 4, 1) + b"\0\0\0\0")
    refused, ready = client.ask(call)
    assert (refused.kind, refused.fields["C"], ready.body) == ("E", "0A000", b"I")
    client.ask(query("BEGIN"))
    assert client.ask(call)[-1].body == b"E"
    assert client.ask(query("ROLLBACK"))[-1].body == b"I"


_STATEMENTS = [
    *("SELECT 1", ASKED, "SET x = '", "COPY (SELECT 1) TO STDOUT", "FETCH 1 FROM c", "DECLARE c CURSOR FOR", "E'\\"),
    *("$a$", "SELECT $99999", "EXECUTE", "PREPARE p AS", "COPY", "SET", "SHOW", "RESET", "CLOSE", "MOVE 99999999999 c"),
    *("DISCARD", "ROLLBACK TO", "RELEASE", "SAVEPOINT", "DEALLOCATE", "((((", "SELECT " + "(" * 90 + "1", "\x01\x02"),
    *(
        "BEGIN",
        "WITH",
        "FETCH",
        "EXPLAIN",
        "DP-SELECT",
        "DP-SELECT $1 COUNT(*) FROM visits",
        "COPY (",
        "SET TIME",
        "DP-",
    ),
]


def _fuzzed(source: random.Random) -> bytes:
    """A message with something wrong, or nothing."""
    sql = source.choice(_STATEMENTS)
    good = source.choice(
        [query(sql), parse(sql), parse(sql, "n"), bind(), bind("p", "n", (b"1",)), describe("P"), describe("S", "n"),
         execute(), execute("p", 1), SYNC, FLUSH, message(b"C", b"Sn\0"), message(b"d", b"x"), message(b"c"),
         message(b"f", b"\0")]
    )  # fmt: skip
    content = bytearray(good)
    damage = source.randrange(8)
    if damage == 0:
        content[source.randrange(len(content))] = source.randrange(256)
    elif damage == 1:
        del content[source.randrange(len(content)) :]
    elif damage == 2:
        content = bytearray(source.randbytes(source.randrange(1, 60)))
    elif damage == 3 and len(content) > 5:
        content[5:] = source.randbytes(len(content) - 5)
    return bytes(content)


def _fuzz(wire: Wire, messages: int, seed: int) -> None:
    source = random.Random(seed)
    before, spent = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, wire.spent
    sent = 0
    while sent < messages:
        with logged_in(wire.port, "ben") as client:
            try:
                for _ in range(source.randrange(1, 200)):
                    client.send(_fuzzed(source))
                    sent += 1
                client.send(SYNC)
                client.socket.shutdown(1)
                for reply in client.rest():
                    assert reply.kind != "E" or reply.fields["C"] != "XX000", reply.fields
            except OSError:  # the server has closed it: no longer connected, a broken pipe, a reset
                continue
    assert wire.spent - spent <= 2  # of ben's budget: the questions that came through whole
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown <= 50 * 1024, f"memory grew by {grown} kB"
    with logged_in(wire.port) as client:
        assert kinds(client.ask(query("SELECT 1"))) == "TDCZ"


def test_thousands_of_damaged_messages_leave_the_server_well(wire: Wire) -> None:
    _fuzz(wire, 3_000, seed=1)


@pytest.mark.heavy
def test_a_hundred_thousand_damaged_messages_leave_the_server_well(wire: Wire) -> None:
    _fuzz(wire, 100_000, seed=2)
