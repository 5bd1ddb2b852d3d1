"""Options that commands share: declared once, and read as if each command had spelt them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from tacit.faces.cli.option_groups import spelt_out
from tacit.faces.cli.registering import register
from tacit.faces.commands import Command

seen: list[tuple[object, ...]] = []


@dataclass(frozen=True, slots=True)
class Cost:
    epsilon: Annotated[str, typer.Option("--eps", help="The price.")]
    delta: Annotated[str | None, typer.Option("--delta", help="The delta.")] = None


def pay(
    table: Annotated[str, typer.Argument(metavar="TABLE")],
    *,
    cost: Cost,
    times: Annotated[int, typer.Option("--times")] = 1,
) -> None:
    """Pay for a table."""
    seen.append((table, cost, times))


@pytest.fixture(name="app")
def _app() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None)
    register(app, [Command("pay", pay, "pay"), Command("also", pay, "pay as well")])
    return app


def test_a_group_is_given_whole_and_the_other_options_are_as_they_were(app: typer.Typer) -> None:
    seen.clear()
    assert CliRunner().invoke(app, ["pay", "t", "--eps", "1", "--times", "3"]).exit_code == 0
    assert CliRunner().invoke(app, ["also", "--delta", "1e-9", "--eps", "2", "u"]).exit_code == 0
    assert seen == [("t", Cost("1"), 3), ("u", Cost("2", "1e-9"), 1)]


def test_its_options_stand_in_help_where_the_group_stands_and_what_must_be_there_must(app: typer.Typer) -> None:
    shown = CliRunner().invoke(app, ["pay", "--help"]).output
    assert "cost" not in shown.lower()
    assert "Pay for a table." in shown
    assert shown.index("--eps") < shown.index("--delta") < shown.index("--times")
    missing = CliRunner().invoke(app, ["pay", "t"])
    assert missing.exit_code == 2
    assert "--eps" in missing.output


def test_a_command_without_groups_is_left_alone() -> None:
    def plain(table: str) -> None:
        """Nothing."""

    assert spelt_out(plain) is plain
