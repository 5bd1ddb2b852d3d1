"""The shell's own commands, each a backslash and a word."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import InvalidParameter
from tacit.faces.commands import Command, by_name
from tacit.faces.database import Database
from tacit.faces.entries import HEADINGS, entry_row
from tacit.faces.formats import OutputFormat
from tacit.faces.formatting import show
from tacit.faces.terminal import print_lines, print_table

ABOUT = r"""Questions end with a semicolon or an empty line:
    DP-SELECT 0.5 COUNT(*) FROM visits;                             a price, and what is asked
    DP-SELECT 0.5 dept, AVG(amount) FROM visits GROUP BY dept;
    DP-SELECT WITHIN 100 COUNT(*) FROM visits;                      an accuracy, for the least price
    EXPLAIN DP-SELECT …;                                            the price and the error, free
"""


class Quit(BaseException):
    """The person wants to leave. Like an interrupt, it is no error."""


@dataclass(slots=True)
class ShellState:
    """What the shell remembers between questions."""

    database: Database
    form: OutputFormat = OutputFormat.TABLE


def run_command(line: str, state: ShellState) -> None:
    """Do what the line says."""
    word, _, rest = line[1:].partition(" ")
    command = NAMED.get(word.strip().lower())
    if command is None:
        raise InvalidParameter(f"there is no command \\{word.strip()[:40]}", hint="\\h shows what there is")
    command.run(state, rest.strip().rstrip(";"))


def _help(state: ShellState, rest: str) -> None:
    width = max(len(command.name) for command in COMMANDS)
    print_lines(*ABOUT.split("\n"), *(f"  \\{command.name.ljust(width)}  {command.short}" for command in COMMANDS))


def _describe(state: ShellState, rest: str) -> None:
    schema = state.database.schema
    print_lines(*str(schema.table(rest) if rest else schema).split("\n"))


def _budget(state: ShellState, rest: str) -> None:
    print_table(("budget", "spent", "left", "of"), [account.row() for account in state.database.budget.accounts])


def _log(state: ShellState, rest: str) -> None:
    rows = [entry_row(entry) for entry in state.database.log if entry.act == "charge"]
    print_table(HEADINGS, rows)


def _explain(state: ShellState, rest: str) -> None:
    show(state.database.explain(rest), OutputFormat.JSON if state.form is OutputFormat.JSON else OutputFormat.TABLE)


def _sql(state: ShellState, rest: str) -> None:
    show(state.database.explain(rest), OutputFormat.TABLE, sql=True)


def _format(state: ShellState, rest: str) -> None:
    known = [form.value for form in OutputFormat if form is not OutputFormat.PARQUET]
    if rest not in known:
        raise InvalidParameter(f"there is no format {rest[:40]!r}", hint=f"there is {', '.join(known)}")
    state.form = OutputFormat(rest)


def _epsilon(state: ShellState, rest: str) -> None:
    state.database.default_epsilon = rest or None
    price = state.database.default_epsilon
    print_lines("a plain SELECT has the policy's price" if price is None else f"a plain SELECT costs ε = {rest}")


def _quit(state: ShellState, rest: str) -> None:
    raise Quit


COMMANDS = (
    Command("h", _help, "this help", also=("?", "help")),
    Command("d", _describe, "what may be asked about: \\d, or \\d TABLE"),
    Command("budget", _budget, "what is spent and left"),
    Command("explain", _explain, "the price and error of a question, free: \\explain DP-SELECT …"),
    Command("sql", _sql, "the same, and the SQL that would run: \\sql DP-SELECT …"),
    Command("log", _log, "what was asked before"),
    Command("format", _format, "how answers are printed: \\format table, json, csv or markdown"),
    Command("epsilon", _epsilon, "what a plain SELECT costs: \\epsilon 0.1"),
    Command("q", _quit, "leave", also=("quit",)),
)
NAMED = by_name(COMMANDS)
