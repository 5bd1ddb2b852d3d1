"""Help that teaches: every command has a page, and its examples are commands that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from e2e.cli_clinic import here, tacit
from tacit.faces.cli import analysts, ledger_admin, registering, survey
from tacit.faces.cli.app import DEMO, FAMILIES
from tacit.faces.commands import Command, by_name
from tacit.faces.shell import commands as shell

ALONE = {command.name: command for family in FAMILIES for command in family.COMMANDS} | {"demo": DEMO}
WITHIN = {
    **{f"ledger {command.name}": command for command in ledger_admin.LEDGER},
    **{f"survey {command.name}": command for command in survey.COMMANDS},
    **{f"analyst {command.name}": command for command in analysts.COMMANDS},
}
COMMANDS = {**ALONE, **WITHIN}


def test_the_first_page_names_every_command(tmp_path: Path) -> None:
    ran = tacit("--help", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert all(f"\n  {command}" in ran.out for command in (*ALONE, "ledger", "survey", "analyst"))
    assert here(cwd=tmp_path).out == ran.out, "no command at all shows the same page"


def test_no_command_was_lost() -> None:
    assert {"init", "check", "sql", "calibrate", "query", "explain", "shell", "budget", "anonymise"} <= ALONE.keys()
    assert {"anonymise check", "demo", "ledger verify", "ledger adopt", "survey serve"} <= COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_that_can_be_read(tmp_path: Path, name: str) -> None:
    ran = here(*name.split(), "--help", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: tacit {name} [OPTIONS]")
    lines = [line for line in COMMANDS[name].examples.splitlines() if line.strip()]
    assert lines
    for line in lines:
        assert line in ran.out, "an example stands on one line, to be copied"
        words = shlex.split(line.partition("<")[0])
        assert words[: 1 + len(name.split())] == ["tacit", *name.split()]
        options = [word for word in words[2:] if re.fullmatch(r"--?[a-z][a-z-]*", word)]
        assert all(re.search(rf"{option}[ ,\n]", ran.out) for option in options)


def test_there_is_one_way_to_register_a_command() -> None:
    faces = Path(registering.__file__).parents[1]
    ways = re.compile(r"\.(command|callback|add_command|add_typer)\(")
    found = {path.relative_to(faces).as_posix(): ways.findall(path.read_text("utf-8")) for path in faces.rglob("*.py")}
    assert {name: used for name, used in found.items() if used} == {
        "cli/registering.py": ["command", "callback"],
        "cli/app.py": [
            "callback",
            "add_typer",
            "add_typer",
            "add_typer",
        ],  # of the whole: its version, and the families
    }


def test_two_commands_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two commands are called 'q'"):
        by_name([*shell.COMMANDS, Command("x", print, "", also=("q",))])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["anonymise"], "tacit anonymise --help"),
        (["anonymise", "check"], "tacit anonymise check --help"),
        (["anonymise", "chekc", "--qi", "a"], "give k, such as 5"),
        (["anonymise", "check", "x.csv", "-o", "y.csv"], "tacit anonymise check --help"),
        (["check", "anonymise"], "tacit check --help"),
    ],
)
def test_a_command_of_two_words_stands_beside_that_of_one(tmp_path: Path, words: list[str], hint: str) -> None:
    ran = here(*words, cwd=tmp_path)
    assert ran.code == 2
    assert f"hint: {hint}" in ran.err


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert here("--version", cwd=tmp_path).out.startswith("tacit ")
