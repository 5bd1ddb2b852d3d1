"""Each client asks a question with parameters, lists tables, reads columns, and gets refusals as its own exceptions."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from e2e.test_wire_psycopg import DEPTS, rich
from support.wire import PASSWORD, Wire, serving

ASKED = "DP-SELECT 5 dept, COUNT(*) AS n FROM visits WHERE dept <> {} AND age > {} GROUP BY dept"
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = 'visits' ORDER BY ordinal_position"
VISITS = ["patient_id", "amount", "age", "dept", "city"]
REFUSED = "DP-SELECT 1 patient_id FROM visits"
DEAR = "DP-SELECT 5000 COUNT(*) FROM visits"
PYTHON_URLS = {"psycopg": "postgresql+psycopg", "psycopg2": "postgresql+psycopg2", "asyncpg": "postgresql+asyncpg"}


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(rich(tmp_path_factory.mktemp("clinic")), twin=True) as served:
        yield served


def _whole(rows: list[Any]) -> bool:
    """Whether an answer has every group, each with a whole number."""
    return sorted(row[0] for row in rows) == DEPTS and all(isinstance(row[1], int) for row in rows)


def test_psycopg2(wire: Wire) -> None:
    psycopg2 = pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    with closing(psycopg2.connect(wire.dsn())) as client, client.cursor() as cursor:
        cursor.execute(ASKED.format("%s", "%s"), ["it's \\ odd", 30])
        assert _whole(cursor.fetchall())
        assert client.notices[-1].startswith("NOTICE:  cost ε = 5")
        cursor.execute(TABLES)
        assert cursor.fetchall() == [("cities",), ("visits",)]
        cursor.execute(COLUMNS)
        assert [name for (name,) in cursor] == VISITS
        client.commit()
        with client.cursor("server") as walking:
            walking.execute(ASKED.format("'Law'", "40"))
            assert _whole([*walking.fetchmany(1), *walking.fetchall()])
        for sql, kind in ((REFUSED, psycopg2.errors.InsufficientPrivilege), (DEAR, psycopg2.errors.lookup("53400"))):
            client.rollback()
            with pytest.raises(kind):
                cursor.execute(sql)


def test_asyncpg(wire: Wire) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed")

    async def talk() -> None:
        client = await asyncpg.connect(wire.url())
        rows = await client.fetch(ASKED.format("$1", "$2"), "Law", 30)
        assert _whole(rows)
        assert [row[0] for row in await client.fetch(TABLES)] == ["cities", "visits"]
        assert [row[0] for row in await client.fetch(COLUMNS)] == VISITS
        async with client.transaction():
            found = [row async for row in client.cursor(ASKED.format("$1", "$2"), "Law", 41, prefetch=2)]
        assert _whole(found)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await client.fetch(REFUSED)
        with pytest.raises(asyncpg.ConfigurationLimitExceededError):
            await client.fetch(DEAR)
        assert await client.fetchval("SELECT array_agg(relname::text) FROM pg_class WHERE relname = 'visits'") == [
            "visits"
        ]
        await client.reset()
        await client.close()

    asyncio.run(talk())


def test_psql(wire: Wire) -> None:
    if shutil.which("psql") is None:
        pytest.skip("no psql: apt install postgresql-client")
    script = [ASKED.format("'Law'", "30") + ";", REFUSED + ";", DEAR + ";", "\\dt", "\\d visits", "\\l", "\\du", "\\df"]
    script += ["\\set FETCH_COUNT 2", ASKED.format("'Law'", "31") + ";", "SELECT 1 \\gdesc", "\\x", "\\conninfo"]
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", wire.dsn().replace(f"password='{PASSWORD}' ", "")],
        input="\n".join(script), text=True, capture_output=True, check=True, timeout=60,
        env={**os.environ, "PGPASSWORD": PASSWORD},
    )  # fmt: skip
    assert done.stdout.count("CS|") == 2
    assert "public|visits|table|curator" in done.stdout
    assert "amount|double precision" in done.stdout
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    assert len(errors) == 2, done.stderr
    assert "is left" in errors[1]


@pytest.mark.parametrize("driver", PYTHON_URLS)
def test_sqlalchemy(wire: Wire, driver: str) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    pytest.importorskip(driver, reason=f"{driver} is not installed")

    def talk(client: Any) -> None:
        inspector = sqlalchemy.inspect(client)
        assert sorted(inspector.get_table_names()) == ["cities", "visits"]
        assert [column["name"] for column in inspector.get_columns("visits")] == VISITS
        assert inspector.get_pk_constraint("visits")["constrained_columns"] == []
        visits = sqlalchemy.Table("visits", sqlalchemy.MetaData(), autoload_with=client)
        client.execute(sqlalchemy.text("SET tacit.epsilon = 0.5"))
        counted = sqlalchemy.func.count().label("n")
        asked = sqlalchemy.select(visits.c.dept, counted).where(visits.c.age > 30, visits.c.dept != "Law")
        assert _whole(client.execute(asked.group_by(visits.c.dept)).fetchall())
        text = sqlalchemy.text(ASKED.format(":dept", ":age"))
        assert _whole(client.execute(text, {"dept": "Law", "age": 33}).fetchall())
        for sql, code in ((REFUSED, "42501"), (DEAR, "53400")):
            client.rollback()
            with pytest.raises(sqlalchemy.exc.DBAPIError) as caught:
                client.execute(sqlalchemy.text(sql))
            origin = caught.value.orig
            assert (getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)) == code

    if driver == "asyncpg":
        asyncio.run(_with_async_engine(wire.url(scheme=PYTHON_URLS[driver]), talk))
        return
    engine = sqlalchemy.create_engine(wire.url(scheme=PYTHON_URLS[driver]))
    with engine.connect() as client:
        talk(client)
    engine.dispose()


async def _with_async_engine(url: str, talk: Any) -> None:
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(url)
    async with engine.connect() as client:
        await client.run_sync(talk)
    await engine.dispose()


def test_pandas(wire: Wire) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    engine = sqlalchemy.create_engine(wire.url(scheme="postgresql+psycopg"))
    asked = sqlalchemy.text(ASKED.format(":dept", ":age"))
    with closing(engine.connect()) as client:
        frame = pandas.read_sql(asked, client, params={"dept": "Law", "age": 30})
        assert sorted(frame["dept"]) == DEPTS
        assert str(frame["n"].dtype) == "int64"
        with pytest.raises((sqlalchemy.exc.DBAPIError, pandas.errors.DatabaseError), match="is left"):
            pandas.read_sql(sqlalchemy.text(DEAR), client)
    engine.dispose()


def test_adbc(wire: Wire) -> None:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="ADBC is not installed")
    with closing(dbapi.connect(wire.url())) as client, client.cursor() as cursor:
        cursor.execute(ASKED.format("'Law'", "30"))  # by binary COPY
        assert _whole(cursor.fetchall())
        cursor.execute(ASKED.format("$1", "$2"), ("Law", 30))
        assert _whole(cursor.fetchall())
        found = client.adbc_get_objects(depth="tables", db_schema_filter="public").read_all().to_pylist()
        tables = [t["table_name"] for c in found for s in c["catalog_db_schemas"] or () for t in s["db_schema_tables"]]
        assert sorted(tables) == ["cities", "visits"]
        assert client.adbc_get_table_schema("visits").names == VISITS
        for sql, code in ((REFUSED, "42501"), (DEAR, "53400")):
            with pytest.raises(dbapi.Error) as caught:
                cursor.execute(sql)
            assert caught.value.sqlstate == code
            client.rollback()


def test_pg8000(wire: Wire) -> None:
    pg8000 = pytest.importorskip("pg8000.dbapi", reason="pg8000 is not installed")
    place: dict[str, Any] = {"host": "127.0.0.1", "port": wire.port, "database": "clinic"}
    with closing(pg8000.connect("ana", password=PASSWORD, **place)) as client:
        cursor = client.cursor()
        cursor.execute(ASKED.format("%s", "%s"), ("Law", 30))
        assert _whole(list(cursor.fetchall()))
        cursor.execute(TABLES)
        assert [row[0] for row in cursor.fetchall()] == ["cities", "visits"]
        for sql, code in ((REFUSED, "42501"), (DEAR, "53400")):
            with pytest.raises(pg8000.DatabaseError) as caught:
                cursor.execute(sql)
            assert caught.value.args[0]["C"] == code
            client.rollback()


JAR = Path("/usr/share/java/postgresql.jar")
JAVA = Path(__file__).parent / "WireClient.java"


def test_jdbc(wire: Wire, tmp_path: Path) -> None:
    if not JAR.exists() or shutil.which("javac") is None:
        pytest.skip("no JDBC driver: apt install libpostgresql-jdbc-java openjdk-17-jdk-headless")
    url = f"jdbc:postgresql://127.0.0.1:{wire.port}/clinic"
    done = subprocess.run(
        ["java", "-cp", str(JAR), str(JAVA), url, "ana", PASSWORD],
        text=True, capture_output=True, check=False, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "tables cities visits"
    assert lines[1] == "columns " + " ".join(VISITS)
    assert lines[2] == "keys"
    assert "public" in lines[3].split()
    assert lines[4:10] == ["rows 3 Long"] * 6
    assert lines[10] == "fetched 3"
    assert lines[11:] == ["refused 42501", "refused 53400"]
