"""The shell, from a pipe and on a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import stat
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from e2e.cli_clinic import build, environment, here, tacit

PATIENCE = 60.0


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("clinic")
    build(directory)
    return directory


def test_statements_from_a_pipe_are_answered_in_turn(clinic: Path) -> None:
    script = """\
-- a comment
\\format csv
DP-SELECT 0.1 dept, COUNT(*) AS n
FROM visits GROUP BY dept;

\\explain DP-SELECT 0.1 COUNT(*) FROM visits
EXPLAIN DP-SELECT 0.1 SUM(amount) FROM visits
"""
    ran = here("shell", "--as", "ana", cwd=clinic, stdin=script.replace("\\format csv", "\\format markdown"))
    assert ran.code == 2, "an explanation has no markdown form: the exit code is the first failure's"
    ran = tacit("shell", "--as", "ana", cwd=clinic, stdin=script.replace("\nEXPLAIN", "\n\\format json\nEXPLAIN"))
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "dept,n,n_error"
    assert lines[4].startswith("price")
    assert '"sql": "SELECT' in lines[-1]


def test_what_fails_does_not_stop_the_rest_and_is_told_at_the_end(clinic: Path) -> None:
    script = "DP-SELECT nothing;\n\\nonsense\n\\budget\n\\q\nDP-SELECT 0.1 FRESH COUNT(*) FROM visits;\n"
    ran = here("shell", "--as", "ana", cwd=clinic, stdin=script)
    assert ran.code == 3
    assert [line.partition(":")[0] for line in ran.lines] == ["error", "hint", "error", "hint"]
    assert "there is no command \\nonsense" in ran.err
    assert "analyst ana" in ran.out
    assert "count" not in ran.out, "after \\q nothing is asked"


def test_a_session_can_set_what_a_plain_select_costs(clinic: Path) -> None:
    plain = "SELECT COUNT(*) AS n FROM visits WHERE age > 40;"
    ran = here("shell", "--as", "ana", cwd=clinic, stdin=f"{plain}\n\\epsilon 0.2\n{plain}")
    assert ran.code == 3
    assert "the query has no price" in ran.lines[0]
    assert "cost ε = 0.2" in ran.out


def test_the_schema_that_is_described_is_the_public_one(clinic: Path) -> None:
    ran = here("shell", "--as", "ana", cwd=clinic, stdin="\\d visits\n\\d nowhere\n")
    assert "amount" in ran.out
    assert "one of CS, Econ, Bio" in ran.out
    assert "secret" not in ran.out
    assert "there is no table 'nowhere'" in ran.err


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, directory: Path, **variables: str) -> None:
        self.screen = ""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self._fd = ours
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tacit", "shell", "--as", "ana"],
            cwd=directory,
            env=environment(TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1", **variables),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def until(self, text: str) -> str:
        """Everything printed until `text` has been, since the last time."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.screen:
            if not select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} did not appear: {self.screen[-2000:]!r}")
            try:
                self.screen += os.read(self._fd, 65536).decode(errors="replace")
            except OSError as error:  # the other end is closed
                raise AssertionError(f"{text!r} did not appear: {self.screen[-2000:]!r}") from error
        seen, _, self.screen = self.screen.partition(text)
        return seen

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def close(self) -> int:
        code = self.process.wait(PATIENCE)
        os.close(self._fd)
        return code


def test_on_a_terminal_there_are_completion_history_and_errors_but_no_end(clinic: Path, tmp_path: Path) -> None:
    history = tmp_path / "state" / "history"
    terminal = Terminal(clinic, TACIT_HISTORY=str(history))
    terminal.until("clinic>")
    terminal.type("DP-SELECT 0.1 COUNT(*) AS people\r")  # no semicolon: the question goes on
    terminal.until("…")
    terminal.type("FROM vis")
    terminal.until("visits")  # a menu from the public schema
    terminal.type("\t;\r")
    terminal.until("hides one patient_id")
    terminal.until("clinic>")
    terminal.type("nonsense;\r")
    terminal.until("NONSENSE is refused")
    terminal.until("clinic>")
    terminal.type("\x1b[A\x1b[A\r")  # the question before the last
    terminal.until("reused: the same question, free")
    terminal.until("clinic>")
    terminal.type("\\q\r")
    assert terminal.close() == 0
    assert "visits" in history.read_text(encoding="utf-8")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
