"""A command: its name, what it does, and what is said of it. On the command line and in the shell alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """What people type, and what then runs.

    A module lists its commands in a tuple `COMMANDS`. On the command line the options of a command are the parameters
    of `run`, and its help is the docstring; in the shell `run` takes the state and the rest of the line.
    """

    name: str  # one word; on the command line also two, as in "anonymise check"
    run: Callable[..., Any]
    short: str  # a line in a list of commands
    examples: str = ""  # lines to be copied
    also: tuple[str, ...] = ()  # other names
    about: str = ""  # what help says, where the docstring would be too long

    @property
    def help(self) -> str:
        """What it does, from the docstring of what runs; and the examples."""
        examples = "".join(f"\n  {line.strip()}" for line in self.examples.strip().splitlines())
        said = self.about or inspect.cleandoc(self.run.__doc__ or "")
        return said.rstrip() + (f"\n\n\b\nExamples:{examples}\n" if examples else "")


def by_name(commands: Iterable[Command]) -> dict[str, Command]:
    """The commands under all of their names."""
    named: dict[str, Command] = {}
    for name, command in _named(commands):
        if name in named:
            raise ValueError(f"two commands are called {name!r}")
        named[name] = command
    return named


def _named(commands: Iterable[Command]) -> Iterator[tuple[str, Command]]:
    for command in commands:
        yield from ((name, command) for name in (command.name, *command.also))
