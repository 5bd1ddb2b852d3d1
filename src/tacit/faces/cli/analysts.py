"""`tacit analyst`: who may come in through the doors of `tacit serve`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter, PolicyError
from tacit.faces.cli.options import POLICY, Analyst, PlainOption, PolicyFile
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import console, print_lines, print_table, show_json

if TYPE_CHECKING:
    from tacit.faces.server.account_file import Credentials
    from tacit.faces.server.accounts import Accounts
    from tacit.policy import Policy

Name = Annotated[str, typer.Argument(metavar="NAME", help="The analyst, as the policy names them.")]
ID = 8  # letters of a token's hash that name it
ABOUT = """\
Who may come in through the doors of tacit serve: passwords and tokens, in a file beside the ledger.

A password is read from the terminal, or as one line from standard input; it is kept as a SCRAM-SHA-256 verifier.
A token is shown once; its hash is kept.
"""


def add(
    name: Name,
    *,
    policy: PolicyFile = POLICY,
    curator: Annotated[bool, typer.Option("--curator", help="The curator's own account, not an analyst's.")] = False,
    token: Annotated[bool, typer.Option("--token", help="Give a token instead of asking for a password.")] = False,
    analyst: Analyst = None,
) -> None:
    """Give an analyst of the policy an account."""
    declared, accounts = _opened(policy, analyst)
    if not curator:
        declared.analyst(name)  # before a password is asked for
    password = None if token else _password()
    who = accounts.add(name, password, policy=declared, role="curator" if curator else "analyst")
    print_lines(f"added {who.name}, {who.role}")
    if token:
        _show_token(accounts.new_token(who.name))


def show(*, policy: PolicyFile = POLICY, analyst: Analyst = None, form: PlainOption = Plain.TABLE) -> None:
    """List the accounts, with what lets them in."""
    declared, accounts = _opened(policy, analyst)
    if form is Plain.JSON:
        show_json([_plain(one, declared) for one in accounts.all()])
        return
    print_table(("account", "role", "password", "tokens", ""), [_row(one, declared) for one in accounts.all()])


def _plain(one: Credentials, policy: Policy) -> dict[str, object]:
    tokens = [{"id": token.hash[:ID], "note": token.note, "made": _day(token.at)} for token in one.tokens]
    has = one.verifier is not None
    return {"name": one.name, "role": one.role, "password": has, "tokens": tokens, "named": _is_named(policy, one)}


def _row(one: Credentials, policy: Policy) -> tuple[str, ...]:
    tokens = ", ".join(f"{token.hash[:ID]} {token.note}".strip() for token in one.tokens)
    warning = "" if _is_named(policy, one) else "the policy names no such analyst: refused at every door"
    return one.name, one.role, "no" if one.verifier is None else "yes", tokens, warning


def remove(name: Name, *, policy: PolicyFile = POLICY, analyst: Analyst = None) -> None:
    """Take an account away, with its tokens. What was charged to the analyst stays in the ledger."""
    _opened(policy, analyst)[1].remove(name)
    print_lines(f"removed {name}")


def password(name: Name, *, policy: PolicyFile = POLICY, analyst: Analyst = None) -> None:
    """Change the password of an account; its tokens stay good."""
    accounts = _opened(policy, analyst)[1]
    accounts.set_password(name, _password())
    print_lines(f"changed the password of {name}")


def token(
    name: Name,
    *,
    policy: PolicyFile = POLICY,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What it is for.")] = "",
    revoke: Annotated[
        str | None, typer.Option("--revoke", metavar="ID", help="Make this one worthless; tacit analyst list has ids.")
    ] = None,
    analyst: Analyst = None,
) -> None:
    """Make a token for programs, or revoke one. It is shown once."""
    accounts = _opened(policy, analyst)[1]
    if revoke is not None:
        accounts.revoke_token(name, revoke)
        print_lines(f"revoked {revoke} of {name}")
    else:
        _show_token(accounts.new_token(name, note=note))


def _opened(path: object, analyst: str | None) -> tuple[Policy, Accounts]:
    from tacit.faces import owner
    from tacit.faces.opening import as_policy
    from tacit.faces.server.accounts import Accounts

    owner.refuse_analyst(analyst, "the list of accounts")
    declared = as_policy(str(path))
    return declared, Accounts.of(declared)


def _is_named(policy: Policy, one: Credentials) -> bool:
    if one.role == "curator":
        return True
    try:
        policy.analyst(one.name)
    except PolicyError:
        return False
    return True


def _password() -> str:
    if not sys.stdin.isatty():
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise InvalidParameter("no password: standard input is empty", hint="--token gives a token instead")
        return line
    from getpass import getpass

    typed = getpass("password: ")
    if getpass("again: ") != typed:
        raise InvalidParameter("the two passwords differ")
    return typed


def _show_token(token: str) -> None:
    print_lines(token)
    console(error=True).print("it is shown this once")  # not among what a program reads


def _day(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


COMMANDS = (
    Command(
        "add",
        add,
        "give an analyst an account",
        examples="""
  tacit analyst add ana
  tacit analyst add ana < password.txt
  tacit analyst add robot --token
""",
    ),
    Command(
        "list",
        show,
        "the accounts, and what lets them in",
        examples="""
  tacit analyst list
  tacit analyst list --format json
""",
    ),
    Command(
        "remove",
        remove,
        "take an account away",
        examples="""
  tacit analyst remove ana
""",
    ),
    Command(
        "password",
        password,
        "change a password",
        examples="""
  tacit analyst password ana
""",
    ),
    Command(
        "token",
        token,
        "make a token for programs, or revoke one",
        examples="""
  tacit analyst token ana --note "the nightly report"
  tacit analyst token ana --revoke 3f9c12ab
""",
    ),
)
