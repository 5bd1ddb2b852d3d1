"""A survey from its file to its estimate: the page randomises in a real browser, and only noise is ever posted."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from e2e.cli_clinic import environment, here
from e2e.test_cli_docs import follow
from support.laws import FALSE_ALARM, p_value_of_successes
from support.sources import Seeded
from tacit import collect
from tacit.faces.survey.aggregate import bit_sums, tally
from tacit.faces.survey.findings import findings
from tacit.faces.survey.questionnaire import Survey, load
from tacit.faces.survey.server import OCTETS, SurveyServer
from tacit.faces.survey.store import ReportStore, read_lines

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FRUIT = tuple(f"fruit {number}" for number in range(13))


def make(directory: Path, *arguments: str, name: str = "doping.toml") -> Survey:
    ran = here("survey", "new", name, *arguments, cwd=directory)
    assert ran.code == 0, ran.err
    return load(directory / name)


def collected(survey: Survey, values: Any, *, rejected: int = 0) -> None:
    """Reports in the survey's file, as its server would have written them."""
    messages = collect.messages(survey.protocol, survey.protocol.encode(values, Seeded(1)))
    lines = [json.dumps({"report": message.hex()}) for message in messages] + [json.dumps({"rejected": 1})] * rejected
    survey.reports.write_text("".join(f"{line}\n" for line in lines))


@contextmanager
def served(survey: Survey, **options: Any) -> Iterator[SurveyServer]:
    with SurveyServer(survey, host="127.0.0.1", port=0, **options) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server: SurveyServer, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body=body, headers=sent)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


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
    messages = collect.messages(two := collect.Direct.two_coin(), two.encode([1] * 300 + [0] * 700, Seeded(1)))
    lines = (json.dumps({"report": message.hex()}) + "\n" for message in messages)
    (tmp_path / "doping.reports.jsonl").write_text("".join(lines))
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
    head = collect.messages(survey.protocol, survey.protocol.encode([1]))[0][:5]
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


def test_the_sql_for_long_reports_sums_every_bit() -> None:
    text = bit_sums(collect.Unary.optimised(collect.Direct.two_coin().loss(), domain=3))
    assert text.count("SUM(get_bit") == 3
    assert text.count("= 0") == 5, "what pads the last byte must be zero"


# ── the server ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_report_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    survey = make(tmp_path)
    message = collect.messages(survey.protocol, survey.protocol.encode([1]))[0]
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
        (411, b"", {"Content_Type": OCTETS, "Content_Length": "-5"}),
        (411, b"", {"Content_Type": OCTETS, "Content_Length": "9" * 30}),
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


def test_a_page_elsewhere_cannot_make_its_own_name_point_here(tmp_path: Path) -> None:
    survey = make(tmp_path)
    message = collect.messages(survey.protocol, survey.protocol.encode([1]))[0]
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
    message = collect.messages(survey.protocol, survey.protocol.encode([1]))[0]
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


