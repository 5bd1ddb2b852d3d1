"""Ledgers under attack: raced for by many processes, and edited behind their back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import tacit.ledger

PROCESSES, CLIENTS = 8, 8
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(tacit.ledger.__file__).parents[2])}


def race(program: Path, *words: str) -> int:
    """How many answers were released by as many processes that all begin at once."""
    command = [sys.executable, str(program), *words]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        for _ in range(PROCESSES)
    ]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * PROCESSES
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=300)[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * PROCESSES
    return sum(int(count) for count in said)


def forger(path: Path) -> Callable[..., int]:
    """What runs SQL on a ledger's file, with every rule switched off, and says how many lines that changed."""

    def run(sql: str, *values: object) -> int:
        connection = sqlite3.connect(path)
        try:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute("PRAGMA foreign_keys = OFF")
            with connection:
                return connection.execute(sql, values).rowcount
        finally:
            connection.close()

    return run
