"""What a client sees of two databases that differ in one person: the same bytes, but for noisy values."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from e2e.cli_clinic import CANARY, NUMBERS
from e2e.test_wire_psycopg import rich
from support.sources import Seeded
from support.wire import serving
from support.wire_client import SYNC, RawClient, Reply, bind, describe, execute, logged_in, parse, query

SOMEBODY = f"{CANARY}-id-0"  # their rows hold the odd numbers, and a dept of no domain
_ASKED = [
    "COUNT(*) AS n FROM visits",
    "dept, COUNT(*) AS n, AVG(amount) AS a FROM visits GROUP BY dept",
    "dept, SUM(amount) AS s FROM visits WHERE age > {age} GROUP BY dept ORDER BY dept",
    "COUNT(DISTINCT patient_id) AS people FROM visits WHERE dept = '{dept}'",
    "MEDIAN(amount) AS m, MIN(age) AS low, MAX(age) AS high FROM visits",
    "dept, COUNT(*) AS n FROM visits WHERE amount / (age - {age}) > 1 GROUP BY dept",
    "COUNT(*) AS n FROM visits WHERE city = '" + CANARY + "-city-{age}'",
    "STDDEV(amount) AS s FROM visits WHERE age BETWEEN {age} AND 80",
]
_REFUSED = [
    "city FROM visits",
    "COUNT(*) FROM visits WHERE CAST(dept AS INTEGER) > 1",
    "COUNT(*) FROM visits WHERE secret = 'x'",
    "COUNT(*) FROM visits WHERE 1 / (age - {age}) > 0.5 AND error(dept)",
    "SUM(city) FROM visits",
    "COUNT(*) FROM nobody",
    "COUNT(* FROM visits",
    "patient_id, COUNT(*) FROM visits GROUP BY patient_id",
]


def statements(count: int) -> list[bytes]:
    """Messages of every kind, the same in every run."""
    source = random.Random(7)
    found: list[bytes] = []
    for index in range(count):
        body = source.choice(_ASKED * 2 + _REFUSED).format(
            age=source.randrange(18, 60), dept=source.choice(["CS", "Bio"])
        )
        sql = f"DP-SELECT 0.0{source.randrange(1, 9)} FRESH {body}"
        form = index % 7
        if form == 0:
            found.append(
                parse(sql) + describe("S") + bind(results=(1,)) + describe("P") + execute("", 2) + execute() + SYNC
            )
        elif form == 1:
            found.append(query(f"BEGIN; {sql}; ROLLBACK"))
        elif form == 2:
            found.append(query(f"COPY ({sql}) TO STDOUT (FORMAT csv, HEADER)"))
        elif form == 3:
            found.append(
                query(f"DECLARE c{index} CURSOR WITH HOLD FOR {sql}; FETCH 2 FROM c{index}; MOVE ALL c{index}")
            )
        elif form == 4:
            found.append(query(f"EXPLAIN {sql}"))
        else:
            found.append(query(sql))
    return found


def seen(reply: Reply, *, exact: bool) -> tuple[str, bytes]:
    """A reply without the noisy values: of a row how many cells it has, of a copied line how many."""
    if reply.kind == "D" and not exact:
        return "D", reply.body[:2]
    if reply.kind == "d":
        return "d", reply.body if reply.body[:1].isalpha() and b"," not in reply.body else str(
            reply.body.count(b",")
        ).encode()
    return reply.kind, reply.body


def transcript(path: Path, sent: list[bytes]) -> list[list[tuple[str, bytes]]]:
    with serving(path, twin=True) as wire:
        wire.hub._house.curator._source = Seeded(1)
        with logged_in(wire.port) as client:
            client.ask(query("SET tacit.errors = on"))
            return [[seen(reply, exact=b"EXPLAIN" in content) for reply in client.ask(content)] for content in sent]


def without(path: Path, person: str) -> Path:
    """The same policy and data without somebody's rows."""
    data = path.parent / "visits.parquet"
    with closing(duckdb.connect()) as connection:
        connection.execute(f"CREATE TABLE v AS SELECT * FROM '{data}' WHERE patient_id <> '{person}'")
        connection.execute(f"COPY v TO '{data}' (FORMAT parquet)")
    return path


def test_two_hundred_statements_show_nothing_of_one_person_but_noise(tmp_path: Path) -> None:
    sent = statements(200)
    places = [tmp_path / name for name in ("with", "without")]
    for place in places:
        place.mkdir()
    whole = transcript(rich(places[0]), sent)
    fewer = transcript(without(rich(places[1]), SOMEBODY), sent)
    assert whole == fewer
    shown = b"".join(body for replies in whole for _, body in replies)
    assert len([body for replies in whole for kind, body in replies if kind == "E"]) > 40
    for canary in (CANARY.encode() + b"-id", CANARY.encode() + b"-secret", *(number.encode() for number in NUMBERS)):
        assert canary not in shown


def test_a_transcript_that_tells_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a notice that says how many rows were read."""
    from tacit.curator import Release

    said = Release.footer
    monkeypatch.setattr(Release, "footer", lambda self: f"{said(self)}; {self.rows}")
    sent = statements(7)
    places = [tmp_path / name for name in ("with", "without")]
    for place in places:
        place.mkdir()
    assert transcript(rich(places[0]), sent) != transcript(without(rich(places[1]), SOMEBODY), sent)


def test_clients_are_told_alike_who_is_not_there(tmp_path: Path) -> None:
    with serving(rich(tmp_path)) as wire:
        told = []
        for name in ("ben", "nobody"):
            client: RawClient = logged_in(wire.port, name, "wrong password")
            greeting: list[Reply] = client.greeting  # type: ignore[attr-defined]
            told.append([(reply.kind, reply.body.replace(name.encode(), b"?")) for reply in greeting])
            client.__exit__(None, None, None)
        assert told[0] == told[1]
