"""The console against those who mean ill: forged forms and roles, other sites, odd cells, guesses, and neighbours."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest
from starlette.requests import Request
from starlette.responses import Response

from e2e.cli_clinic import CANARY, NUMBERS, POLICY, build
from e2e.test_wire_neighbours import SOMEBODY, without
from support.browsing import Person, account, person
from support.server import serving
from support.sources import Seeded
from tacit.faces.server.attempts import BY_NAME
from tacit.faces.server.console import guard, visitors
from tacit.faces.server.console.visitors import Sessions
from tacit.faces.server.serving import open_hub

FRESH = "DP-SELECT 0.1 FRESH COUNT(*) AS n FROM visits"
PAGES = ("/ask", "/budget", "/data", "/log", "/policy", "/risk", "/answers/x", "/answers/x/answer.csv", "/ask/words")
FORMS = ("/ask", "/ask/price", "/log", "/signout", "/policy", "/risk")


@pytest.fixture
def served(tmp_path):
    with serving(open_hub(build(tmp_path, people=40))) as made:
        yield made


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """One for all tests in which nothing may be charged and no account changes."""
    with serving(open_hub(build(tmp_path_factory.mktemp("clinic"), people=40))) as made:
        account(made, "ana")
        yield made


@pytest.fixture(scope="module")
def anas_page(steady):
    with person(steady, "ana") as made:
        yield made


@pytest.fixture
def ana(served):
    with person(served, "ana") as made:
        yield made


@pytest.fixture
def curator(served):
    with person(served, "carla", role="curator") as made:
        yield made


def spent(served) -> bool:
    return bool(served.hub.log("ana"))


# ── who is signed in ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_strangers_are_led_to_the_door_and_back(served):
    account(served, "ana")
    with person(served) as stranger:
        for path in PAGES:
            reply = stranger.get(path)
            assert (reply.url.path, reply.status_code) == ("/signin", 200), path
        for path in FORMS:
            assert stranger.post(path, {"sql": FRESH, "key": "k"}).status_code in {303, 401} or path == "/signout"
        assert stranger.sign_in("ana", wanted="/budget").url.path == "/budget"
    assert not spent(served)


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_the_door_leads_nowhere_else(steady, wanted):
    with person(steady) as stranger:
        assert urlsplit(str(stranger.sign_in("ana", wanted=wanted).url)).path == "/ask"


def test_a_wrong_password_and_an_unknown_name_are_told_alike(served, monkeypatch):
    account(served, "ana")
    told = []
    with person(served) as stranger:
        for name in ("ana", "nobody"):
            reply = stranger.sign_in(name, "not the password")
            assert reply.status_code == 401
            body = re.sub(r'value="[^"]*"', "", reply.text)
            told.append((body, {k: v for k, v in reply.headers.items() if k not in {"date", "content-length"}}))
        assert told[0] == told[1]
        assert stranger.get("/ask").url.path == "/signin"
        assert stranger.sign_in("ana").url.path == "/ask"


def test_attempts_are_limited_by_name_and_by_address(served, monkeypatch):
    account(served, "ana")
    monkeypatch.setattr(served.hub.accounts, "check", lambda name, password: None)
    with person(served) as stranger:
        stranger.get("/signin")
        replies = [stranger.post("/signin", {"name": "ana", "password": "guess"}) for _ in range(BY_NAME + 1)]
        assert {reply.status_code for reply in replies[:-1]} == {401}
        assert replies[-1].status_code == 429
        assert "too many attempts" in replies[-1].text
        assert stranger.sign_in("ben").status_code == 401, "another name is still heard"


def test_a_session_ends_with_its_account_its_password_and_its_time(served, ana, monkeypatch):
    accounts = served.hub.accounts
    assert ana.get("/budget").status_code == 200
    accounts.set_password("ana", "another password")
    assert ana.get("/budget").url.path == "/signin"
    ana.sign_in("ana", "another password")
    assert ana.get("/budget").url.path == "/budget"
    ana.post("/signout")
    assert ana.get("/budget").url.path == "/signin"
    ana.sign_in("ana", "another password")
    accounts.remove("ana")
    assert ana.get("/budget").url.path == "/signin"
    clock = [0.0]
    account(served, "ana")
    sessions = Sessions(clock=lambda: clock[0])
    cookie = sessions.begin(accounts.find("ana"), accounts)
    for step, open_ in ((visitors.IDLE, True), (visitors.IDLE + 1, False), (0, False)):
        clock[0] += step
        assert (sessions.find(cookie, accounts) is not None) is open_
    cookie = sessions.begin(accounts.find("ana"), accounts)
    for _ in range(visitors.LONGEST // visitors.IDLE):
        clock[0] += visitors.IDLE
        assert sessions.find(cookie, accounts) is not None
    clock[0] += 1
    assert sessions.find(cookie, accounts) is None


def test_a_cookie_of_before_is_not_the_cookie_of_a_session(served):
    """Who plants a cookie in somebody's browser before they sign in has not signed in with them."""
    account(served, "ana")
    with person(served) as victim, person(served) as mallory:
        mallory.get("/signin")
        planted = mallory.client.cookies[guard.COOKIE]
        victim.client.cookies.set(guard.COOKIE, planted)
        assert victim.sign_in("ana").url.path == "/ask"
        assert mallory.get("/ask").url.path == "/signin"


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(served):
    with person(served) as stranger:
        said = stranger.get("/signin").headers["set-cookie"].lower()
        for part in ("httponly", "samesite=strict", "path=/"):
            assert part in said
        assert "secure" not in said, "on this machine alone, without TLS"
        stranger.get("/signin")
        reply = stranger.post("/signin", {"name": "x", "password": "y"}, headers={"origin": "https://dp.example.org"})
        said = reply.headers["set-cookie"].lower()
        assert said.startswith(f"__host-{guard.COOKIE}=")
        assert "secure" in said


