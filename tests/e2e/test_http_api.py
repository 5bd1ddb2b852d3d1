"""The HTTP API over real sockets: what it answers, what it refuses, and whom it tells what."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import httpx
import pytest

from e2e.cli_clinic import CANARY, NUMBERS, build
from support.server import client, serving
from tacit.faces.server.http import gate, idempotency
from tacit.faces.server.http.replies import STATUSES, code_of
from tacit.faces.server.serving import open_hub

COUNT = {"sql": "DP-SELECT 0.5 COUNT(*) FROM visits"}
FRESH = {"sql": "DP-SELECT 0.1 FRESH COUNT(*) FROM visits"}


@pytest.fixture
def served(tmp_path):
    hub = open_hub(build(tmp_path, people=40))
    with serving(hub) as made:
        yield made


@pytest.fixture
def ana(served):
    with served.client("ana") as made:
        yield made


@pytest.fixture
def ben(served):
    with served.client("ben") as made:
        yield made


def left(who: httpx.Client) -> Fraction:
    name = next(iter(who.get("/v1/budget").json()["analysts"]))
    return Fraction(who.get("/v1/budget").json()["analysts"][name]["left"]["epsilon"])


def error_of(reply: httpx.Response) -> dict[str, str]:
    body = reply.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "hint", "sqlstate"}
    return body["error"]


def test_a_question_is_answered_charged_and_shown_again(ana):
    asked = {
        "sql": "DP-SELECT 0.5 dept, COUNT(*) AS n FROM visits WHERE age > :age GROUP BY dept",
        "parameters": {"age": 30},
    }
    reply = ana.post("/v1/query", json=asked)
    assert reply.status_code == 200
    body = reply.json()
    assert body["columns"] == ["dept", "n"]
    assert [row[0] for row in body["rows"]] == ["CS", "Econ", "Bio"]
    assert body["epsilon"] == "0.5"
    assert body["left"] == {"epsilon": "3.5", "delta": "0.000001"}
    assert left(ana) == Fraction(7, 2)
    again = ana.get(f"/v1/releases/{body['id']}").json()
    assert (again["rows"], again["errors"]) == (body["rows"], body["errors"])
    assert left(ana) == Fraction(7, 2)


def test_explaining_is_free_and_says_what_would_run(ana):
    body = ana.post("/v1/explain", json=COUNT).json()
    assert body["epsilon"] == "0.5"
    assert body["sql"].startswith("SELECT")
    batch = {"questions": ["SELECT COUNT(*) FROM visits", {"sql": "SELECT SUM(age) FROM visits"}], "epsilon": "1/3"}
    assert ana.post("/v1/explain", json=batch).json()["epsilon"] == "1/3"
    assert left(ana) == 4


def test_a_batch_is_charged_once(ana):
    batch = {
        "questions": [
            "SELECT COUNT(*) FROM visits",
            {"sql": "SELECT COUNT(*) FROM visits WHERE age > ?", "parameters": [30]},
        ]
    }
    reply = ana.post("/v1/batch", json={**batch, "epsilon": 0.25})
    assert len(reply.json()["answers"]) == 2
    assert left(ana) == Fraction(15, 4)
    assert (
        ana.get(f"/v1/releases/{reply.json()['id']}").json()["answers"][1]["rows"] == reply.json()["answers"][1]["rows"]
    )


def test_the_schema_is_the_public_one(ana):
    body = ana.get("/v1/schema").json()
    assert [table["name"] for table in body["tables"]] == ["visits", "cities"]
    names = [column["name"] for column in body["tables"][0]["columns"]]
    assert "age" in names
    assert "secret" not in names


def test_values_keep_their_types(ana):
    sql = "DP-SELECT 0.1 COUNT(*) FROM visits WHERE {} "
    for condition, value, status in (
        ("age > ?", 30, 200),
        ("age > ?", 30.5, 200),
        ("dept = ?", "CS", 200),
        ("age > ?", "thirty", 422),
        ("age > ?", [30], 400),
        ("dept = ANY(?)", ["CS", "Bio"], 200),
        ("age = ANY(?)", [30, 31.0], 200),
        ("dept = ANY(?)", [["CS"], ["Bio"]], 400),
        ("dept = ANY(?)", [], 422),
        ("age > ?", {"date": "soon"}, 400),
        ("age > ?", {"day": "2024-01-01"}, 400),
    ):
        reply = ana.post("/v1/query", json={"sql": sql.format(condition), "parameters": [value]})
        assert reply.status_code == status, (condition, value, reply.text)


def test_the_same_key_is_charged_once_and_another_question_is_a_conflict(ana, ben):
    keyed = {"headers": {"Idempotency-Key": "monday 1"}}
    first, again = (ana.post("/v1/query", json=FRESH, **keyed) for _ in range(2))
    assert first.content == again.content
    assert left(ana) == Fraction(39, 10)
    other = ana.post("/v1/query", json=COUNT, **keyed)
    assert other.status_code == 409
    assert error_of(other)["code"] == "request_conflict"
    assert ana.post("/v1/batch", json={"questions": [COUNT["sql"]], "epsilon": 1}, **keyed).status_code == 409
    assert left(ana) == Fraction(39, 10)
    assert ben.post("/v1/query", json=FRESH, **keyed).json()["id"] != first.json()["id"], "keys are each analyst's own"


def test_the_key_of_a_charged_answer_outlives_the_server(tmp_path):
    policy = build(tmp_path, people=40)
    keyed = {"headers": {"Idempotency-Key": "once"}}
    with serving(open_hub(policy)) as served, served.client("ana") as ana:
        token = ana.headers["authorization"].removeprefix("Bearer ")
        first = ana.post("/v1/query", json=FRESH, **keyed).json()
    with serving(open_hub(policy)) as served, client(served.url, token) as ana:
        again = ana.post("/v1/query", json=FRESH, **keyed).json()
        assert (again["id"], again["rows"], again["epsilon"]) == (first["id"], first["rows"], "0")
        assert left(ana) == Fraction(39, 10)
        assert ana.post("/v1/query", json=COUNT, **keyed).status_code == 409


def test_the_same_key_sent_at_once_is_charged_once(ana):
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(ana.post, "/v1/query", json=FRESH, headers={"Idempotency-Key": "rush"}) for _ in range(16)]
        replies = [one.result() for one in sent]
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.content for reply in replies}) == 1
    assert left(ana) == Fraction(39, 10)


def test_a_key_that_is_none_is_refused(ana):
    for key in ("", "x" * 129, "tab\tin"):
        assert ana.post("/v1/query", json=FRESH, headers={"Idempotency-Key": key}).status_code == 400
        assert left(ana) == 4


def test_keys_are_remembered_in_bounds(ana, monkeypatch):
    monkeypatch.setattr(idempotency, "MOST_KEYS", 3)
    for number in range(10):
        assert ana.post("/v1/query", json=COUNT, headers={"Idempotency-Key": f"k{number}"}).status_code == 200


def test_two_clients_at_once_never_overspend(served, ben):
    with served.client("ben") as other, ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(who.post, "/v1/query", json=FRESH) for _ in range(15) for who in (ben, other)]
        statuses = [one.result().status_code for one in sent]
    assert sorted(set(statuses)) == [200, 402]
    assert statuses.count(200) == 10, "ben's group may spend 1"
    assert left(ben) >= 0


def test_analysts_see_their_own_alone(ana, ben):
    theirs = ana.post("/v1/query", json=COUNT).json()["id"]
    assert ben.get("/v1/log").json() == {"entries": []}
    reply = ben.get(f"/v1/releases/{theirs}")
    assert reply.status_code == 404
    assert error_of(reply)["code"] == "not_found"
    assert reply.content == ben.get(f"/v1/releases/{'0' * 64}").content
    entries = ana.get("/v1/log?limit=1").json()["entries"]
    assert len(entries) == 1
    assert entries[0]["analyst"] == "ana"


def test_a_limit_that_is_none_is_refused(ana):
    for limit in ("0", "1001", "x", "-1", "1.5", "٣", ""):
        assert ana.get(f"/v1/log?limit={limit}").status_code == 400


ROUTES = ["/v1/budget", "/v1/log", "/v1/schema", "/v1/releases/x", "/metrics"]


STRANGERS = (None, "Bearer", "Bearer x", "Basic YW5hOng=", "Bearer tacit_" + "A" * 43, "x" * 5000)


def test_strangers_are_told_the_same_whatever_they_try(served):
    for path in ROUTES:
        for header in STRANGERS:
            reply = httpx.get(served.url + path, headers={} if header is None else {"authorization": header})
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            assert error_of(reply)["message"] == "no token that is known here"


def test_a_revoked_token_and_a_struck_off_analyst_are_out_at_once(served, ana, tmp_path):
    assert ana.get("/v1/budget").status_code == 200
    served.hub.accounts.remove("ana")
    assert ana.get("/v1/budget").status_code == 401
    with served.client("ben") as ben:
        policy = tmp_path / "tacit.toml"
        policy.write_text(policy.read_text().replace("[analysts.ben]", "[analysts.bea]"))
        reply = ben.post("/v1/query", json=COUNT)
        assert (reply.status_code, error_of(reply)["code"]) in {(403, "forbidden"), (503, "policy_error")}
        assert ben.get("/v1/budget").status_code == 403
        policy.write_text(policy.read_text().replace("[analysts.bea]", "[analysts.ben]"))
        assert ben.get("/v1/budget").status_code == 200  # though nobody whom it named has asked in between


def test_the_curators_token_asks_nothing_and_analysts_read_no_metrics(served, ana):
    with served.client("root", role="curator") as root:
        assert root.post("/v1/query", json=COUNT).status_code == 403
        ana.post("/v1/query", json=COUNT)
        text = root.get("/metrics").text
    assert ana.get("/metrics").status_code == 403
    assert 'tacit_requests_total{route="/v1/query",status="200"} 1' in text
    assert "ana" not in re.sub(r"# .*", "", text)


def test_the_metrics_can_be_read_by_prometheus(served):
    with served.client("root", role="curator") as root:
        lines = root.get("/metrics").text.splitlines()
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \d+')
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)


REFUSED = {
    '{"sql": "DP-SELECT 1 secret FROM visits"}': (422, "unknown_name"),
    '{"sql": "DP-SELECT 1 SUM(city) FROM visits"}': (422, "query_refused"),
    '{"sql": "SELEC"}': (422, "query_refused"),
    '{"sql": "DP-SELECT 1 COUNT(*) FROM (("}': (400, "query_syntax_error"),
    '{"sql": "DP-SELECT 9 COUNT(*) FROM visits"}': (402, "budget_exceeded"),
    '{"sql": "EXPLAIN DP-SELECT 1 COUNT(*) FROM visits"}': (422, "query_refused"),
    '{"sql": 1}': (400, "invalid_parameter"),
    "{}": (400, "invalid_parameter"),
    "[]": (400, "invalid_parameter"),
    "": (400, "invalid_parameter"),
    "null": (400, "invalid_parameter"),
    "[" * 100_000: (400, "invalid_parameter"),
    '{"sql": "SELECT 1", "epsilon": NaN}': (400, "invalid_parameter"),
    '{"sql": "SELECT COUNT(*) FROM visits", "epsilon": 0}': (400, "invalid_parameter"),
    '{"sql": "SELECT COUNT(*) FROM visits", "epsilon": -1}': (400, "invalid_parameter"),
    '{"sql": "SELECT COUNT(*) FROM visits", "epsilon": true}': (400, "invalid_parameter"),
    '{"sql": "SELECT COUNT(*) FROM visits", "epsilon": 1e999999999}': (400, "invalid_parameter"),
    '{"sql": "SELECT COUNT(*) FROM visits", "delta": 1}': (400, "invalid_parameter"),
    '{"sql": "SELECT COUNT(*) FROM visits", "seed": 1}': (400, "invalid_parameter"),
    '{"sql": "SELECT COUNT(*) FROM visits"}': (422, "query_refused"),
    '{"sql": "DP-SELECT 1 COUNT(*) FROM visits", "sql": "DP-SELECT 2 COUNT(*) FROM visits"}': (
        400,
        "invalid_parameter",
    ),
    '{"sql": "DP-SELECT 1 COUNT(*) FROM visits WHERE age > :a", "parameters": {"a": 1, "a": 2}}': (
        400,
        "invalid_parameter",
    ),
    '{"sql": "\\ud800"}': (422, "query_refused"),
    '{"sql": "DP-SELECT 1 COUNT(*) FROM visits WHERE city = \'\\u0000\'"}': (400, "query_syntax_error"),
}


def test_what_is_refused_is_refused_in_one_shape_at_no_charge(ana):
    for body, expected in REFUSED.items():
        reply = ana.post("/v1/query", content=body)
        assert (reply.status_code, error_of(reply)["code"]) == expected, reply.text
        assert left(ana) == 4


def test_who_asks_and_under_which_key_is_said_once(ana, ben):
    """Whoever stands in front may have let the other token through, or have written down the other key."""
    question = b'{"sql": "DP-SELECT 1 COUNT(*) FROM visits"}'
    token = ana.headers["authorization"]
    twice = [
        [("authorization", ben.headers["authorization"])],
        [("authorization", token)],
        [("idempotency-key", "one"), ("idempotency-key", "two")],
        [("mcp-session-id", "one"), ("mcp-session-id", "two")],
    ]
    for more in twice:
        request = ana.build_request("POST", "/v1/query", content=question)
        request.headers = httpx.Headers([*request.headers.multi_items(), *more])
        reply = ana.send(request)
        assert reply.status_code == 400, more
        assert "twice" in error_of(reply)["message"]
        assert reply.headers["connection"] == "close"
    assert (left(ana), left(ben)) == (4, 2)


def test_a_body_that_is_too_long_is_not_read_to_its_end(ana):
    reply = ana.post("/v1/query", content=b'{"sql": "' + b"x" * 2_000_000 + b'"}')
    assert reply.status_code == 413
    assert error_of(reply)["code"] == "too_large"


def test_a_path_or_method_that_is_not_there_is_told_in_the_same_shape(ana):
    assert error_of(ana.get("/v1/nothing"))["code"] == "not_found"
    assert error_of(ana.get("/../../etc/passwd"))["code"] == "not_found"
    reply = ana.put("/v1/query", json=COUNT)
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    assert error_of(reply)["code"] == "method_not_allowed"


def test_a_name_that_is_not_this_servers_is_refused(served):
    for host, status in (("evil.example", 400), ("localhost", 200), ("127.0.0.1:80", 200), ("[::1]:9", 200), ("", 400)):
        assert httpx.get(served.url + "/healthz", headers={"host": host}).status_code == status


def test_more_requests_than_the_rate_are_refused(tmp_path):
    policy = build(tmp_path, people=3)
    policy.write_text(policy.read_text() + "[server]\nrate = 5\n")
    with serving(open_hub(policy)) as served, served.client("ana") as ana, served.client("ben") as ben:
        statuses = [ana.get("/v1/schema").status_code for _ in range(8)]
        assert statuses[:5] == [200] * 5
        assert statuses[-1] == 429
        refused = ana.post("/v1/query", json=COUNT)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert error_of(refused)["code"] == "overloaded"
        assert ben.get("/v1/schema").status_code == 200


def test_a_bucket_fills_again(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(gate.time, "monotonic", lambda: clock[0])
    limit = gate.RateLimit()
    for _ in range(60):
        limit.check("ana", 60)
    with pytest.raises(gate.Overloaded):
        limit.check("ana", 60)
    clock[0] = 1.01
    limit.check("ana", 60)
    with pytest.raises(gate.Overloaded):
        limit.check("ana", 60)


def test_nothing_that_leaves_holds_a_cell(served, ana, ben):
    """Every cell of the table is a canary; answers, refusals, errors, logs and metrics are looked through."""
    said = []
    for body in [*REFUSED, json.dumps(COUNT), '{"sql": "DP-SELECT 1 city, COUNT(*) FROM visits GROUP BY city"}']:
        for path in ("/v1/query", "/v1/explain"):
            said.append(ana.post(path, content=body))
    said += [ana.get(path) for path in (*ROUTES, "/healthz", "/v1/openapi.json")]
    with served.client("root", role="curator") as root:
        said.append(root.get("/metrics"))
    for reply in said:
        text = reply.text + str(reply.headers)
        assert CANARY not in text
        assert not any(number in text for number in NUMBERS)


def test_a_failure_inside_says_nothing_of_itself(served, ana, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError(f"{CANARY} in a message")

    monkeypatch.setattr(type(served.hub), "balance", broken)
    reply = ana.get("/v1/budget")
    assert (reply.status_code, error_of(reply)["code"]) == (500, "internal")
    assert CANARY not in reply.text


def test_a_policy_that_broke_is_told_by_healthz_and_stops_questions(served, ana, tmp_path):
    policy = tmp_path / "tacit.toml"
    text = policy.read_text()
    policy.write_text("[budget")
    assert httpx.get(served.url + "/healthz").status_code == 503
    assert ana.post("/v1/query", json=COUNT).status_code == 503
    policy.write_text(text)
    assert httpx.get(served.url + "/healthz").json() == {"status": "ok"}
    assert ana.post("/v1/query", json=COUNT).status_code == 200


def test_replies_are_kept_by_nobody_and_name_no_software(ana):
    reply = ana.get("/v1/budget")
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "server" not in reply.headers
    assert "access-control-allow-origin" not in reply.headers


def test_every_error_of_the_tree_has_a_status():
    from tacit.errors import TacitError

    kinds = [kind for kind in TacitError.__subclasses__() if kind.__module__ == "tacit.errors"]
    assert all(any(issubclass(kind, known) for known, _ in STATUSES) for kind in kinds)
    assert code_of(gate.TooLarge("x")) == "too_large"
