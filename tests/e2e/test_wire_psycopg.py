"""psycopg 3 asks the curator over the PostgreSQL wire: questions, cursors, copies, pipelines, errors, transactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from e2e.cli_clinic import POLICY, build
from support.wire import Wire, serving

BY_DEPT = "DP-SELECT 0.1 dept, COUNT(*) AS n FROM visits GROUP BY dept"
DEPTS = ["Bio", "CS", "Econ"]


def rich(directory: Path) -> Path:
    """The clinic with a budget that a module's tests do not use up."""
    path = build(directory)
    richer = POLICY.replace("epsilon = 10", "epsilon = 1000").replace("epsilon = 4", "epsilon = 500")
    path.write_text(richer, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(rich(tmp_path_factory.mktemp("clinic"))) as served:
        yield served


@pytest.fixture
def client(wire: Wire) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(wire.dsn(), autocommit=True) as connection:
        yield connection


def refused(client: psycopg.Connection[Any], sql: str, *values: object) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql, values or None)
    return caught.value


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("ends", [False, True])
def test_what_is_computed_from_answers_has_its_own_columns(
    client: psycopg.Connection[Any], *, binary: bool, ends: bool
) -> None:
    client.execute(f"SET tacit.errors = {'on' if ends else 'off'}")
    asked = """DP-SELECT 5 dept, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*)) AS r, dept = %s AS cs
               FROM visits GROUP BY dept"""
    cursor = client.execute(asked, ["CS"], binary=binary)
    rows = cursor.fetchall()
    named = {column.name: column.type_code for column in cursor.description or ()}
    assert {name: named[name] for name in ("dept", "n", "r", "cs")} == {"dept": 25, "n": 20, "r": 20, "cs": 16}
    assert ("n_low" in named) is ends
    places = [*named].index("r"), [*named].index("cs")
    assert sorted(row[places[0]] for row in rows) == [1, 2, 3]
    assert [row[places[1]] for row in rows] == [row[0] == "CS" for row in rows]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("ends", [False, True])
def test_counts_that_are_estimated_together_come_whole(
    client: psycopg.Connection[Any], *, binary: bool, ends: bool
) -> None:
    """By least squares they have decimals; the ends of their intervals keep theirs."""
    client.execute(f"SET tacit.errors = {'on' if ends else 'off'}")
    asked = "DP-SELECT 2 FRESH dept, age, COUNT(*) AS n FROM visits GROUP BY CUBE (dept, age)"
    cursor = client.execute(asked, binary=binary)
    named = [(column.name, column.type_code) for column in cursor.description or ()]
    rows = cursor.fetchall()
    assert [named[0], named[2]] == [("dept", 25), ("n", 20)]
    assert len(rows) > 100
    assert all(isinstance(row[2], int) for row in rows)
    if ends:
        assert all(low < n + 1 and n - 1 < high for _, _, n, low, high in rows if low is not None)
        assert any(low != round(low) for _, _, _, low, _ in rows if low is not None)


@pytest.mark.parametrize("binary", [False, True])
def test_a_question_with_parameters_is_answered_in_both_formats(
    client: psycopg.Connection[Any], *, binary: bool
) -> None:
    asked = "DP-SELECT 5 dept, COUNT(*) AS n, AVG(amount) AS a FROM visits WHERE dept <> %s AND age > %s GROUP BY dept"
    cursor = client.execute(asked, ["Law", 30], binary=binary)
    rows = cursor.fetchall()
    assert [(column.name, column.type_code) for column in cursor.description or ()] == [
        ("dept", 25),
        ("n", 20),
        ("a", 701),
    ]
    assert sorted(row[0] for row in rows) == DEPTS
    assert all(isinstance(row[1], int) and isinstance(row[2], float) for row in rows)


def test_what_an_answer_costs_and_leaves_is_told_beside_it(wire: Wire, client: psycopg.Connection[Any]) -> None:
    told: list[str] = []
    client.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    before = wire.spent
    client.execute(BY_DEPT.replace("0.1", "0.25 FRESH"))
    assert told[0].startswith("cost ε = 0.25; left ε = ")
    assert wire.spent == pytest.approx(before + 0.25)


def test_refusals_are_exceptions_of_their_kind(client: psycopg.Connection[Any]) -> None:
    unknown = refused(client, "DP-SELECT 1 COUNT(*) FROM vists")
    assert isinstance(unknown, psycopg.errors.UndefinedTable)
    assert unknown.diag.statement_position == "27"
    assert isinstance(refused(client, "DP-SELECT 1 COUNT(nothing) FROM visits"), psycopg.errors.UndefinedColumn)
    assert isinstance(refused(client, "DP-SELECT 1 COUNT(* FROM visits"), psycopg.errors.SyntaxError)
    assert isinstance(
        refused(client, "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = 'open"), psycopg.errors.SyntaxError
    )
    assert isinstance(refused(client, "SELECT patient_id FROM visits"), psycopg.errors.InsufficientPrivilege)
    assert isinstance(refused(client, "DELETE FROM visits"), psycopg.errors.InsufficientPrivilege)
    budget = refused(client, "DP-SELECT 5000 COUNT(*) FROM visits")
    assert isinstance(budget, psycopg.errors.ConfigurationLimitExceeded)
    assert "is left" in str(budget)
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_wrong_password_and_a_wrong_name_are_told_alike(wire: Wire) -> None:
    for name in ("ana", "ghost"):
        with pytest.raises(psycopg.OperationalError, match=f'password authentication failed for user "{name}"'):
            psycopg.connect(wire.dsn(name, password="wrong"))