def test_under_tls_the_cookie_is_sent_back_under_tls_alone():
    scope = {"type": "http", "scheme": "https", "method": "GET", "path": "/", "query_string": b"", "headers": []}
    reply = Response()
    guard.set_cookie(reply, Request({**scope, "server": ("dp.example.org", 443)}), "c")
    said = reply.headers["set-cookie"].lower()
    assert said.startswith(f"__host-{guard.COOKIE}=c;")
    assert "; secure" in said


# ── roles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_curators_pages_are_not_an_analysts_and_the_other_way_round(served, ana, curator):
    for path in ("/policy", "/risk"):
        assert ana.get(path).status_code == 403
        assert curator.get(path).status_code == 200
    assert ana.post("/policy", {"text": "x", "act": "apply"}).status_code == 403
    for path in ("/ask", "/ask/words", "/answers/x"):
        assert curator.get(path).status_code == 403
    assert curator.post("/ask", {"sql": FRESH, "key": "k"}).status_code == 403
    assert not spent(served)


def test_an_analyst_cannot_become_the_curator(served, ana):
    """Not by saying so; and who is made the curator signs in as one."""
    for form in ({"role": "curator"}, {"visitor": "carla"}, {"name": "carla"}):
        assert ana.post("/log", form).status_code == 200
        assert "entries, the last" not in ana.post("/log", form).text
    assert ana.get("/policy?role=curator").status_code == 403
    accounts = served.hub.accounts
    accounts._change(lambda book: book.with_account(replace(book.find("ana"), role="curator")))
    assert ana.get("/policy").url.path == "/signin", "the session was an analyst's, and is over"


def test_an_analyst_whom_the_policy_no_longer_names_is_refused(served, ana, tmp_path):
    policy = tmp_path / "tacit.toml"
    policy.write_text(policy.read_text().replace("[analysts.ana]\nepsilon = 4\n", ""))
    served.hub.check_policy()
    reply = ana.get("/ask")
    assert reply.status_code == 403
    assert "no longer names" in reply.text


# ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", FORMS)
def test_a_form_without_the_sessions_token_does_nothing(steady, anas_page, path):
    with person(steady, "carla", role="curator") as curator, person(steady, "ben") as ben:
        who = curator if path in {"/policy", "/risk"} else anas_page
        nothing_is_done(who, path, stolen=ben.token)
    assert not spent(steady)


def nothing_is_done(who, path, *, stolen):
    for token in ("", "x", stolen, who.token[:-1], who.token.upper()):
        reply = who.client.post(path, data={"csrf": token, "sql": FRESH, "key": "k", "act": "apply", "text": ""})
        assert reply.status_code == 403, (path, token)
    reply = who.client.post(path, data={"sql": FRESH, "key": "k"})
    assert reply.status_code == 403
    assert who.get("/budget").url.path == "/budget", "not even signed out"


def test_a_form_of_another_site_does_nothing_though_it_knew_the_token(served, ana):
    for site in ("cross-site", "same-site"):
        reply = ana.post("/ask", {"sql": FRESH, "key": "k"}, headers={"sec-fetch-site": site})
        assert reply.status_code == 403
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
        reply = ana.client.post("/ask", content=b"{}", headers={"content-type": kind})
        assert reply.status_code == 400
    assert ana.client.get("/ask", params={"csrf": ana.token, "sql": FRESH}).status_code == 200, "asking is a POST"
    assert not spent(served)


def test_a_body_without_end_is_not_read(served, ana):
    reply = ana.post("/ask", {"sql": "x" * 1_100_000, "key": "k"})
    assert reply.status_code == 413
    for content in (b"%ff=1&csrf=", b"&".join(b"a=1" for _ in range(1000)), b"\xff\xfe"):
        headers = {"content-type": "application/x-www-form-urlencoded"}
        assert ana.client.post("/ask", content=content, headers=headers).status_code in {400, 403}


# ── what browsers are told ───────────────────────────────────────────────────────────────────────────────────────────


def test_every_reply_forbids_frames_inline_scripts_and_shared_caches(served, ana):
    place = ana.ask(FRESH).url.path
    replies = [
        ana.get(path) for path in ("/ask", "/budget", "/data", "/log", place, f"{place}/answer.csv", "/ask/words")
    ]
    replies += [ana.get("/nowhere", headers={"accept": "text/html"}), ana.price(FRESH), ana.get("/policy")]
    with person(served) as stranger:
        replies.append(stranger.get("/signin"))
    for reply in replies:
        policy = reply.headers.get("content-security-policy", "")
        assert "default-src 'none'" in policy, reply.url
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert not [name for name in reply.headers if name.startswith("access-control-")], "no other site may read it"
        if "html" in reply.headers["content-type"]:
            assert not re.search(r"<script(?![^>]*\bsrc=)", reply.text)
            assert not re.search(
                r"\s(on\w+|style)=", re.sub(r"<textarea.*?</textarea>", "", reply.text, flags=re.DOTALL)
            )
            assert not re.search(r"(src|href)=\"(https?:)?//", reply.text), "nothing is fetched from elsewhere"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "", "localhost.evil.example"])
def test_a_page_elsewhere_cannot_make_its_own_name_point_here(steady, anas_page, host):
    for path in ("/ask", "/signin", "/static/console.css"):
        assert anas_page.get(path, headers={"host": host}).status_code == 400
    assert anas_page.post("/ask", {"sql": FRESH, "key": "k"}, headers={"host": host}).status_code == 400
    assert not spent(steady)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../tacit.toml",
        "/static/..%2f..%2ftacit.toml",
        "/static/%2e%2e/%2e%2e/pages.py",
        "/static//etc/passwd",
        "/static/../../../../../../etc/passwd",
        "/static/console.css%00.html",
        "/static/",
        "/static/__init__.py",
    ],
)
def test_only_the_consoles_own_files_can_be_got(steady, path):
    url = urlsplit(steady.url)
    with socket.create_connection((url.hostname, url.port), timeout=60) as wire:
        wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        reply = b"".join(iter(lambda: wire.recv(65536), b""))
    assert b" 404 " in reply.split(b"\r\n")[0]
    assert b"[dataset]" not in reply
    assert b"root:" not in reply


