"""`tacit serve` as a process: one line for what is wrong, an end without loss, a death that costs budget only."""

from __future__ import annotations

import signal
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from e2e.cli_clinic import build, here
from support.server import client, serve_command, serving
from tacit.faces.server.accounts import Accounts
from tacit.faces.server.certificates import tls_context, tls_files
from tacit.faces.server.serving import open_hub
from tacit.policy import load_policy

FRESH = {"sql": "DP-SELECT 0.01 FRESH COUNT(*) FROM visits"}
CHEAP = {"sql": "DP-SELECT 0.002 FRESH COUNT(*) FROM visits"}  # two thousand of them, more than are asked here


@pytest.fixture
def clinic(tmp_path):
    return build(tmp_path, people=40)


def token_of(policy: Path, name: str = "ana") -> str:
    declared = load_policy(policy)
    accounts = Accounts.of(declared)
    accounts.add(name, None, policy=declared)
    return accounts.new_token(name)


def ledger(policy: Path):
    """The charges and their outcomes, and what is left of ana's."""
    hub = open_hub(policy)
    entries = hub.log("ana", limit=10_000)
    left = hub.balance("ana").analysts[0].left.epsilon
    hub.close(0)
    return [entry for entry in entries if entry.act == "charge"], left


def test_sigterm_answers_what_runs_and_ends_well(clinic):
    token = token_of(clinic)
    with serve_command(clinic) as (process, url), client(url, token) as ana, ThreadPoolExecutor(8) as pool:
        assert ana.post("/v1/query", json=FRESH).status_code == 200
        sent = [pool.submit(ana.post, "/v1/query", json=FRESH) for _ in range(40)]
        sent[0].result()
        process.send_signal(signal.SIGTERM)
        answered = 1
        for one in sent:
            with suppress(httpx.TransportError):
                answered += one.result().status_code == 200
        assert process.wait(60) == 0
    charges, left = ledger(clinic)
    assert all(charge.outcome == "settle" for charge in charges), "nothing was cut short"
    assert len(charges) >= answered
    assert left == 4 - Fraction(len(charges), 100)


def test_sigkill_anywhere_loses_budget_at_most(clinic):
    """Whatever was answered is charged; after the death the same server serves again, and the books are sound."""
    token = token_of(clinic)
    for pause in (0.0, 0.15, 0.4):
        answers, stop = [], threading.Event()
        with serve_command(clinic) as (process, url), client(url, token) as ana, ThreadPoolExecutor(4) as pool:

            def ask(ana=ana, answers=answers, stop=stop):
                while not stop.is_set():
                    try:
                        reply = ana.post("/v1/query", json=CHEAP)
                    except httpx.TransportError:
                        return
                    if reply.status_code != 200:  # the budget is spent
                        return
                    answers.append(reply.json()["id"])

            running = [pool.submit(ask) for _ in range(4)]
            while not answers and not all(one.done() for one in running):
                time.sleep(0.01)
            time.sleep(pause)
            process.kill()
            stop.set()
            for one in running:
                one.result()
        assert answers
        charges, left = ledger(clinic)
        assert left <= 4 - Fraction(len(charges), 500)
        hub = open_hub(clinic)
        settled = {entry.hash for entry in hub.log("ana", limit=10_000) if entry.act == "settle"}
        hub.close(0)
        assert set(answers) <= settled, "nothing was released that is not on record"
    assert here("ledger", "verify", cwd=clinic.parent).code == 0


def told(policy: Path, *options: str):
    """What the command says when it cannot start."""
    return here("serve", "-p", policy, *options, cwd=policy.parent)


def test_a_port_in_use_is_one_clear_line(clinic):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = told(clinic, "--http-port", str(port))
    assert ran.code == 5
    assert ran.lines[0] == f"error: port {port} of 127.0.0.1 is in use"
    assert len(ran.lines) == 2


def test_nothing_that_strangers_send_is_written_on_the_curators_screen(clinic):
    """A line for each would fill a disk; and what a library says of a failure may hold a cell."""
    with serve_command(clinic) as (process, url):
        address = httpx.URL(url)
        for sent in (b"\x16\x03\x01garbage\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n"):
            with socket.create_connection((address.host, address.port), timeout=30) as stranger:
                stranger.sendall(sent)
                assert stranger.recv(12).startswith(b"HTTP/1.1 4")
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        said = process.stdout.read()
    assert "Invalid" not in said
    assert "upgrade" not in said.lower()


def test_an_address_of_another_machine_is_one_clear_line(clinic):
    ran = told(clinic, "--host", "203.0.113.7", "--http-port", "0")
    assert ran.lines[0] == "error: 203.0.113.7 is no address of this machine"


def test_a_certificate_that_does_not_match_is_one_clear_line(clinic, tmp_path):
    first = tls_files(load_policy(clinic))
    other = tmp_path / "other"
    other.mkdir()
    second = tls_files(load_policy(build(other, people=3)))
    text = clinic.read_text()
    for key, message in (
        (second[1], "clinic.key.pem is not the key of clinic.certificate.pem"),
        (first[0], "are not a certificate and its key"),
        (tmp_path / "none.pem", "none.pem cannot be read: TLS needs it"),
    ):
        clinic.write_text(f'{text}[server]\ncertificate = "{first[0]}"\nkey = "{key}"\n')
        ran = told(clinic, "--http-port", "0")
        assert ran.code == 5
        assert message in ran.lines[0]


def test_a_self_made_certificate_is_made_once_and_its_key_is_ours_alone(clinic):
    certificate, key = tls_files(load_policy(clinic))
    before = certificate.read_bytes(), key.read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    tls_context(certificate, key)
    assert tls_files(load_policy(clinic)) == (certificate, key)
    assert (certificate.read_bytes(), key.read_bytes()) == before


def test_with_a_certificate_it_speaks_https(clinic):
    certificate, key = tls_files(load_policy(clinic))
    clinic.write_text(f'{clinic.read_text()}[server]\ncertificate = "{certificate.name}"\nkey = "{key.name}"\n')
    token = token_of(clinic)
    with serving(open_hub(clinic)) as served:
        assert served.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(certificate))
        reply = httpx.get(served.url + "/v1/budget", headers={"authorization": f"Bearer {token}"}, verify=trusted)
        assert reply.status_code == 200


def test_an_analysts_environment_serves_nothing(clinic):
    ran = told(clinic, "--as", "ana")
    assert "serving the data is the owner's" in ran.lines[0]


def test_without_the_extra_it_says_what_to_install(clinic, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ran = told(clinic)
    assert ran.lines == ["error: uvicorn is not installed", "hint: pip install 'tacit[server]'"]
