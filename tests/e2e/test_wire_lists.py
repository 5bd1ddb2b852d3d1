"""`= ANY($1)` with a list, as drivers send lists: its values are compared, never one text that spells it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from e2e.test_wire_psycopg import rich
from support.wire import Wire, serving
from support.wire_client import SYNC, bind, execute, logged_in, parse

COUNT = "DP-SELECT 20 COUNT(*) AS n FROM visits WHERE {}"
HALF, WIDE = (
    300,
    30,
)  # rows of two departments of four, of 600; noise of scale 4/20 strays further less than 1e-60 of times


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    path = rich(tmp_path_factory.mktemp("clinic"))
    path.write_text(
        path.read_text().replace("epsilon = 1000", "epsilon = 9000").replace("epsilon = 500", "epsilon = 9000")
    )
    with serving(path) as served:
        yield served


@pytest.fixture
def client(wire: Wire) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(wire.dsn(), autocommit=True) as connection:
        yield connection


def near(number: object) -> bool:
    return isinstance(number, int) and abs(number - HALF) < WIDE


@pytest.mark.parametrize("mark", ["%s", "%t", "%b", "%s::text[]", "%s::varchar[]"])
@pytest.mark.parametrize("condition", ["dept = ANY({})", "visits.dept <> ALL({})"])
def test_a_list_of_texts_in_every_format(client: psycopg.Connection[Any], mark: str, condition: str) -> None:
    found = client.execute(COUNT.format(condition.format(mark)), [["CS", "Bio"]]).fetchone()
    assert found is not None
    assert near(found[0])


@pytest.mark.parametrize("mark", ["%s", "%t", "%b"])
def test_a_list_of_numbers_in_every_format(client: psycopg.Connection[Any], mark: str) -> None:
    found = client.execute(COUNT.format(f"age = ANY({mark})"), [[*range(18, 54)]]).fetchone()
    listed = client.execute(COUNT.format(f"age IN ({', '.join(map(str, range(18, 54)))})")).fetchone()
    assert found is not None
    assert listed is not None
    assert abs(found[0] - listed[0]) < WIDE < listed[0]


@pytest.mark.parametrize("written", ["'{CS,Bio}'", "'{CS,Bio}'::text[]", "ARRAY['CS', 'Bio']", '(\'{"CS", "Bio"}\')'])
def test_a_list_in_the_text_itself(client: psycopg.Connection[Any], written: str) -> None:
    found = client.execute(COUNT.format(f"dept = ANY({written})")).fetchone()
    assert found is not None
    assert near(found[0])


def test_a_list_of_lists_and_one_that_is_empty_are_refused_uncharged(
    wire: Wire, client: psycopg.Connection[Any]
) -> None:
    before = wire.spent
    for values in ([[1], [2]], []):
        with pytest.raises(psycopg.Error):
            client.execute(COUNT.format("age = ANY(%s)"), [values])
    assert wire.spent == before


def test_psycopg2(wire: Wire) -> None:
    psycopg2 = pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    with closing(psycopg2.connect(wire.dsn())) as client, client.cursor() as cursor:
        cursor.execute(COUNT.format("dept = ANY(%s)"), [["CS", "Bio"]])
        assert near(cursor.fetchone()[0])


def test_asyncpg(wire: Wire) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed")

    async def talk() -> None:
        client = await asyncpg.connect(wire.url())
        assert near(await client.fetchval(COUNT.format("dept = ANY($1)"), ["CS", "Bio"]))
        assert near(await client.fetchval(COUNT.format("dept = ANY($1::text[])"), ["CS", "Bio"]))
        await client.close()

    asyncio.run(talk())


def test_pg8000(wire: Wire) -> None:
    pg8000 = pytest.importorskip("pg8000.native", reason="pg8000 is not installed")
    with closing(
        pg8000.Connection("ana", password="correct horse battery", port=wire.port, database="clinic")
    ) as client:
        assert near(client.run(COUNT.format("dept = ANY(:d)"), d=["CS", "Bio"])[0][0])


@pytest.mark.parametrize("oid", [0, 705])
@pytest.mark.parametrize(
    ("condition", "value"),
    [("age > $1", b"30"), ("dept = ANY($1)", b"{CS,Bio}"), ("age = ANY($1)", b"{30,31}"), ("dept = $1", b"CS")],
)
def test_a_parameter_of_a_type_that_a_client_does_not_know_is_of_its_columns(
    wire: Wire, oid: int, condition: str, value: bytes
) -> None:
    """Perl's DBD::Pg names every parameter `unknown`."""
    with logged_in(wire.port) as client:
        sent = parse(COUNT.format(condition), types=(oid,)) + bind(values=(value,)) + execute() + SYNC
        kinds = [reply.kind for reply in client.ask(sent)]
    assert "E" not in kinds
    assert kinds.count("D") == 1