# ── what cells and names may hold ────────────────────────────────────────────────────────────────────────────────────

ODD = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}",
    "\x1b[2J\x07",
    "\u202egnp.exe\u2066",
    "&amp;",
]


def odd_clinic(directory: Path) -> Path:
    """A clinic whose towns, all of them large, and whose columns are hostile."""
    path = build(directory, people=40)
    with closing(duckdb.connect()) as connection:
        made = "SELECT i AS patient_id, $1[1 + i % 6] AS city, $1[1 + i % 6] AS dept FROM range(1800) AS made(i)"
        connection.execute(f"CREATE TABLE towns AS {made}", [ODD])
        connection.execute(f"COPY towns TO '{directory / 'towns.parquet'}' (FORMAT parquet)")
    domain = ", ".join('"' + "".join(f"\\U{ord(c):08x}" for c in name) + '"' for name in ODD)
    more = f"""
[tables.towns]
unit = "patient_id"
max_groups = 1
max_rows = 1
description = "<script>alert(3)</script>"
[tables.towns.columns]
city = {{ description = "<b onclick=alert(4)>" }}
dept = {{ domain = [{domain}] }}
"""
    policy = POLICY.replace('cities = "cities.csv"', 'cities = "cities.csv", towns = "towns.parquet"')
    policy = policy.replace("delta = 1e-6\n", "delta = 1e-3\ndefault_delta = 1e-4\n", 1)
    path.write_text(policy + more, encoding="utf-8")
    return path


def harmless(text: str) -> None:
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<b onclick" not in text
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)


def test_cells_columns_and_descriptions_are_text_whatever_they_look_like(tmp_path):
    with serving(open_hub(odd_clinic(tmp_path))) as served, person(served, "ana") as ana:
        private = ana.ask("DP-SELECT 1 city, COUNT(*) AS n FROM towns GROUP BY city")
        public = ana.ask('DP-SELECT 1 dept AS "<script>alert(5)</script>", COUNT(*) AS n FROM towns GROUP BY dept')
        for reply in (private, public):
            assert reply.status_code == 200
            harmless(reply.text.replace(f"<textarea{reply.text.split('<textarea')[1].split('</textarea>')[0]}", ""))
            assert "&lt;script&gt;alert(1)" in reply.text, "the town is there, and is text"
            assert "{{ 7 * 7 }}" in reply.text
            assert "\\x1b[2J\\x07" in reply.text
            assert "\\u202egnp" in reply.text
        for path in ("/data", "/log", "/budget", "/ask?sql=%3C/textarea%3E%3Cscript%3Ealert(1)%3C/script%3E"):
            reply = ana.get(path)
            assert reply.status_code == 200
            harmless(reply.text)
        table = ana.get(f"{private.url.path}/answer.csv").text
        assert "\x1b" not in table
        with person(served) as stranger:
            harmless(stranger.sign_in('"><script>alert(1)</script>', "x").text)


# ── neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────────

ASKED = [
    "DP-SELECT 0.05 FRESH COUNT(*) AS n FROM visits",
    "DP-SELECT 0.05 FRESH dept, COUNT(*) AS n, AVG(amount) AS a FROM visits GROUP BY dept",
    "DP-SELECT 0.05 FRESH MEDIAN(amount) AS m, MAX(age) AS high FROM visits",
    "DP-SELECT 0.05 FRESH COUNT(*) AS n FROM visits WHERE city = 'x' AND amount / (age - 30) > 1",
    "SELECT city FROM visits",
    "DP-SELECT 0.1 COUNT(*) FROM visits WHERE CAST(dept AS INTEGER) > 1",
    "DP-SELECT 0.1 COUNT(* FROM visits",
    "DP-SELECT 99 COUNT(*) FROM visits",
    "DP-SELECT 0.1 dept, COUNT(*) FROM visits WHERE error(dept) GROUP BY dept",
]