def test_who_fails_too_often_is_not_listened_to_for_a_while_whoever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.faces.server.attempts.BY_NAME", 3)
    said = []
    with serving(rich(tmp_path)) as wire:
        for name, password in (
            [("ana", "wrong")] * 4 + [("ana", None)] + [("nobody", "wrong")] * 4 + [("ben", None)] * 9
        ):
            given = {} if password is None else {"password": password}
            try:
                psycopg.connect(wire.dsn(name, **given)).close()
                said.append("in")
            except psycopg.OperationalError as error:
                said.append("later" if "too many attempts" in str(error) else "no")
    refused_alike = ["no", "no", "no", "later"]
    assert said == [*refused_alike, "later", *refused_alike, *["in"] * 9], "the right password comes too late, too"


def test_somebody_the_policy_does_not_name_is_not_let_in(wire: Wire) -> None:
    with pytest.raises(psycopg.OperationalError, match="analyst"):
        psycopg.connect(wire.dsn("zoe"))


def test_a_plain_select_has_a_price_once_one_is_set(wire: Wire, client: psycopg.Connection[Any]) -> None:
    plain = "SELECT COUNT(*) AS n FROM visits WHERE age > %s"
    assert refused(client, plain, 31).sqlstate == "42501"
    client.execute("SET tacit.epsilon = 0.4")
    before = wire.spent
    assert isinstance(client.execute(plain, [31]).fetchall()[0][0], int)
    assert wire.spent == pytest.approx(before + 0.4)
    client.execute(plain, [32])
    capped = refused(client, plain, 33)  # the server's cap of a connection is 1
    assert capped.sqlstate == "53400"
    assert wire.spent == pytest.approx(before + 0.8)
    client.execute("SET tacit.cap = 2")
    client.execute(plain, [33])
    client.execute("RESET tacit.epsilon")
    assert refused(client, plain, 34).sqlstate == "42501"


def test_a_cap_counts_no_answer_that_was_kept_and_no_refusal(client: psycopg.Connection[Any]) -> None:
    client.execute("SET tacit.epsilon = 0.9")
    client.execute("SELECT COUNT(*) FROM visits WHERE age > 60")
    for _ in range(3):
        refused(client, "SELECT COUNT(*) FROM visits WHERE secret = 'x'")
    assert refused(client, "SELECT COUNT(*) FROM visits WHERE age > 61").sqlstate == "53400"


def test_probes_for_columns_cost_nothing(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.spent
    cursor = client.execute("SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept LIMIT 0")
    assert [column.name for column in cursor.description or ()] == ["dept", "n"]
    assert cursor.fetchall() == []
    assert wire.spent == before


EVERY = ["patient_id", "amount", "age", "dept", "city"]


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM visits LIMIT 0", EVERY),
        ("SELECT * FROM public.visits WHERE 1 = 0", EVERY),
        ('SELECT "visits".* FROM "visits" WHERE 1 <> 1', EVERY),
        ("SELECT v.dept, age FROM visits v WHERE (1 = 0)", ["dept", "age"]),
        (
            "SELECT * FROM (SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept) SPARK_GEN_SUBQ_0 WHERE 1=0",
            ["dept", "n"],
        ),
        ("SELECT * FROM (SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept) t WHERE 1=0 LIMIT 100", ["dept", "n"]),
    ],
)
def test_programs_that_look_at_columns_are_not_charged_whatever_price_is_set(
    wire: Wire, client: psycopg.Connection[Any], sql: str, columns: list[str]
) -> None:
    before, asked = wire.spent, len(wire.hub.asked)
    for price in (None, "SET tacit.epsilon = 0.5"):
        if price:
            client.execute(price)
        for values in (None, ()):  # by the simple protocol and by the extended one
            cursor = client.execute(sql, values, prepare=values is not None)
            assert [column.name for column in cursor.description or ()] == columns
            assert cursor.fetchall() == []
    assert (wire.spent, len(wire.hub.asked)) == (before, asked)


def test_error_columns_come_on_request(client: psycopg.Connection[Any]) -> None:
    client.execute("SET tacit.errors = on")
    cursor = client.execute("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept")
    assert [column.name for column in cursor.description or ()] == ["dept", "n", "n_low", "n_high"]
    for _, number, low, high in cursor:
        assert low < number < high
        assert number - low == high - number