def test_a_full_disk_is_told_and_nothing_is_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = make(tmp_path)
    message = collect.messages(survey.protocol, survey.protocol.encode([1]))[0]
    with served(survey) as server:
        write = os.write
        monkeypatch.setattr("tacit.faces.survey.store.os.write", lambda file, line: write(file, line[: len(line) // 2]))
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] == 507
        assert ask(server, "POST", "/report", b"x", Content_Type="text/plain")[0] == 507
        assert server.store.counts == {"kept": 0, "rejected": 0}
        monkeypatch.undo()
        assert ask(server, "POST", "/report", message, Content_Type=OCTETS)[0] == 204
    assert read_lines(survey.reports) == ({message: 1}, 2), "half a line spoils no other"


def test_half_a_line_that_a_crash_left_spoils_no_other(tmp_path: Path) -> None:
    survey = make(tmp_path)
    message = collect.messages(survey.protocol, survey.protocol.encode([1]))[0]
    survey.reports.write_text('{"report": "01')
    store = ReportStore(survey.reports, survey.protocol)
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
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", "/")
        assert b"Randomise here" in connection.getresponse().read()
        connection.close()
        os.kill(running.pid, signal.SIGINT)
        rest = running.stdout.read()
        assert running.wait(timeout=20) == 0
    assert "stopped: 0 reports kept, 0 rejected" in rest


# ── the page, in a real browser ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    drive = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: the page was not opened")
    if CHROMIUM is None:
        pytest.skip("chromium is not on this machine: the page was not opened")
    with drive.sync_playwright() as play:
        opened = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield opened
        opened.close()


def answer(browser: Any, server: SurveyServer, place: int) -> dict[str, Any]:
    """Answer once, in a browser that has never been here; everything it sent, and what the page says."""
    context = browser.new_context()
    page = context.new_page()
    sent: list[tuple[str, str, bytes]] = []
    troubles: list[str] = []
    page.on("request", lambda request: sent.append((request.method, request.url, request.post_data_buffer or b"")))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
    page.locator("input[name=answer]").nth(place).check()
    page.get_by_role("button").click()
    page.locator("#sent").wait_for(state="visible")
    said = page.locator("#told").inner_text()
    told = page.locator("#bytes").inner_text()
    page.reload()
    page.locator("#sent").wait_for(state="visible")
    again = page.locator("#bytes").inner_text()
    stored = page.evaluate("JSON.stringify({...localStorage})")
    context.close()
    return {"sent": sent, "said": said, "told": told, "again": again, "troubles": troubles, "stored": stored}


def test_the_browser_randomises_and_posts_only_the_noisy_answer(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        answers = [answer(browser, server, 1) for _ in range(3)]
        local = f"http://127.0.0.1:{server.server_address[1]}/"
    assert all(one["troubles"] == [] for one in answers)
    posted = set()
    for one in answers:
        assert all(url.startswith(local) for _, url, _ in one["sent"]), "nothing goes anywhere else"
        posts = [(url, body.hex()) for method, url, body in one["sent"] if method == "POST"]
        assert posts == [(f"{local}report", one["told"])], "one report, and not again when the page is opened again"
        assert one["again"] == one["told"]
        assert survey.answers[int(one["told"][-2:], 16)] in one["said"]
        assert set(json.loads(one["stored"]).values()) == {one["told"]}, "the true answer is stored nowhere"
        posted.add(one["told"])
    known = collect.messages(survey.protocol, np.array([[0], [1]], np.uint8))
    assert posted <= {message.hex() for message in known}
    counted = tally(survey)
    assert (counted.reports, counted.dropped) == (3, 0)
    assert findings(survey, counted, confidence="0.95").reports == 3


def test_the_browsers_own_coins_follow_the_law(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        yes = page.evaluate("""async () => {
          const { encode } = await import("/tacit-collect.mjs");
          const { description } = await (await fetch("survey.json")).json();
          return Array.from({ length: 8000 }, () => encode(description, 1)[5]).reduce((sum, bit) => sum + bit, 0);
        }""")
        page.close()
    assert p_value_of_successes(yes, 8000, 0.75) > FALSE_ALARM
    assert p_value_of_successes(yes, 8000, 0.5) < FALSE_ALARM, "the test has power"


def test_a_number_is_randomised_in_the_browser_too(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path, "-q", "How old are you?", "--number", "0:100:1", "--epsilon", "2", name="age.toml")
    with served(survey) as server:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        page.locator("input[name=answer]").fill("40")
        page.get_by_role("button").click()
        page.locator("#sent").wait_for(state="visible")
        page.close()
    assert tally(survey).reports == 1


def test_without_the_survey_the_page_says_that_nothing_was_sent(tmp_path: Path, browser: Any) -> None:
    survey = make(tmp_path)
    with served(survey) as server:
        page = browser.new_context().new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        page.route("**/report", lambda route: route.fulfill(status=507))
        page.locator("input[name=answer]").nth(0).check()
        page.get_by_role("button").click()
        page.locator("#trouble").wait_for(state="visible")
        assert "Not sent" in page.locator("#trouble").inner_text()
        assert not page.locator("#sent").is_visible()
        drawn = set()
        for place in (0, 1, 0):
            with page.expect_request("**/report") as request:
                page.locator("input[name=answer]").nth(place).check()
                page.get_by_role("button").click()
            drawn.add(request.value.post_data_buffer)
            page.locator("button:enabled").wait_for()
        assert len(drawn) == 1, "a server that refuses again and again learns no more"
        page.context.close()
