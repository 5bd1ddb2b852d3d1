"""DB-API 2.0, SQLAlchemy's dialect and the notebook's magics: beside the data, and at a server."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pandas
import pytest
import sqlalchemy
from sqlalchemy import func, select

import tacit
from e2e.cli_clinic import build
from support.server import Served, serving
from tacit.faces.server.serving import open_hub

sqlalchemy.dialects.registry.register("tacit", "tacit.faces.dbapi.dialect", "TacitDialect")
ASKED = "DP-SELECT 0.1 dept, COUNT(*) AS n FROM visits WHERE age > ? GROUP BY dept ORDER BY dept"
Connect = Callable[..., tacit.dbapi.Connection]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(open_hub(build(tmp_path_factory.mktemp("dbapi")))) as found:
        yield found


@pytest.fixture(params=["beside the data", "at a server"])
def connect(request: pytest.FixtureRequest, served: Served) -> Iterator[Connect]:
    made: list[Any] = []

    def door(**options: Any) -> Any:
        if request.param == "at a server":
            made.append(tacit.dbapi.connect(served.url, token=served.token("ana"), **options))
        else:
            made.append(tacit.dbapi.connect(served.hub.policy, analyst="ana", **options))
        return made[-1]

    yield door
    for connection in made:
        connection.close()


def test_the_module_says_what_pep_249_asks_for() -> None:
    assert (tacit.dbapi.apilevel, tacit.dbapi.threadsafety, tacit.dbapi.paramstyle) == ("2.0", 2, "qmark")
    tree = {
        "Error": Exception,
        "InterfaceError": tacit.dbapi.Error,
        "DatabaseError": tacit.dbapi.Error,
        **dict.fromkeys(
            (
                "DataError",
                "OperationalError",
                "IntegrityError",
                "InternalError",
                "ProgrammingError",
                "NotSupportedError",
            ),
            tacit.dbapi.DatabaseError,
        ),
    }
    for name, above in tree.items():
        assert issubclass(getattr(tacit.dbapi, name), above)
        assert getattr(tacit.dbapi.Connection, name) is getattr(tacit.dbapi, name)
    assert tacit.dbapi.DateFromTicks(0) == tacit.dbapi.Date(1970, 1, 1) == date(1970, 1, 1)
    assert tacit.dbapi.TimestampFromTicks(0) == tacit.dbapi.Timestamp(1970, 1, 1)
    assert tacit.dbapi.TimeFromTicks(0) == tacit.dbapi.Time(0, 0, 0)
    with pytest.raises(tacit.dbapi.NotSupportedError):
        tacit.dbapi.Binary(b"x")


def test_a_cursor_goes_over_the_rows_of_an_answer(connect: Connect) -> None:
    with connect() as connection, connection.cursor() as cursor:
        with pytest.raises(tacit.dbapi.InterfaceError, match="nothing was asked"):
            cursor.fetchone()
        cursor.execute(ASKED, (40,))
        assert [column[0] for column in cursor.description or ()] == ["dept", "n"]
        assert (cursor.description or [])[0][1] == tacit.dbapi.STRING
        assert (cursor.description or [])[1][1] == tacit.dbapi.NUMBER
        assert (cursor.description or [])[1][1] != tacit.dbapi.DATETIME
        assert cursor.rowcount == 3
        first, rest = cursor.fetchone(), cursor.fetchmany(1)
        assert [first[0], rest[0][0], *(row[0] for row in cursor)] == ["Bio", "CS", "Econ"]
        assert cursor.fetchone() is None
        assert cursor.fetchall() == []
        assert cursor.release is not None
        assert cursor.release.errors[0][1] > 0
        assert next(iter(cursor.execute("EXPLAIN " + ASKED, (40,))))[0].startswith("price")
        assert connection.execute(ASKED.replace("?", ":age"), {"age": 40}).fetchall() == [
            first,
            *rest,
            cursor_rows(connection),
        ]
        connection.commit()
        connection.rollback()
    with pytest.raises(tacit.dbapi.InterfaceError, match="closed"):
        cursor.fetchone()
    with pytest.raises(tacit.dbapi.InterfaceError, match="closed"):
        connection.cursor()


def cursor_rows(connection: Any) -> Any:
    return connection.execute(ASKED, (40,)).fetchall()[2]


@pytest.mark.parametrize(
    ("sql", "values", "kind", "state"),
    [
        ("DP-SELECT 0.1 patient_id FROM visits", (), "ProgrammingError", "0A000"),
        ("DP-SELECT 0.1 COUNT(* FROM visits", (), "ProgrammingError", "42601"),
        ("DP-SELECT 999 COUNT(*) FROM visits", (), "OperationalError", "53400"),
        ("SELECT COUNT(*) FROM visits", (), "ProgrammingError", ""),
        (ASKED, (object(),), "DatabaseError", ""),
        (1, (), "ProgrammingError", ""),
    ],
)
def test_errors_are_those_of_pep_249(connect: Connect, sql: Any, values: Any, kind: str, state: str) -> None:
    with connect() as connection, pytest.raises(getattr(tacit.dbapi, kind)) as caught:
        connection.execute(sql, values)
    assert not state or caught.value.sqlstate == state
    with pytest.raises(tacit.dbapi.NotSupportedError):
        tacit.dbapi.Cursor(connection).executemany(sql, [])


def test_a_door_that_cannot_be_opened_is_an_error_of_the_module(served: Served) -> None:
    with pytest.raises(tacit.dbapi.OperationalError, match="no token that is known"):
        tacit.dbapi.connect(served.url, token="tacit_nothing")
    with pytest.raises(tacit.dbapi.OperationalError):
        tacit.dbapi.connect(served.hub.policy, analyst="nobody")


@pytest.fixture(params=["beside the data", "at a server"])
def engine(request: pytest.FixtureRequest, served: Served) -> Iterator[sqlalchemy.Engine]:
    host, port = served.url.removeprefix("http://").split(":")
    policy = served.hub.policy.dataset.base / "tacit.toml"
    url = f"tacit:///{policy}?analyst=ana"
    if request.param == "at a server":
        url = f"tacit://:{served.token('ana')}@{host}:{port}/?tls=off"
    made = sqlalchemy.create_engine(url)
    yield made
    made.dispose()


def test_sqlalchemy_reflects_asks_and_is_refused(engine: sqlalchemy.Engine) -> None:
    look = sqlalchemy.inspect(engine)
    assert look.get_table_names() == ["visits", "cities"]
    assert look.has_table("VISITS")
    assert not look.has_table("nobody")
    assert not look.has_table("visits", schema="elsewhere")
    assert [column["name"] for column in look.get_columns("visits")] == ["patient_id", "amount", "age", "dept", "city"]
    with pytest.raises(sqlalchemy.exc.NoSuchTableError):
        look.get_columns("nobody")
    visits = sqlalchemy.Table("visits", sqlalchemy.MetaData(), autoload_with=engine)
    assert isinstance(visits.c.amount.type, sqlalchemy.Float)
    asked = select(visits.c.dept, func.count().label("n")).where(visits.c.age > 30).group_by(visits.c.dept)
    with engine.connect() as connection:
        rows = connection.execute(asked.execution_options(tacit_epsilon="0.1")).all()
        assert sorted(row.dept for row in rows) == ["Bio", "CS", "Econ"]
        text = sqlalchemy.text("DP-SELECT 0.05 COUNT(*) AS n FROM visits WHERE dept = :dept")
        assert isinstance(connection.execute(text, {"dept": "CS"}).scalar_one(), int)
        with pytest.raises(sqlalchemy.exc.ProgrammingError):
            connection.execute(asked)  # it has no price
        with pytest.raises(sqlalchemy.exc.ArgumentError, match="greater than zero"):
            connection.execute(asked.execution_options(tacit_epsilon=0))
        with pytest.raises(sqlalchemy.exc.OperationalError):
            connection.execute(asked.execution_options(tacit_epsilon=999))
    frame = pandas.read_sql("DP-SELECT 0.05 dept, COUNT(*) AS n FROM visits GROUP BY dept", engine)
    assert sorted(frame["dept"]) == ["Bio", "CS", "Econ"]


def test_a_url_that_says_something_else_is_refused(served: Served) -> None:
    with pytest.raises(sqlalchemy.exc.ArgumentError, match="no option user"):
        sqlalchemy.create_engine("tacit:///tacit.toml?user=ana").connect()


def test_sqlalchemy_finds_the_dialect_by_the_packages_own_word() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    said = project["entry-points"]["sqlalchemy.dialects"]
    module, _, name = said["tacit"].partition(":")
    assert getattr(__import__(module, fromlist=[name]), name).name == "tacit"


@pytest.fixture
def shell() -> Iterator[Any]:
    testing = pytest.importorskip("IPython.testing.globalipapp")
    found = testing.get_ipython() or testing.start_ipython()
    found.run_line_magic("load_ext", "tacit")
    yield found
    found.run_line_magic("unload_ext", "tacit")


def test_a_cell_asks_and_shows_a_table_a_picture_and_the_budget(
    shell: Any, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.errors import InvalidParameter

    with pytest.raises(InvalidParameter, match="no door is open"):
        shell.run_cell_magic("tacit", "", "DP-SELECT 0.1 COUNT(*) FROM visits")
    monkeypatch.setenv("TACIT_TOKEN", served.token("ana"))
    policy = served.hub.policy.dataset.base / "tacit.toml"
    for address in (f"{policy} --as ana", served.url):
        door = shell.run_line_magic("tacit", address)
        assert door.analyst == "ana"
        shell.user_ns["oldest"] = 40
        sql = "SELECT dept, COUNT(*) AS n FROM visits\nWHERE age > :oldest AND dept <> ':odd' GROUP BY dept;"
        shown = shell.run_cell_magic("tacit", "--epsilon 0.05 --into found", sql)
        assert shell.user_ns["found"] is shown
        page = shown._repr_html_()
        assert page.startswith("<table>")
        assert "<svg" in page
        assert "±" in page
        assert door.default_epsilon is None
        assert "visits: hides" in repr(shell.run_line_magic("tacit", "schema"))
        assert shell.run_line_magic("tacit", "").dataset == "clinic"
        with pytest.raises(InvalidParameter, match="cannot be read"):
            shell.run_cell_magic("tacit", "--price 1", sql)
    door.close()
