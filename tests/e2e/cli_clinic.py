"""A small clinic with a canary in every cell that could hold one, and the command line run on it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

SOURCE = Path(__file__).parents[2] / "src"
CANARY = "CANARY"  # in cells of text
NUMBERS = ("987654", "31415926")  # in cells of numbers

POLICY = """\
[dataset]
name = "clinic"
engine = "duckdb"
source = { visits = "visits.parquet", cities = "cities.csv" }
[budget]
epsilon = 10
delta = 1e-6
[analysts.ana]
epsilon = 4
[analysts.ben]
epsilon = 2
groups = ["students"]
[groups.students]
epsilon = 1
[tables.visits]
unit = "patient_id"
max_groups = 3
max_rows = 4
[tables.visits.columns]
amount = { lower = 0, upper = 500, step = 0.01 }
age = { lower = 18, upper = 90, step = 1, domain = "range" }
dept = { domain = ["CS", "Econ", "Bio"] }
city = {}
secret = { hidden = true }
[tables.cities]
public = true
"""


def build(directory: Path, *, people: int = 300) -> Path:
    """The policy's path; the data lie beside it."""
    with closing(duckdb.connect()) as connection:
        connection.execute(f"""COPY (
            SELECT '{CANARY}-id-' || i // 2 AS patient_id,
                CASE WHEN i % 7 = 0 THEN {NUMBERS[0]}.25 ELSE i % 400 END AS amount,
                CASE WHEN i % 11 = 0 THEN {NUMBERS[1]} ELSE 18 + i % 70 END AS age,
                CASE i % 4 WHEN 0 THEN 'CS' WHEN 1 THEN 'Econ' WHEN 2 THEN 'Bio' ELSE '{CANARY}-dept' END AS dept,
                '{CANARY}-city-' || i AS city, '{CANARY}-secret-' || i AS secret
            FROM range({2 * people}) AS made(i)) TO '{directory / "visits.parquet"}' (FORMAT parquet)""")
    (directory / "cities.csv").write_text("name\nBern\nBasel\n", encoding="utf-8")
    path = directory / "tacit.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """What was said on standard error."""
        return self.err.splitlines()


def environment(**variables: str) -> dict[str, str]:
    """The environment of a command: this one's, without what steers tacit."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_")}
    return {**kept, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error", "COLUMNS": "80", **variables}


def tacit(*arguments: str | Path, cwd: Path, stdin: str = "", **variables: str) -> Ran:
    """Run the real command in a process of its own. It takes a second or two: `here` does for most questions."""
    done = subprocess.run(
        [sys.executable, "-m", "tacit", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def here(*arguments: str | Path, cwd: Path, stdin: str = "", **variables: str) -> Ran:
    """Run the same command in this process."""
    from tacit.faces.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        patch.dict(os.environ, environment(**variables), clear=True),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main(list(map(str, arguments)))
    return Ran(code, out.getvalue(), err.getvalue())
