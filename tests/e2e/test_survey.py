"""A survey from its file to its estimate: what is drafted, served, kept, dropped and estimated."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from e2e.cli_clinic import environment, here
from e2e.survey_box import ask, collected, make, reports_of, served
from e2e.test_cli_docs import follow
from tacit import collect
from tacit.collect.surveys.questionnaire import load
from tacit.collect.surveys.store import ReportStore, read_lines
from tacit.engines.reports import tally
from tacit.faces.survey.server import SurveyServer
from tacit.faces.survey.site import OCTETS

FRUIT = tuple(f"fruit {number}" for number in range(13))


# ── the file and the estimate ────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_survey_is_the_lectures_two_coins(tmp_path: Path) -> None:
    ran = here("survey", "new", "doping.toml", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "ε = 1.099" in ran.out
    assert load(tmp_path / "doping.toml").protocol == collect.Direct.two_coin()
    again = here("survey", "new", "doping.toml", cwd=tmp_path)
    assert again.err.startswith("error: doping.toml is there already")


def test_the_estimate_is_the_rate_with_its_interval(tmp_path: Path) -> None:
    survey = make(tmp_path)
    collected(survey, [1] * 3000 + [0] * 7000, rejected=2)
    ran = here("survey", "estimate", "--plot", "rate.svg", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "10,000 reports, 2 dropped" in ran.out
    assert "●" in ran.out
    found = here("survey", "estimate", "doping.toml", "--format", "json", "--plot", "again.svg", cwd=tmp_path).json
    yes = next(one for one in found["estimates"] if one["answer"] == "yes")
    assert yes["low"] < 0.3 < yes["high"]
    assert yes["value"] == pytest.approx(0.3, abs=0.05)
    assert (yes["high"] - yes["low"]) / 2 == pytest.approx(1.96 * (0.4 * 0.6 / 10_000) ** 0.5 * 2, rel=0.02)
    picture = ElementTree.parse(tmp_path / "rate.svg").getroot()
    assert picture.tag.endswith("svg")


def test_the_posterior_is_told_before_anything_is_collected(tmp_path: Path) -> None:
    make(tmp_path)
    ran = here("survey", "explain", "--plot", "posterior.svg", cwd=tmp_path)
    assert "10.00%                  3.57%    25.00%" in ran.out, "the lectures' exercise"
    assert ElementTree.parse(tmp_path / "posterior.svg").getroot().tag.endswith("svg")


def test_a_number_can_be_asked_for(tmp_path: Path) -> None:
    survey = make(tmp_path, "-q", "How old are you?", "--number", "0:100:1", "--epsilon", "2", name="age.toml")
    collected(survey, np.full(20_000, 40))
    found = here("survey", "estimate", "age.toml", "--format", "json", cwd=tmp_path).json["estimates"][0]
    assert found["low"] < 40 < found["high"]
    assert found["high"] - found["low"] < 4
    assert "mean" in here("survey", "estimate", cwd=tmp_path).out


def test_reports_of_another_survey_are_dropped_though_the_coins_are_the_same(tmp_path: Path) -> None:
    doping, tax = make(tmp_path), make(tmp_path, "-q", "Have you ever evaded tax?", name="tax.toml")
    assert doping.protocol == tax.protocol
    collected(doping, [1] * 30 + [0] * 70)
    ran = here("survey", "estimate", "tax.toml", "--reports", "doping.reports.jsonl", cwd=tmp_path)
    assert ran.code == 2
    assert "all 100 reports were dropped" in ran.err
    assert "collected for this survey?" in ran.err
    assert here("survey", "pack", "doping.toml", "doping.parquet", cwd=tmp_path).code == 0
    assert tally(tax, tmp_path / "doping.parquet").reports == 0
    with served(tax) as server:
        message = reports_of(doping, [1])[0]
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] == 422


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "doping"', 'name = "doping, second wave"'),
        ("Have you ever", "Has anybody ever"),
        ('["no", "yes"]', '["yes", "no"]'),
        ('coins = "1/2"', 'coins = "1/3"'),
    ],
)
def test_a_survey_is_known_by_its_name_question_answers_and_price(tmp_path: Path, old: str, new: str) -> None:
    survey = make(tmp_path)
    collected(survey, [1] * 10)
    text = survey.path.read_text()
    assert old in text
    survey.path.write_text(text + "# a comment changes nothing\n")
    assert tally(load(survey.path)).reports == 10
    survey.path.write_text(text.replace(old, new))
    assert tally(load(survey.path)).dropped == 10


def test_shares_that_add_up_are_shown_beside_the_unbiased_ones_and_called_biased(tmp_path: Path) -> None:
    survey = make(tmp_path, *(word for fruit in FRUIT for word in ("-a", fruit)), "--epsilon", "1")
    collected(survey, [0] * 200)
    plain = here("survey", "estimate", "--format", "json", cwd=tmp_path).json
    both = here("survey", "estimate", "--consistent", "--format", "json", cwd=tmp_path).json
    assert both["consistent_is_biased"] is True
    shares = [one.pop("consistent") for one in both["estimates"]]
    assert both["estimates"] == plain["estimates"], "the unbiased ones and their intervals stay as they are"
    assert min(one["value"] for one in plain["estimates"]) < 0
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1)
    assert "consistent (biased)" in here("survey", "estimate", "--consistent", cwd=tmp_path).out
    assert "biased" not in here("survey", "estimate", cwd=tmp_path).out
    age = make(tmp_path, "-q", "How old?", "--number", "0:100:1", "--epsilon", "2", name="age.toml")
    collected(age, [40] * 10)
    assert "no shares that could add up" in here("survey", "estimate", "age.toml", "--consistent", cwd=tmp_path).err


def test_brackets_in_brackets_are_one_line_that_cannot_be_read(tmp_path: Path) -> None:
    survey = make(tmp_path)
    collected(survey, [1] * 10)
    with survey.reports.open("a") as file:
        file.write("[" * 200_000 + "\n" + '{"report":' * 100_000 + "\n")
    ran = here("survey", "estimate", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "10 reports, 2 dropped" in ran.out
    assert here("survey", "pack", "doping.toml", "all.parquet", cwd=tmp_path).code == 0
    packed = tally(survey, tmp_path / "all.parquet")
    assert (packed.reports, packed.dropped) == (10, 2)


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        ("new doping.toml", "doping.toml is there already", "name another file, or edit this one"),
        ("new other.toml -a only", "one answer is no choice", "add another --answer"),
        ("new other.toml -a only -e 1", "one answer is no choice", "add another --answer"),
        ("new other.toml --number 0:9:1 -a a -a b -e 1", "a number or for an answer: not both", "leave out one"),
        ("explain doping.toml --people 0", "--people", "--help"),
        ("explain doping.toml --people -5", "--people", "--help"),
        ("explain .", ".: a directory is no survey", "name its file"),
        ("estimate doping.toml --reports nope.jsonl", "nope.jsonl: there is no such file", "--reports"),
        ("pack doping.toml nodir/d.parquet", "nodir/d.parquet cannot be written: there is no directory", "make it"),
        ("pack doping.toml /proc/d.parquet", "d.parquet could not be written", "is there room"),
        (
            "serve doping.toml --host 192.0.2.1 --port 0",
            "cannot be served at 192.0.2.1:0",
            "an address of this machine",
        ),
        ("serve doping.toml --host a..b --port 0", "cannot be served at a..b:0", "an address of this machine"),
    ],
)
def test_what_cannot_be_done_is_told_with_what_to_do(tmp_path: Path, words: str, said: str, hint: str) -> None:
    collected(make(tmp_path), [1])
    before = sorted(tmp_path.iterdir())
    ran = here("survey", *words.split(), cwd=tmp_path)
    assert ran.code not in {0, 1}
    error, advice = ran.err.strip().split("\nhint: ")
    assert error.startswith("error: ")
    assert said in error
    assert hint in advice
    assert sorted(tmp_path.iterdir()) == before


def test_a_price_that_protects_hardly_anybody_is_warned_of(tmp_path: Path) -> None:
    assert "hardly anything is protected" in here("survey", "new", "dear.toml", "-e", "8.1", cwd=tmp_path).out
    assert "hardly" not in here("survey", "new", "fair.toml", "-e", "8", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[survey]", "[surveys]"), "the table [survey] is missing"),
        (('answers = ["no", "yes"]', 'answers = ["no"]'), "from 2 to 200 answers"),
        (('answers = ["no", "yes"]', 'answers = ["no", "no"]'), "different texts"),
        (('answers = ["no", "yes"]', "lower = 0"), "upper is missing"),
        (('coins = "1/2"', ""), "the price of an answer is missing"),
        (('coins = "1/2"', 'coins = "1"'), "strictly between 0 and 1"),
        (('coins = "1/2"', "epsilon = 0"), "epsilon must be greater than zero"),
        (('coins = "1/2"', 'epsilon = 1\nprotocol = "magic"'), "no protocol 'magic'"),
        (('coins = "1/2"', 'epsilon = 1\nsecret = "x"'), "unknown key in [privacy]: secret"),
        (("question =", "question ="), ""),
    ],
)
def test_a_survey_that_cannot_be_is_refused_by_name(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    survey = make(tmp_path)
    text = survey.path.read_text()
    assert change[0] in text
    survey.path.write_text(text.replace(*change))
    ran = here("survey", "explain", "doping.toml", cwd=tmp_path)
    if said:
        assert ran.code == 5
        assert said in ran.err
    else:
        assert ran.code == 0


def test_the_only_survey_here_need_not_be_named(tmp_path: Path) -> None:
    assert "there is none here" in here("survey", "estimate", cwd=tmp_path).err
    make(tmp_path)
    assert "no report could be counted" in here("survey", "estimate", cwd=tmp_path).err
    make(tmp_path, name="other.toml")
    assert "there are 2 here" in here("survey", "estimate", cwd=tmp_path).err


def test_the_page_of_the_docs_can_be_followed(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "collect.md").read_text(encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(text.partition("```python")[0], encoding="utf-8")  # what follows runs with the rest of the Python
    (elsewhere := tmp_path / "elsewhere").mkdir()
    collected(survey := make(elsewhere), [1] * 300 + [0] * 700)
    survey.reports.rename(tmp_path / "doping.reports.jsonl")
    assert follow(page, tmp_path) == 3


# ── large collections ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("protocol", ["direct", "unary", "local-hash", "hadamard", "subset", "projective"])
def test_sql_over_parquet_adds_up_what_python_does(tmp_path: Path, protocol: str) -> None:
    options = [word for fruit in FRUIT for word in ("-a", fruit)]
    survey = make(tmp_path, *options, "--epsilon", "1")
    written = survey.path.read_text().splitlines(keepends=True)
    text = "".join(f'protocol = "{protocol}"\n' if line.startswith("protocol") else line for line in written)
    survey.path.write_text(text)
    survey = load(survey.path)
    collected(survey, np.arange(2000) % 13, rejected=3)
    head = reports_of(survey, [1])[0][:5]
    with survey.reports.open("a") as file:  # nonsense of all kinds
        file.write(json.dumps({"report": (head + b"\xff" * survey.protocol.width).hex()}) + "\n")
        file.write(json.dumps({"report": (b"\2" + head[1:] + bytes(survey.protocol.width)).hex()}) + "\n")
        file.write('{"report": "zz"}\n{"report": 7}\n[1]\nnot json\n{"report": "0')
    lines = tally(survey)
    packed = here("survey", "pack", "doping.toml", "all.parquet", cwd=tmp_path)
    assert packed.code == 0, packed.err
    rows = tally(survey, tmp_path / "all.parquet")
    assert (rows.counts == lines.counts).all()
    assert (rows.reports, rows.dropped) == (lines.reports, lines.dropped)
    assert (lines.reports, lines.dropped) == (2000, 3 + 7)
    many = here("survey", "estimate", "doping.toml", "--reports", "*.parquet", "--format", "json", cwd=tmp_path)
    assert many.json["reports"] == 2000


# ── the server ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_report_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    survey = make(tmp_path)
    message = reports_of(survey, [1])[0]
    with served(survey) as server:
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] == 204
        assert read_lines(survey.reports)[0] == {message: 1}
    kept = json.loads(survey.reports.read_text())
    assert kept == {"report": message.hex()}, "no name, no address, no time"
    assert survey.reports.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (422, b"", {"Content_Type": OCTETS}),
        (422, b"\1abcd\0", {"Content_Type": OCTETS}),
        (413, b"x" * 100_000, {"Content_Type": OCTETS}),
        (415, b"report=1", {"Content_Type": "application/x-www-form-urlencoded"}),
        (415, b"{}", {"Content_Type": "text/plain"}),
        (411, b"", {"Content_Type": OCTETS, "Content_Length": "9" * 18}),
    ],
)
def test_a_bad_report_is_rejected_and_counted(
    tmp_path: Path, status: int, body: bytes, headers: dict[str, str]
) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        assert ask(server, "POST", "/report", body, **headers)[0] == status
        assert server.store.counts == {"kept": 0, "rejected": 1}
    assert tally(survey).dropped == 1


@pytest.mark.parametrize("length", ["-5", "9" * 30, "6, 7", "six", "0x6"])
def test_a_length_that_is_none_is_refused_before_anything_is_read(tmp_path: Path, length: str) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        assert ask(server, "POST", "/report", b"", Content_Type=OCTETS, Content_Length=length)[0] == 400
        assert server.store.counts == {"kept": 0, "rejected": 0}


def test_a_page_elsewhere_cannot_make_its_own_name_point_here(tmp_path: Path) -> None:
    survey = make(tmp_path)
    message = reports_of(survey, [1])[0]
    with served(survey) as server:
        assert ask(server, "GET", "/survey.json", Host="evil.example:80")[0] == 421
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS, Host="evil.example")[0] == 421
        assert ask(server, "GET", "/survey.json", Host="localhost:1")[0] == 200
    with served(survey, names=("survey.example.org",)) as server:
        assert ask(server, "GET", "/", Host="Survey.Example.org")[0] == 200
    assert tally(survey).reports == 0


def test_only_the_pages_can_be_got(tmp_path: Path) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        for path in ("/", "/page.css", "/page.mjs", "/tacit-collect.mjs", "/survey.json"):
            assert ask(server, "GET", path)[0] == 200
        for path in ("/doping.toml", "/doping.reports.jsonl", "/../doping.toml", "/%2e%2e/doping.toml", "/report"):
            assert ask(server, "GET", path)[0] == 404
        description = json.loads(ask(server, "GET", "/survey.json")[1])["description"]
    assert collect.from_description(description) == survey.protocol


def test_rubbish_on_the_wire_and_a_client_that_stalls_stop_nobody(tmp_path: Path) -> None:
    survey = make(tmp_path)
    message = reports_of(survey, [1])[0]
    with served(survey) as server:
        address = ("127.0.0.1", server.server_address[1])
        stalled = [socket.create_connection(address) for _ in range(8)]
        for one in stalled:
            one.sendall(b"POST /report HTTP/1.1\r\nContent-Length: 6\r\n")
        with socket.create_connection(address) as rude:
            rude.sendall(np.random.default_rng(1).bytes(5000) + b"\r\n\r\n")
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] == 204
        for one in stalled:
            one.close()


def test_a_client_that_keeps_its_connection_loses_no_report(tmp_path: Path) -> None:
    survey = make(tmp_path)
    messages = reports_of(survey, [1, 0, 1, 1, 0] * 10)
    with served(survey) as server:
        kept = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
        kept.connect()
        line = kept.sock
        for message in messages:
            kept.request("POST", "/report", body=message, headers={"Content-Type": OCTETS})
            answer = kept.getresponse()
            assert (answer.status, answer.read(), answer.headers.get("Connection")) == (204, b"", None)
            assert answer.headers["Keep-Alive"] == "timeout=10", "how long the next one may take"
        assert kept.sock is line, "one connection for all of them"
        kept.close()
    assert tally(survey).reports == 50


def test_a_connection_is_kept_as_long_as_was_said_and_no_end_goes_unsaid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.faces.survey.server._KEPT_OPEN", 1)
    survey = make(tmp_path)
    with served(survey) as server, socket.create_connection(("127.0.0.1", server.server_address[1]), 60) as line:
        line.sendall(SECOND)
        found = b"".join(iter(lambda: line.recv(65536), b""))  # until it is closed
    assert b"\r\nkeep-alive: timeout=1\r\n" in found.lower()


def _said(server: SurveyServer, text: bytes) -> list[bytes]:
    """Everything that is answered to these bytes until the connection ends; the head of each answer."""
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60) as line:
        line.sendall(text)
        found = b"".join(iter(lambda: line.recv(65536), b""))
    return found.split(b"HTTP/1.1 ")[1:]


SECOND = b"GET /page.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(SECOND)
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    "first",
    [
        b"POST /report HTTP/1.1\r\nContent-Type: text/plain\r\n" + LENGTH,
        b"POST /report HTTP/1.1\r\nContent-Type: application/octet-stream\r\n" + LENGTH,
        b"POST /report HTTP/1.1\r\nContent-Type: application/octet-stream\r\n" + LENGTH * 2,
        b"POST /report HTTP/1.1\r\nContent-Type: application/octet-stream\r\n" + CHUNKED,
        b"POST /report HTTP/1.1\r\nContent-Type: application/octet-stream\r\n" + LENGTH + CHUNKED,
        b"POST /elsewhere HTTP/1.1\r\n" + LENGTH,
        b"GET / HTTP/1.1\r\n" + LENGTH,
        b"GET / HTTP/1.1\r\n" + CHUNKED,
        b"GET / HTTP/1.0\r\n",
        b"GET / HTTP/1.1\r\nConnection: close\r\n",
    ],
)
def test_no_body_is_read_as_a_request(tmp_path: Path, first: bytes) -> None:
    survey = make(tmp_path)
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(SECOND), SECOND) if CHUNKED in first else SECOND
    with served(survey) as server:
        answers = _said(server, first + b"Host: localhost\r\n\r\n" + body)
    assert len(answers) == 1
    assert b"text/css" not in answers[0]


def test_a_body_that_never_ends_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = make(tmp_path)
    monkeypatch.setattr("tacit.faces.survey.site._PATIENCE", 1.5)
    head = b"POST /report HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
    with (
        served(survey) as server,
        socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60) as line,
    ):
        line.sendall(head + b"Content-Length: 6\r\n\r\n\1ab")
        assert line.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert server.store.counts == {"kept": 0, "rejected": 1}


def test_one_sender_cannot_send_a_thousand_reports(tmp_path: Path) -> None:
    survey = make(tmp_path)
    messages = reports_of(survey, [1] * 12)
    with served(survey, per_hour=5) as server:
        found = [ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] for message in messages]
        assert found == [204] * 5 + [429] * 7
        assert ask(server, "POST", "/report", b"x", Content_Type="text/plain")[0] == 429, "nor as many bad ones"
        assert ask(server, "GET", "/")[0] == 200
        assert server.store.counts == {"kept": 5, "rejected": 0}
    assert tally(survey).reports == 5
    with served(survey, per_hour=0) as server:
        assert {ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] for message in messages} == {204}


def test_a_sender_who_must_wait_is_told_how_long(tmp_path: Path) -> None:
    survey = make(tmp_path)
    with served(survey, per_hour=1) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
        for status in (204, 429):
            connection.request("POST", "/report", body=reports_of(survey, [1])[0], headers={"Content-Type": OCTETS})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
        assert 3500 < int(answer.headers["Retry-After"]) <= 3600
        connection.close()


def test_a_full_disk_is_told_and_nothing_is_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = make(tmp_path)
    message = reports_of(survey, [1])[0]
    with served(survey) as server:
        write = os.write
        monkeypatch.setattr(
            "tacit.collect.surveys.store.os.write", lambda file, line: write(file, line[: len(line) // 2])
        )
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] == 507
        assert ask(server, "POST", "/report", b"x", Content_Type="text/plain")[0] == 507
        assert server.store.counts == {"kept": 0, "rejected": 0}
        monkeypatch.undo()
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] == 204
    assert read_lines(survey.reports) == ({message: 1}, 2), "half a line spoils no other"


def test_half_a_line_that_a_crash_left_spoils_no_other(tmp_path: Path) -> None:
    survey = make(tmp_path)
    message = reports_of(survey, [1])[0]
    survey.reports.write_text('{"report": "01')
    store = ReportStore(survey)
    assert store.add(message)
    store.close()
    assert read_lines(survey.reports) == ({message: 1}, 1)


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    make(tmp_path)
    command = [sys.executable, "-m", "tacit", "survey", "serve", "doping.toml", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        question, address = running.stdout.readline(), running.stdout.readline()
        assert question == "Have you ever used a banned substance?\n"
        host, port = address.split("/")[2].split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        connection.request("GET", "/")
        assert b"Randomise here" in connection.getresponse().read()
        connection.close()
        os.kill(running.pid, signal.SIGINT)
        rest = running.stdout.read()
        assert running.wait(timeout=60) == 0
    assert "stopped: 0 reports kept, 0 rejected" in rest
