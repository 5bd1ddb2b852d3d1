"""Read, ask, print, and again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial

from tacit.errors import TacitError
from tacit.faces.answering import ask_or_explain
from tacit.faces.database import Database
from tacit.faces.error_handler import guarded
from tacit.faces.formatting import show
from tacit.faces.shell.commands import Quit, ShellState, run_command
from tacit.faces.shell.reading import is_interactive, statements, typed
from tacit.faces.terminal import print_lines, working


def run_shell(database: Database) -> int:
    """Answer until there are no more questions. From a pipe: the exit code of the first one that failed, else 0."""
    state = ShellState(database)
    if not is_interactive():
        return _answer_all(statements(sys.stdin), state)
    print_lines(f"{database.schema.dataset}, asked by {database.analyst}. \\h is the help, \\q leaves.")
    _answer_all(typed(database.schema, dataset=database.schema.dataset, toolbar=lambda: _left(database)), state)
    return 0


def _answer_all(texts: Iterable[str], state: ShellState) -> int:
    """Every statement in turn; one that fails does not stop the next. The first exit code that is not 0."""
    first = 0
    for text in texts:
        try:
            code = guarded(partial(_answer, text, state))
        except Quit:
            break
        first = first or code
    return first


def _answer(text: str, state: ShellState) -> int:
    if text.startswith("\\"):
        run_command(text, state)
        return 0
    with working("asking"):
        answer = ask_or_explain(state.database, text)
    show(answer, state.form)
    return 0


def _left(database: Database) -> str:
    """What the line at the bottom says; a ledger that cannot be read says so when it is asked."""
    try:
        rows = [account.row() for account in database.budget.accounts]
    except TacitError:
        return ""
    return "left: " + " · ".join(f"{row[0]} {row[2]}" for row in rows)
