"""`tacit budget` and `tacit ledger`: what was spent, and the proof of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.errors import LedgerError
from tacit.faces.cli.options import POLICY, Analyst, PlainOption, PolicyFile
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table, show_json, working


def budget(*, policy: PolicyFile = POLICY, analyst: Analyst = None, form: PlainOption = Plain.TABLE) -> None:
    """What is spent and what is left: of one analyst with --as, else of everyone."""
    from tacit.faces import owner

    status = owner.budget(policy, analyst=analyst)
    if form is Plain.JSON:
        show_json(status.to_dict())
    else:
        print_table(("budget", "spent", "left", "of"), [account.row() for account in status.accounts])


def show_log(
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="COUNT", help="The newest so many.")] = 50,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Print the newest entries, of one analyst or of all."""
    from tacit.faces import owner
    from tacit.faces.entries import HEADINGS, entry_row, plain_entry

    entries = owner.log(policy, analyst=analyst, limit=limit)
    if form is Plain.JSON:
        show_json([plain_entry(entry) for entry in entries])
    else:
        print_table(HEADINGS, [entry_row(entry) for entry in entries])


def replay(
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="COUNT", help="The newest so many entries.")] = 1000,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Plan every question of the log anew, and hold its price against what was charged. No row is read; it is free."""
    from tacit.faces import owner
    from tacit.faces.entries import HEADINGS, entry_row

    owner.refuse_analyst(analyst, "an audit of everybody's questions")
    with working("replaying"):
        replayed = owner.replay(policy, limit=limit)
    if form is Plain.JSON:
        untold = {one.seq: why for one, why in replayed.untold}
        show_json(
            {"agreeing": replayed.agreeing, "differing": [one.seq for one in replayed.differing], "untold": untold}
        )
    else:
        print_lines(f"{replayed.agreeing} charges are what their questions cost")
        print_lines(*(f"entry {one.seq} cannot be told: {why}" for one, why in replayed.untold))
    if replayed.differing:
        if form is Plain.TABLE:
            print_table(HEADINGS, [entry_row(one) for one in replayed.differing])
        raise LedgerError(
            f"{len(replayed.differing)} charges are not what their questions cost, the newest is entry"
            f" {replayed.differing[0].seq}",
            hint="tacit ledger verify tells whether they were changed; else it is a mistake of tacit: report it",
        )


def verify(*, policy: PolicyFile = POLICY, form: PlainOption = Plain.TABLE) -> None:
    """Recompute every hash, total and answer; an edited, removed or rolled-back entry is found."""
    from tacit.faces import owner

    with working("verifying"):
        verdict = owner.verify(policy)
    if form is Plain.JSON:
        show_json(
            {
                "sound": verdict.sound,
                "entries": verdict.entries,
                "head": verdict.head,
                "problems": list(verdict.problems),
            }
        )
    elif verdict.sound:
        print_lines(f"sound: {verdict.entries} entries, the newest is {verdict.head[:16]}")
    else:
        print_lines(*verdict.problems)
    if not verdict.sound:
        raise LedgerError(f"the ledger is not sound: {verdict.problems[0]}", hint="restore a sound copy of it")


def backup(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="The new file: nobody else may read it.")],
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
) -> None:
    """Copy the ledger into a new file and examine the copy. A server goes on charging meanwhile."""
    from tacit.faces import owner

    owner.refuse_analyst(analyst, "a copy of everybody's answers")
    backed_up = owner.back_up(policy, copy)
    print_lines(f"sound: {backed_up.entries} entries, the newest is {backed_up.head[:16]}")


def adopt(
    *,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why: it goes on record.")],
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
) -> None:
    """Make the policy's ledger the one of its source, although another ledger has the account.

    What was spent there is not counted here and can be spent again: that is a loss of privacy, unless the data are
    others, and the entry says so for ever.
    """
    from tacit.faces import owner

    owner.refuse_analyst(analyst, "the ledger's care")
    print_lines(f"adopted; entry {owner.adopt(policy, note=note)[:16]} says so")


def accept(
    *,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why: it goes on record.")],
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
) -> None:
    """Take the ledger as it stands for the truth, although its mark says that entries are missing.

    What was charged after the point it was rolled back to is forgotten and can be spent again: that is a loss of
    privacy, and the entry says so for ever.
    """
    from tacit.faces import owner

    owner.refuse_analyst(analyst, "the ledger's care")
    print_lines(f"accepted; entry {owner.accept(policy, note=note)[:16]} says so")


COMMANDS = (
    Command(
        "budget",
        budget,
        "what is spent and left",
        examples="""
  tacit budget
  tacit budget --as ana --format json
""",
    ),
)
LEDGER = (
    Command(
        "log",
        show_log,
        "the newest entries",
        examples="""
  tacit ledger log
  tacit ledger log --as ana -n 10 --format json
""",
    ),
    Command(
        "replay",
        replay,
        "plan every question anew, and compare its price",
        examples="""
  tacit ledger replay
""",
    ),
    Command(
        "verify",
        verify,
        "prove that the entries are whole",
        examples="""
  tacit ledger verify
""",
    ),
    Command(
        "backup",
        backup,
        "copy the ledger, with the server running",
        examples="""
  tacit ledger backup /backup/clinic-monday.ledger
""",
    ),
    Command(
        "adopt",
        adopt,
        "make this ledger the one of its source",
        examples="""
  tacit ledger adopt --note "the old one was of last year's data"
""",
    ),
    Command(
        "accept",
        accept,
        "take the ledger as it stands for the truth",
        examples="""
  tacit ledger accept --note "restored from the backup of 3 May"
""",
    ),
)
