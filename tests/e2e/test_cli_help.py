"""Help that teaches: every command has a page, and its examples are commands that exist."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from e2e.cli_clinic import here, tacit
from tacit.faces.cli.app import EXAMPLES

COMMANDS = ("init", "check", "calibrate", "query", "explain", "shell", "budget", "sql", "demo")


def test_the_first_page_names_every_command(tmp_path: Path) -> None:
    ran = tacit("--help", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert all(f"\n  {command}" in ran.out for command in (*COMMANDS, "ledger"))
    assert here(cwd=tmp_path).out == ran.out, "no command at all shows the same page"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_that_can_be_read(tmp_path: Path, command: str) -> None:
    ran = here(command, "--help", cwd=tmp_path)
    assert ran.code == 0
    lines = [line for line in EXAMPLES[command].splitlines() if line.strip()]
    assert lines
    for line in lines:
        assert line in ran.out, "an example stands on one line, to be copied"
        words = shlex.split(line.partition("<")[0])
        assert words[:2] == ["tacit", command]
        options = [word for word in words[2:] if word.startswith("-")]
        assert all(f"{option} " in ran.out or f"{option}," in ran.out or f"{option}\n" in ran.out for option in options)


@pytest.mark.parametrize("command", ["log", "verify", "accept"])
def test_the_ledgers_commands_have_pages_too(tmp_path: Path, command: str) -> None:
    ran = here("ledger", command, "--help", cwd=tmp_path)
    assert ran.code == 0
    assert "--policy" in ran.out


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert here("--version", cwd=tmp_path).out.startswith("tacit ")
