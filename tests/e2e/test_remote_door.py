"""`tacit.open("https://…")`: the same door as beside the data, with its values, errors and certificates."""

from __future__ import annotations

import inspect
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tacit
from e2e.cli_clinic import build
from support.server import Served, serving
from tacit.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidParameter,
    QueryRefused,
    QuerySyntaxError,
    RequestConflict,
    ServerUnreachable,
    TacitError,
    UnknownName,
)
from tacit.faces.remote.transport import HttpTransport, kind_of
from tacit.faces.server.certificates import fingerprint, tls_context, tls_files
from tacit.faces.server.http.replies import STATUSES, code_of
from tacit.faces.server.serving import open_hub

QUESTIONS = (
    "DP-SELECT 0.1 COUNT(*) AS n FROM visits",
    "DP-SELECT 0.2 dept, COUNT(*) AS n, AVG(amount) AS a FROM visits GROUP BY dept ORDER BY n DESC",
    "DP-SELECT 0.1 MEDIAN(amount) AS m, COUNT(DISTINCT patient_id) AS people FROM visits WHERE age > 40",
    "DP-SELECT 0.1 dept, COUNT(*) AS n, n / SUM(n) OVER () AS share FROM visits GROUP BY dept",
    "DP-SELECT 0.1 dept, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept)",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(open_hub(build(tmp_path_factory.mktemp("remote")))) as found:
        yield found


@pytest.fixture
def near(served: Served) -> Iterator[tacit.Database]:
    """The door beside the data: of the same ledger, so what one has paid for the other is given."""
    policy = served.hub.policy
    with tacit.open(policy, analyst="ana") as db:
        yield db


@pytest.fixture
def far(served: Served) -> Iterator[tacit.Database]:
    with tacit.open(served.url, token=served.token("ana")) as db:
        yield db


@pytest.mark.parametrize("listed", [["CS", "Bio"], ("CS", "Bio"), "{CS,Bio}"])
def test_a_list_means_the_same_through_both_doors(near: tacit.Database, far: tacit.Database, listed: object) -> None:
    sql = "DP-SELECT 0.1 COUNT(*) AS n FROM visits WHERE dept = ANY(?)"
    first, again = far.query(sql, [listed]), near.query(sql, [listed])
    assert again.reused
    assert first.rows == again.rows == near.query(sql.replace("= ANY(?)", "IN ('CS', 'Bio')")).rows


@pytest.mark.parametrize("sql", QUESTIONS)
def test_an_answer_is_the_same_through_both_doors(near: tacit.Database, far: tacit.Database, sql: str) -> None:
    first, again = far.query(sql), near.query(sql)
    assert again.reused
    for name in ("columns", "rows", "errors", "confidence", "covers", "shapes", "keys"):
        assert getattr(first, name) == getattr(again, name), name
    assert str(first).partition("cost ε")[0] == str(again).partition("reused")[0]
    assert first.receipt.guarantee == again.receipt.guarantee
    assert first.to_pandas().equals(again.to_pandas())
    assert first.to_arrow().equals(again.to_arrow())
    assert isinstance(first.cost.epsilon, Fraction)


@pytest.mark.parametrize("sql", [*QUESTIONS, "DP-SELECT WITHIN 5% COUNT(*) AS n FROM visits"])
def test_an_explanation_is_the_same_through_both_doors(near: tacit.Database, far: tacit.Database, sql: str) -> None:
    assert far.explain(sql) == near.explain(sql)
    assert far.explain(sql).text(sql=True) == near.explain(sql).text(sql=True)


def test_a_batch_its_explanation_the_schema_the_budget_and_the_log_are_too(
    near: tacit.Database, far: tacit.Database
) -> None:
    questions = ["SELECT COUNT(*) AS n FROM visits", ("SELECT COUNT(*) AS n FROM visits WHERE age > ?", [40])]
    assert far.explain_batch(questions, epsilon="0.1") == near.explain_batch(questions, epsilon="0.1")
    far.batch(questions, epsilon=Fraction(1, 10))
    both = far.batch(questions, epsilon="0.1"), near.batch(questions, epsilon="0.1")
    assert both[0] == replace(both[1], receipt=both[0].receipt, answers=both[0].answers)
    assert [each.rows for each in both[0]] == [each.rows for each in both[1]]
    assert far.schema == near.schema
    assert far.budget == near.budget
    assert far.analyst == near.analyst == "ana"
    pairs = list(zip(far.log, near.log, strict=True))
    assert pairs
    for theirs, ours in pairs:
        assert theirs == replace(ours, digest=None, state="", at=theirs.at)
        assert abs(theirs.at - ours.at) <= 1


def test_the_door_has_the_same_methods(far: tacit.Database, near: tacit.Database) -> None:
    assert type(far) is type(near)
    assert {name for name, _ in inspect.getmembers(type(far))} == {name for name, _ in inspect.getmembers(type(near))}


def test_parameters_and_prices_arrive_exactly(served: Served, far: tacit.Database) -> None:
    far.default_epsilon = "1/30"
    assert far.query("SELECT COUNT(*) AS n FROM visits WHERE amount > ?", [Decimal("0.10")]).cost.epsilon == Fraction(
        1, 30
    )
    entry = next(each for each in far.log if each.act == "charge")
    assert entry.asked is not None
    assert entry.asked.parameters[0] == '{"1": ["number", "1/10"]}'
    for value in (date(2024, 1, 31), True, None, 2**80, 'it\'s "odd" \\ \x00'):
        with pytest.raises(TacitError) as caught:  # no such column: the value was read before
            far.query("SELECT COUNT(*) FROM visits WHERE nowhere = ?", [value])
        assert isinstance(caught.value, (UnknownName, QuerySyntaxError, QueryRefused))
    for odd in (b"bytes", object(), Fraction(1, 3), float("nan"), Decimal("Infinity")):
        with pytest.raises(InvalidParameter):
            far.query("SELECT COUNT(*) FROM visits WHERE age > ?", [odd])


def test_errors_are_those_of_the_door_beside_the_data(near: tacit.Database, far: tacit.Database) -> None:
    for sql in (
        "DP-SELECT 1 patient_id FROM visits",
        "DP-SELECT 99 COUNT(*) FROM visits",
        "DP-SELECT 1 COUNT(* FROM v",
    ):
        told = []
        for db in (near, far):
            with pytest.raises(TacitError) as caught:
                db.query(sql)
            told.append((type(caught.value), caught.value.message, caught.value.hint))
        assert told[0] == told[1]
    with pytest.raises(BudgetExceeded):
        far.query("DP-SELECT 99 COUNT(*) FROM visits")
    with pytest.raises(QueryRefused, match="EXPLAIN gives no answer"):
        far.query("EXPLAIN DP-SELECT 1 COUNT(*) FROM visits")
    far.query("DP-SELECT 0.01 COUNT(*) FROM visits WHERE age > 50", request_id="one")
    with pytest.raises(RequestConflict):
        far.query("DP-SELECT 0.01 COUNT(*) FROM visits WHERE age > 51", request_id="one")
    with pytest.raises(InvalidParameter, match="no made-up rows"):
        far.dummy()


def test_every_error_that_has_a_code_is_found_by_it() -> None:
    for kind, _ in STATUSES:
        assert kind_of(code_of(kind("x"))) is kind
    assert kind_of("forbidden") is AccessDenied
    assert kind_of("internal") is tacit.EngineError
    assert kind_of("__class__") is tacit.EngineError


def test_a_connection_that_breaks_is_made_anew_and_the_question_charged_once(
    served: Served, far: tacit.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    import http.client

    before = served.hub.balance("ana").total.spent.epsilon
    real, broken = http.client.HTTPConnection.getresponse, []

    def breaks(self: http.client.HTTPConnection) -> Any:
        reply = real(self)
        if not broken:
            broken.append(reply.read())  # it was answered, and nobody heard it
            raise ConnectionResetError
        return reply

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", breaks)
    answer = far.query("DP-SELECT 0.03 FRESH COUNT(*) AS n FROM visits")
    assert broken
    assert str(answer.rows[0][0]) in broken[0].decode()
    assert served.hub.balance("ana").total.spent.epsilon - before == Fraction(3, 100)


@pytest.mark.parametrize(
    ("url", "options", "error", "message"),
    [
        ("https://", {"token": "t"}, InvalidParameter, "not that of a server"),
        ("https://u:p@host", {"token": "t"}, InvalidParameter, "not that of a server"),
        ("http://dp.example.org", {"token": "t"}, InvalidParameter, "everybody on the way"),
        ("http://127.0.0.1:1", {"token": "t"}, ServerUnreachable, "127.0.0.1:1 cannot be reached"),
        ("http://127.0.0.1:1", {}, InvalidParameter, "asks for a token"),
        ("http://127.0.0.1:1", {"token": "a\nb"}, InvalidParameter, "not one"),
        ("https://127.0.0.1:1", {"token": "t", "fingerprint": "12"}, InvalidParameter, "not that of a certificate"),
        ("https://127.0.0.1:1", {"token": "t", "ca": "nowhere.pem"}, InvalidParameter, "nowhere.pem is not a cert"),
        ("tacit.toml", {"token": "t", "analyst": "ana"}, InvalidParameter, "token is for a server"),
    ],
)
def test_what_is_no_door_is_told_so(url: str, options: dict[str, Any], error: type[TacitError], message: str) -> None:
    with pytest.raises(error, match=message):
        tacit.open(url, **options)


def test_a_token_that_is_not_known_and_a_name_that_is_not_its_own_are_refused(served: Served) -> None:
    with pytest.raises(AccessDenied, match="no token that is known here"):
        tacit.open(served.url, token="tacit_nothing")
    with pytest.raises(ServerUnreachable, match="does not speak TLS") as caught:
        tacit.open(served.url.replace("http:", "https:"), token="t")
    assert "_ssl.c" not in str(caught.value)
    with pytest.raises(AccessDenied):
        tacit.open(served.url, token=served.token("zoe", role="curator"))
    with pytest.raises(InvalidParameter, match="not that of 'ben'"):
        tacit.open(served.url, token=served.token("ana"), analyst="ben")


@contextmanager
def something_else(answer: bytes, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server that is none of ours."""

    class Handler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            if tls is not None:
                self.request = tls.wrap_socket(self.request, server_side=True)
            super().setup()

        def handle(self) -> None:
            while self.rfile.readline() not in {b"\r\n", b""}:
                pass
            self.wfile.write(answer)

        def finish(self) -> None:
            super().finish()
            self.request.close()

    class Server(socketserver.ThreadingTCPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            request.close()  # a client that does not trust us

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join(30)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1, 2, 3]",
        b"what?\r\n\r\n",
        b"",
    ],
)
def test_what_is_no_server_of_ours_is_an_error_of_ours(answer: bytes) -> None:
    with something_else(answer) as port, pytest.raises(ServerUnreachable):
        tacit.open(f"http://127.0.0.1:{port}", token="tacit_secret")


def test_a_certificate_is_checked_before_the_token_is_sent(tmp_path: Path) -> None:
    hub = open_hub(build(tmp_path, people=20))
    certificate, key = tls_files(hub.policy)
    hub.close()
    said = b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"status": 1}'
    with something_else(said, tls_context(certificate, key)) as port:
        url = f"https://127.0.0.1:{port}"
        with pytest.raises(AccessDenied, match="is not trusted"):
            tacit.open(url, token="tacit_secret")
        with pytest.raises(AccessDenied, match="another fingerprint"):
            tacit.open(url, token="tacit_secret", fingerprint="sha256:" + "0" * 64)
        for trusted in ({"ca": certificate}, {"fingerprint": fingerprint(certificate)}):
            door = HttpTransport(url, "tacit_secret", **trusted)
            assert door.get("/healthz") == {"status": 1}
            door.close()
            assert "tacit_secret" not in repr(door)
