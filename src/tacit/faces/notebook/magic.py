"""The magics `%tacit` and `%%tacit`: a door in one line, a question in a cell, an answer with its error bars."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from typing import Any, NoReturn

from tacit.curator import Explanation, Release
from tacit.errors import InvalidParameter
from tacit.faces.answering import ask_or_explain
from tacit.faces.catalogue import Catalogue
from tacit.faces.database import Database, open_database

_NAMED = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")
USAGE = """\
%tacit tacit.toml --as ana                   open a policy
%tacit https://dp.example.org:8080           open a server; the token is in TACIT_TOKEN
%tacit                                       what is left of the budget
%tacit schema                                the tables
%%tacit [--epsilon 0.1] [--into NAME]        ask: the cell is the question; :name is a variable of the notebook
"""


class TacitMagic:
    """What the two magics do, for one notebook."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.database: Database | None = None

    def line(self, line: str) -> object:
        """`%tacit`: open a door, or look at what is behind it."""
        words = _words(line)
        if not words:
            return self._opened().budget
        if words == ["schema"]:
            return _Shown(self._opened().schema)
        options = _read(_door_options(), words)
        token = os.environ.get("TACIT_TOKEN") if options.address.startswith("http") else None
        database = open_database(
            options.address,
            analyst=options.analyst,
            token=token,
            default_epsilon=options.epsilon,
            ca=options.ca,
            fingerprint=options.fingerprint,
        )
        if self.database is not None:
            self.database.close()
        self.database = database
        return database

    def cell(self, line: str, cell: str) -> Release | Explanation:
        """`%%tacit`: ask. Variables of the notebook are parameters, never text."""
        options = _read(_cell_options(), _words(line))
        database = self._opened()
        names = [name for name in dict.fromkeys(_NAMED.findall(cell)) if name in self._shell.user_ns]
        before = database.default_epsilon
        try:
            if options.epsilon is not None:
                database.default_epsilon = options.epsilon
            answer = ask_or_explain(
                database, cell.strip().rstrip(";"), {name: self._shell.user_ns[name] for name in names}
            )
        finally:
            database.default_epsilon = before
        if options.into is not None:
            self._shell.user_ns[options.into] = answer
        return answer

    def _opened(self) -> Database:
        if self.database is None:
            raise InvalidParameter("no door is open yet", hint="%tacit tacit.toml --as ana")
        return self.database


class _Shown:
    """The schema, laid out as text."""

    def __init__(self, schema: Catalogue) -> None:
        self._schema = schema

    def __repr__(self) -> str:
        return str(self._schema)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidParameter(f"the magic cannot be read: {message}", hint=USAGE)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise InvalidParameter(message or "nothing is asked", hint=USAGE)


def _door_options() -> _Parser:
    parser = _Parser(prog="%tacit", add_help=False)
    parser.add_argument("address")
    parser.add_argument("--as", dest="analyst")
    for name in ("--epsilon", "--ca", "--fingerprint"):
        parser.add_argument(name)
    return parser


def _cell_options() -> _Parser:
    parser = _Parser(prog="%%tacit", add_help=False)
    parser.add_argument("--epsilon")
    parser.add_argument("--into")
    return parser


def _read(parser: _Parser, words: list[str]) -> argparse.Namespace:
    return parser.parse_args(words)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        raise InvalidParameter("a quote is left open", hint=USAGE) from None


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tacit` calls."""
    magic = TacitMagic(shell)

    def tacit(line: str, cell: str | None = None) -> object:
        return magic.line(line) if cell is None else magic.cell(line, cell)

    tacit.__doc__ = USAGE
    shell.register_magic_function(tacit, magic_kind="line_cell", magic_name="tacit")


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext tacit` calls; the door stays open for whoever holds it."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("tacit", None)