def seen(who: Person, sql: str, number: int) -> list[tuple[int, str]]:
    """All that the pages say to a question, without what is noisy or sealed with it."""
    asked = who.ask(sql, key=f"form {number}")
    replies = [who.price(sql), asked, who.get("/budget"), who.get("/log")]
    if asked.url.path.startswith("/answers/"):
        replies += [who.get(f"{asked.url.path}/answer.{form}") for form in ("csv", "json")]
        return [(reply.status_code, _without_noise(reply.text)) for reply in replies[:-2]] + [
            (reply.status_code, _numberless(reply.text)) for reply in replies[-2:]
        ]
    return [(reply.status_code, _without_noise(reply.text)) for reply in replies]


def others(ana: Person, carla: Person) -> list[tuple[int, str]]:
    """The pages that no question changes, those of the curator among them."""
    paths = ("/ask", "/ask/words", "/data", "/surveys", "/answers/x", "/policy", "/nowhere", "/signin")
    replies = [who.get(path) for who in (ana, carla) for path in paths]
    replies += [carla.get("/budget"), carla.get("/log"), carla.post("/log"), ana.post("/log")]
    return [(reply.status_code, _without_noise(reply.text)) for reply in replies]


def _numberless(text: str) -> str:
    return re.sub(r"-?\d[\d.]*(e[-+]?\d+)?", "#", re.sub(r"[0-9a-f]{64}|[0-9a-f]{12}", "#", text))


def _without_noise(text: str) -> str:
    text = re.sub(r'<dl class="tiles">.*?</table>', "<tiles>", text, flags=re.DOTALL)
    text = re.sub(r"<td[^>]*>[-\d.,]+</td>", "<td></td>", text)
    text = re.sub(r'<svg class="plot" height="2?2?2?0?".*?</svg>', "<plot>", text, flags=re.DOTALL)
    text = re.sub(r'(<span class="number">|<dd>|<td class="right">)[^<]*±[^<]*', r"\1±", text)
    text = re.sub(r"[0-9a-f]{64}|[0-9a-f]{12}", "#", text)  # of entries, of forms and of sessions
    text = re.sub(r'name="key" value="[^"]*"', "", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d", "<time>", text)


def transcript(path: Path) -> list[list[tuple[int, str]]]:
    hub = open_hub(path)
    hub._house.curator._source = Seeded(1)
    with serving(hub) as served, person(served, "ana") as ana, person(served, "carla", role="curator") as carla:
        found = [seen(ana, sql, number) for number, sql in enumerate(ASKED)]
        found.append(others(ana, carla))
        place = str(path.parent)
        return [[(status, text.replace(place, "")) for status, text in replies] for replies in found]


def both(tmp_path: Path) -> tuple[Path, Path]:
    places = [tmp_path / name for name in ("with", "without")]
    for place in places:
        place.mkdir()
    return build(places[0], people=40), without(build(places[1], people=40), SOMEBODY)


def test_pages_show_nothing_of_one_person_but_noise(tmp_path):
    whole, fewer = map(transcript, both(tmp_path))
    assert whole == fewer
    shown = "".join(text for replies in whole for _, text in replies)
    assert "±" in shown
    for canary in (f"{CANARY}-id", f"{CANARY}-secret", f"{CANARY}-city", *NUMBERS):
        assert canary not in shown


def test_a_page_that_tells_is_noticed(tmp_path, monkeypatch):
    """The planted bug: a note that says what the noise was added to."""
    from tacit.faces.server.console.asking import ShownAnswer

    told = ShownAnswer.covering.fget
    monkeypatch.setattr(ShownAnswer, "covering", property(lambda self: f"{told(self)} of {self.release.rows}"))
    monkeypatch.setattr("e2e.test_console_trust.ASKED", ASKED[:2])
    whole, fewer = map(transcript, both(tmp_path))
    assert whole != fewer
