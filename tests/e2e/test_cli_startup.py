"""Commands that touch no data wait for no database: what each of them loads, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.cli_clinic import build, environment, here

HEAVY = ("duckdb", "sqlglot", "numpy", "scipy", "pandas", "pyarrow", "matplotlib", "cryptography", "prompt_toolkit")
RUN = f"""
import json, sys
from tacit.faces.cli.main import main
code = main(sys.argv[1:])
print(json.dumps([code, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a policy, and a ledger in which something stands."""
    directory = tmp_path_factory.mktemp("clinic")
    build(directory, people=20)
    assert here("query", "--as", "ana", "DP-SELECT 0.1 COUNT(*) FROM visits", cwd=directory).code == 0
    return directory


def loaded(directory: Path, *arguments: str) -> list[str]:
    """Which heavy packages a command loads; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
        cwd=directory,
    )
    code, names = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return list(names)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("query", "--help"),
        ("budget",),
        ("budget", "--as", "ana", "--format", "json"),
        ("ledger", "log"),
        ("ledger", "log", "--format", "json"),
        ("ledger", "verify"),
    ],
    ids=" ".join,
)
def test_a_command_that_touches_no_data_loads_no_database(clinic: Path, arguments: tuple[str, ...]) -> None:
    assert loaded(clinic, *arguments) == []


def test_a_question_does_load_them(clinic: Path) -> None:
    found = loaded(clinic, "query", "--as", "ana", "DP-SELECT 0.1 COUNT(*) FROM visits")
    assert {"duckdb", "sqlglot"} <= set(found)
