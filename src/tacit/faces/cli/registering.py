"""Commands into typer: every command of the command line is registered here, and in no other way."""

from __future__ import annotations

from collections.abc import Iterable

import typer
from typer.core import TyperGroup

from tacit.faces.cli.option_groups import spelt_out
from tacit.faces.commands import Command, by_name


class CommandGroup(TyperGroup):
    """A family whose commands may have names of two words: `anonymise check` stands beside `anonymise`."""

    def resolve_command(  # type: ignore[override]  # typer's own types are not told
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, object, list[str]]:
        """The command that the first words name; two words before one."""
        name = " ".join(args[:2])
        if len(args) > 1 and name in self.commands:
            return name, self.commands[name], args[2:]
        return super().resolve_command(ctx, args)


def register(family: typer.Typer, commands: Iterable[Command]) -> None:
    """Make the commands known, in their order."""
    for name, command in by_name(commands).items():
        family.command(name, help=command.help, short_help=command.short)(spelt_out(command.run))


def family(name: str, about: str, *, short: str, commands: Iterable[Command]) -> typer.Typer:
    """Commands under a common word, such as `tacit ledger`; the word alone shows what there is."""
    group = typer.Typer(name=name, help=about, short_help=short)

    def shown(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    group.callback(invoke_without_command=True, help=about)(shown)
    register(group, commands)
    return group