def test_a_cursor_asks_once_and_goes_about_in_its_answer(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.spent
    with client.transaction(), client.cursor("walk", scrollable=True) as cursor:
        cursor.execute("DP-SELECT 0.2 FRESH dept, COUNT(*) AS n FROM visits WHERE age > %s GROUP BY dept", [20])
        first = cursor.fetchone()
        rest = cursor.fetchall()
        cursor.scroll(0, mode="absolute")
        assert cursor.fetchall() == [first, *rest]
    assert len(rest) == 2
    assert wire.spent == pytest.approx(before + 0.2)
    assert refused(client, "DECLARE c CURSOR FOR " + BY_DEPT).sqlstate == "25P01"


def test_copies_are_answers_in_text_csv_and_binary(client: psycopg.Connection[Any]) -> None:
    rows = client.execute(BY_DEPT).fetchall()
    with client.cursor().copy(f"COPY ({BY_DEPT}) TO STDOUT") as copy:
        assert [(dept, int(n)) for dept, n in copy.rows()] == rows
    with client.cursor().copy(f"COPY ({BY_DEPT}) TO STDOUT (FORMAT csv, HEADER)") as copy:
        lines = b"".join(copy).decode().splitlines()
    assert lines == ["dept,n", *(f"{dept},{n}" for dept, n in rows)]
    with client.cursor().copy(f"COPY ({BY_DEPT}) TO STDOUT WITH (FORMAT binary)") as copy:
        copy.set_types(["text", "int8"])
        assert list(copy.rows()) == rows
    assert refused(client, "COPY visits TO STDOUT").sqlstate == "42501"
    assert refused(client, "COPY visits FROM STDIN").sqlstate == "42501"


def test_a_pipeline_answers_in_order_and_stops_at_an_error(client: psycopg.Connection[Any]) -> None:
    with client.pipeline() as pipeline:
        first, second = client.execute(BY_DEPT), client.execute("SELECT 5")
        pipeline.sync()
        assert len(first.fetchall()) == 3
        assert second.fetchall() == [(5,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        _both(client, "DP-SELECT 1 COUNT(*) FROM nowhere", "SELECT 1")
    assert client.execute("SELECT 2").fetchone() == (2,)


def _both(client: psycopg.Connection[Any], *statements: str) -> None:
    with client.pipeline():
        for statement in statements:
            client.execute(statement)


def test_a_rollback_gives_no_budget_back(wire: Wire) -> None:
    with psycopg.connect(wire.dsn()) as client:
        before = wire.spent
        client.execute("SET tacit.epsilon = 0.1")
        client.execute("DP-SELECT 0.3 FRESH COUNT(*) FROM visits")
        client.rollback()
        assert wire.spent == pytest.approx(before + 0.3)
        assert client.execute("SHOW tacit.epsilon").fetchone() == ("",)


def test_after_an_error_a_transaction_hears_only_its_end(wire: Wire) -> None:
    with psycopg.connect(wire.dsn()) as client:
        refused(client, "DP-SELECT 1 COUNT(*) FROM nowhere")
        before = wire.spent
        assert refused(client, BY_DEPT).sqlstate == "25P02"
        assert wire.spent == before
        client.rollback()
        with client.transaction():
            with pytest.raises(psycopg.Error), client.transaction():  # a savepoint
                client.execute("DP-SELECT 1 COUNT(*) FROM nowhere")
            assert client.execute("SELECT 3").fetchone() == (3,)


def test_a_message_of_several_statements_answers_each_once(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.spent
    cursor = client.execute("BEGIN; DP-SELECT 0.1 FRESH COUNT(*) AS n FROM visits; COMMIT")
    found = []
    for _ in range(3):
        found.append((cursor.statusmessage, cursor.fetchall() if cursor.description else None))
        cursor.nextset()
    assert [status for status, _ in found] == ["BEGIN", "SELECT 1", "COMMIT"]
    assert len(found[1][1] or []) == 1
    assert wire.spent == pytest.approx(before + 0.1)


def test_statements_are_prepared_by_name_in_both_ways(client: psycopg.Connection[Any]) -> None:
    for age in range(20, 27):  # from the fifth on by a name of the client's
        client.execute("DP-SELECT 1 COUNT(*) FROM visits WHERE age > %s", [age], prepare=True).fetchall()
    client.execute("PREPARE by_age (int) AS DP-SELECT 1 COUNT(*) AS n FROM visits WHERE age > $1")
    assert isinstance(client.execute("EXECUTE by_age (40)").fetchall()[0][0], int)
    client.execute("DEALLOCATE by_age")
    assert refused(client, "EXECUTE by_age (40)").sqlstate == "26000"


def test_an_explanation_is_free_and_in_lines(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.spent
    lines = [line for (line,) in client.execute("EXPLAIN " + BY_DEPT)]
    assert lines[0].startswith("price")
    assert wire.spent == before


def test_a_cancelled_question_stays_charged(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.spent

    def cancel_once_charged() -> None:
        while wire.spent == before:
            time.sleep(0.01)
        client.cancel_safe()

    wire.hub.gate.clear()
    try:
        threading.Thread(target=cancel_once_charged).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute("DP-SELECT 0.6 FRESH COUNT(*) FROM visits")
    finally:
        wire.hub.gate.set()
    assert wire.spent == pytest.approx(before + 0.6)
    assert client.execute("SELECT 1").fetchone() == (1,)
