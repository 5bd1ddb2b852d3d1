"""Accounts: what the file keeps, what it lets in, and what a stranger can learn from it."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.cli_clinic import build, environment, here
from tacit.errors import PolicyError
from tacit.faces.server import accounts as accounts_module
from tacit.faces.server import scram
from tacit.faces.server.accounts import Accounts, Principal
from tacit.faces.server.scram import ScramVerifier, prepared
from tacit.policy import load_policy

PASSWORD = "correct horse"


@pytest.fixture
def clinic(tmp_path):
    return load_policy(build(tmp_path, people=3))


@pytest.fixture
def accounts(clinic):
    made = Accounts.of(clinic)
    made.add("ana", PASSWORD, policy=clinic)
    return made


def test_a_verifier_is_that_of_rfc_7677():
    client = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    salt = "W22ZaJ0SNY7soEsUEjb6gQ=="
    import base64

    made = ScramVerifier.of("pencil", salt=base64.b64decode(salt), iterations=4096)
    message = f"{client},r={nonce},s={salt},i=4096,c=biws,r={nonce}".encode()
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    signature = hmac.digest(made.stored_key, message, "sha256")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == made.stored_key
    server = base64.b64encode(hmac.digest(made.server_key, message, "sha256"))
    assert server == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    ("typed", "hashed"),
    [
        ("I\u00adX", "IX"),  # the examples of RFC 4013
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("\u0007", "\u0007"),  # refused by SASLprep: as it is
        ("\u0627\u0031", "\u0627\u0031"),
        ("u\u0308ber", "\u00fcber"),
        ("a\u00a0b", "a b"),
        ("pass🐎word", "pass🐎word"),
    ],
)
def test_passwords_are_prepared_as_clients_do_it(typed, hashed):
    assert prepared(typed) == hashed


def test_the_right_password_lets_in_and_no_other(accounts):
    assert accounts.check("ana", PASSWORD) == Principal("ana", "analyst")
    assert accounts.check("ANA", PASSWORD) == Principal("ana", "analyst"), "names are the policy's, whatever their case"
    for name, password in (("ana", PASSWORD + " "), ("ana", ""), ("ben", PASSWORD), ("", ""), ("ana", "x" * 100_000)):
        assert accounts.check(name, password) is None


def test_the_file_is_its_owners_alone_and_holds_neither_password_nor_token(accounts):
    token = accounts.new_token("ana", note="nightly")
    assert stat.S_IMODE(accounts.path.stat().st_mode) == 0o600
    text = accounts.path.read_text()
    assert PASSWORD not in text
    assert token not in text
    assert token.removeprefix("tacit_") not in text
    assert json.loads(text)["accounts"]["ana"]["tokens"][0]["note"] == "nightly"
    assert not list(accounts.path.parent.glob(".*.new"))


def test_the_file_lies_beside_the_ledger_and_beside_the_policy_where_that_is_a_server(clinic, tmp_path):
    assert Accounts.of(clinic).path == tmp_path / "clinic.accounts"
    text = (tmp_path / "tacit.toml").read_text()
    (tmp_path / "there").mkdir()
    (tmp_path / "tacit.toml").write_text(text.replace("[budget]", 'ledger = "there/x.ledger"\n[budget]'))
    assert Accounts.of(load_policy(tmp_path / "tacit.toml")).path == tmp_path / "there" / "clinic.accounts"
    (tmp_path / "tacit.toml").write_text(text.replace("[budget]", 'ledger = "postgresql://db/books"\n[budget]'))
    assert Accounts.of(load_policy(tmp_path / "tacit.toml")).path == tmp_path / "clinic.accounts"


def test_a_token_lets_in_until_it_is_revoked(accounts):
    token, other = accounts.new_token("ana"), accounts.new_token("ana")
    assert token != other
    assert accounts.by_token(token) == Principal("ana", "analyst")
    accounts.revoke_token("ana", hashlib.sha256(token.encode()).hexdigest()[:8])
    assert accounts.by_token(token) is None
    assert accounts.by_token(other) == Principal("ana", "analyst")
    for wrong in ("", "tacit_", other[:-1], other + "=", other.upper(), "x" * 10**6, "\ud800", "\0"):
        assert accounts.by_token(wrong) is None


def test_a_token_that_is_not_named_exactly_is_not_revoked(accounts):
    tokens = [accounts.new_token("ana") for _ in range(2)]
    for mark in ("", "zz", PASSWORD):
        with pytest.raises(PolicyError, match="is not one token of ana"):
            accounts.revoke_token("ana", mark)
    assert all(map(accounts.by_token, tokens))


def test_a_removed_account_is_out_with_its_tokens(accounts):
    token = accounts.new_token("ana")
    accounts.remove("Ana")
    assert accounts.check("ana", PASSWORD) is None
    assert accounts.by_token(token) is None
    with pytest.raises(PolicyError, match="'ana' has no account"):
        accounts.remove("ana")


def test_a_changed_password_replaces_the_old_one(accounts):
    accounts.set_password("ana", "battery staple")
    assert accounts.check("ana", PASSWORD) is None
    assert accounts.check("ana", "battery staple") is not None


def test_an_analyst_that_the_policy_does_not_name_is_refused(accounts, clinic):
    with pytest.raises(PolicyError, match="no analyst 'eve'"):
        accounts.add("eve", PASSWORD, policy=clinic)
    assert accounts.add("eve", PASSWORD, policy=clinic, role="curator") == Principal("eve", "curator")
    with pytest.raises(PolicyError, match="has an account already"):
        accounts.add("ANA", PASSWORD, policy=clinic)


@pytest.mark.parametrize("password", ["", "short12", "x" * 1025, "tab\tin the middle", "new\nline there"])
def test_a_password_that_is_none_is_refused(accounts, password):
    with pytest.raises(PolicyError, match="the password"):
        accounts.set_password("ana", password)
    assert accounts.check("ana", PASSWORD) is not None


def test_names_without_an_account_show_what_one_with_an_account_would(accounts, clinic):
    known, strange = accounts.scram("ana"), accounts.scram("nobody")
    assert strange == accounts.scram("NoBody") == Accounts.of(clinic).scram("nobody"), "stable, over processes too"
    assert strange != accounts.scram("nobody2")
    sizes = [(len(one.salt), one.iterations, len(one.stored_key), len(one.server_key)) for one in (known, strange)]
    assert sizes[0] == sizes[1] == (16, scram.ITERATIONS, 32, 32)
    assert not strange.accepts("")


def test_a_wrong_name_costs_the_same_work_as_a_wrong_password(accounts, clinic, monkeypatch):
    """Counted, not timed: each check derives one key, of the same number of iterations."""
    work = []
    derive = hashlib.pbkdf2_hmac
    monkeypatch.setattr(scram.hashlib, "pbkdf2_hmac", lambda *a: work.append(a[-1]) or derive(*a))
    accounts.add("ben", None, policy=clinic)
    for name, password in (("ana", PASSWORD), ("ana", "wrong"), ("eve", PASSWORD), ("ben", "no password is good")):
        work.clear()
        accounts.check(name, password)
        assert work == [scram.ITERATIONS]


def test_an_account_without_a_password_is_let_in_by_tokens_alone(accounts, clinic):
    accounts.add("ben", None, policy=clinic)
    assert accounts.check("ben", "") is None
    assert accounts.by_token(accounts.new_token("ben")) == Principal("ben", "analyst")


def test_a_change_by_another_process_is_seen_at_once(accounts, clinic):
    other = Accounts.of(clinic)
    assert other.check("ana", PASSWORD) is not None
    token = accounts.new_token("ana")
    assert other.by_token(token) is not None
    accounts.remove("ana")
    assert other.by_token(token) is None


def test_without_a_file_nobody_is_let_in_and_nothing_is_written(clinic):
    accounts = Accounts.of(clinic)
    assert accounts.check("ana", PASSWORD) is None
    assert accounts.scram("ana") == accounts.scram("ana")
    assert accounts.all() == ()
    assert not accounts.path.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b'{"format": 2}', b"\xff", b'{"format":1,"secret":"","accounts":{"a":{}}}', b"[" * 9999],
)
def test_a_file_that_is_none_of_ours_lets_nobody_in(accounts, content):
    accounts.path.write_bytes(content)
    with pytest.raises(PolicyError, match=r"clinic\.accounts is not a file of accounts"):
        accounts.check("ana", PASSWORD)
    with pytest.raises(PolicyError, match="is not a file of accounts"):
        accounts.new_token("ana")
    assert accounts.path.read_bytes() == content


def test_a_file_that_others_may_read_is_refused(accounts, clinic):
    accounts.path.chmod(0o640)
    with pytest.raises(PolicyError, match="can be read by others") as told:
        Accounts.of(clinic).check("ana", PASSWORD)
    assert told.value.hint == "chmod 600 clinic.accounts"


def test_a_write_that_fails_leaves_the_file_as_it_was(accounts, monkeypatch):
    before = accounts.path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(accounts_module.os, "fsync", full)
    with pytest.raises(PolicyError, match="cannot be written: No space left"):
        accounts.new_token("ana")
    assert accounts.path.read_bytes() == before
    assert sorted(path.name for path in accounts.path.parent.glob(".*")) == []


def test_many_writers_lose_nothing(accounts, tmp_path):
    program = (
        "import sys; from tacit.faces.server.accounts import Accounts; from pathlib import Path\n"
        "for _ in range(10): print(Accounts(Path(sys.argv[1])).new_token('ana'))"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, accounts.path], env=environment(), stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    tokens = [line for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert len(tokens) == 30
    assert all(map(accounts.by_token, tokens))


def test_a_repr_tells_no_key(accounts):
    assert accounts.scram("ana").stored_key.hex() not in repr(accounts.scram("ana"))
    assert repr(accounts.scram("ana").stored_key) not in repr(accounts.all())


def test_the_command_line_adds_lists_and_removes(tmp_path: Path):
    build(tmp_path, people=3)
    assert here("analyst", "add", "ana", cwd=tmp_path, stdin=PASSWORD + "\n").out == "added ana, analyst\n"
    made = here("analyst", "token", "ana", "--note", "nightly", cwd=tmp_path)
    token = made.out.strip()
    assert made.err == "it is shown this once\n"
    accounts = Accounts(tmp_path / "clinic.accounts")
    assert accounts.check("ana", PASSWORD) is not None
    assert accounts.by_token(token) is not None
    [row] = here("analyst", "list", "--format", "json", cwd=tmp_path).json
    identity = hashlib.sha256(token.encode()).hexdigest()[:8]
    assert (row["name"], row["password"], row["named"]) == ("ana", True, True)
    assert [(one["id"], one["note"]) for one in row["tokens"]] == [(identity, "nightly")]
    assert f"{identity} nightly" in here("analyst", "list", cwd=tmp_path).out
    assert here("analyst", "token", "ana", "--revoke", identity, cwd=tmp_path).code == 0
    assert accounts.by_token(token) is None
    assert here("analyst", "password", "ana", cwd=tmp_path, stdin="battery staple\n").code == 0
    assert accounts.check("ana", "battery staple") is not None
    assert here("analyst", "remove", "ana", cwd=tmp_path).out == "removed ana\n"
    assert accounts.all() == ()


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["add", "eve"], PASSWORD, "no analyst 'eve'"),
        (["add", "ana"], "", "no password: standard input is empty"),
        (["add", "ana"], "short", "the password must have from 8 to 1,024 characters"),
        (["remove", "ben"], "", "'ben' has no account"),
        (["token", "ben"], "", "'ben' has no account"),
        (["list", "--as", "ana"], "", "the list of accounts is the owner's"),
        (["add", "ana", "--as", "ana"], PASSWORD, "the list of accounts is the owner's"),
    ],
)
def test_the_command_line_refuses_in_one_line(tmp_path: Path, words, stdin, message):
    build(tmp_path, people=3)
    ran = here("analyst", *words, cwd=tmp_path, stdin=stdin)
    assert ran.code != 0
    assert ran.lines[0].startswith(f"error: {message}")
    assert not os.path.exists(tmp_path / "clinic.accounts")


def test_the_list_warns_of_an_account_that_the_policy_no_longer_names(tmp_path: Path):
    build(tmp_path, people=3)
    made = here("analyst", "add", "ana", "--token", cwd=tmp_path)
    assert made.out.splitlines()[1].startswith("tacit_")
    policy = tmp_path / "tacit.toml"
    policy.write_text(policy.read_text().replace("[analysts.ana]", "[analysts.anna]"))
    assert "the policy names no such analyst" in here("analyst", "list", cwd=tmp_path).out
