"""What is computed from answers: run in a process of its own, which holds released rows and public tables alone."""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.engines.exact import log
from tacit.errors import QueryRefused
from tacit.noise import IntArray

MAX_ROWS = 100_000  # of what is computed
SECONDS = 5.0  # for one statement
_MEMORY = 2 << 30  # of addresses; DuckDB itself has 256 MB
_WORKER = Path(__file__).with_name("worker.py")
_MOST_PROCESSES = 2
_GRACE = 2.0  # to say that its time is over


@dataclass(frozen=True, slots=True)
class HeldTable:
    """A table of released or public rows: the names and types of its columns, and the cells of each."""

    name: str
    columns: tuple[tuple[str, str], ...]
    cells: tuple[Sequence[object], ...]


@dataclass(frozen=True, slots=True)
class CodedTable:
    """A held table of many rows and few values: of each column a list of values, and of each cell its index in that."""

    name: str
    columns: tuple[tuple[str, str], ...]
    values: tuple[Sequence[object], ...]
    codes: tuple[IntArray, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """What one SELECT over them gave."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


class ComputingFailed(Exception):
    """What is computed from answers could not be: DuckDB's own words, which can hold released cells."""


class AnswerEngine:
    """A few processes, each started when it is needed and ended when it has gone astray. Safe for many threads."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._seconds, self._lock = seconds, threading.Lock()
        self._turn = threading.BoundedSemaphore(_MOST_PROCESSES)
        self._idle: list[subprocess.Popen[bytes]] = []
        self._pid = os.getpid()

    def compute(
        self, statements: Sequence[str], tables: Sequence[HeldTable | CodedTable], *, rows: int = MAX_ROWS
    ) -> list[Computed]:
        """What each SELECT gives. Nothing of a statement stays for the next.

        Raises:
            QueryRefused: it is not one SELECT over these tables, or its value depends on more than they hold.
            ComputingFailed: it fails on these rows, or takes too long or too much memory.
        """
        request = {
            "milliseconds": int(self._seconds * 1000),
            "rows": rows,
            "sql": list(statements),
            "tables": [_plain_table(table) for table in tables],
        }
        with self._turn:
            reply = self._asked(json.dumps(request).encode() + b"\n")
        if "failed" in reply:
            raise _failure(reply["failed"], reply["text"])
        return [_computed(each) for each in reply["results"]]

    def close(self) -> None:
        """End the processes that wait for work. They end by themselves, too, when nobody can ask them any more."""
        with self._lock:
            idle, self._idle = self._idle, []
        if self._pid == os.getpid():  # after a fork they are the parent's
            for process in idle:
                _end(process)

    def _asked(self, line: bytes) -> dict[str, Any]:
        process = self._taken()
        answer = b""
        try:
            answer = _exchanged(process, line, self._seconds + _GRACE)
        except OSError as error:
            log.warning("%s: %s", type(error).__name__, error)
        finally:  # also when somebody interrupts: a late answer would be read as that to the next request
            if answer.endswith(b"\n"):
                with self._lock:
                    self._idle.append(process)
            else:
                _end(process)
        if not answer.endswith(b"\n"):
            return {"failed": "limit", "text": "it takes too long or too much memory"}
        reply: dict[str, Any] = json.loads(answer)
        return reply

    def _taken(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._pid != os.getpid():
                self._idle, self._pid = [], os.getpid()
            while self._idle:
                process = self._idle.pop()
                if process.poll() is None:
                    return process
                _end(process)
        return _started()


SHARED = AnswerEngine()
atexit.register(SHARED.close)


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # our own file, by the interpreter that runs this one
        [sys.executable, "-P", str(_WORKER), str(_MEMORY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_WORKER.parent,  # the caller's own folder may be gone tomorrow, and DuckDB ends where it has none
        env={
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path))),
            "PATH": os.environ.get("PATH", ""),
        },
        start_new_session=True,  # Ctrl-C is for who asks
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was still to be written has no reader
                pipe.close()
    process.wait()


def _exchanged(process: subprocess.Popen[bytes], line: bytes, seconds: float) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise OSError("it has no pipes")
    process.stdin.write(line)
    process.stdin.flush()
    return _line(process.stdout.fileno(), seconds)


def _line(pipe: int, seconds: float) -> bytes:
    """One line, or what there is of it when time is over or the other end is closed."""
    line = bytearray()
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([pipe], [], [], seconds)
        part = os.read(pipe, 1 << 20) if ready else b""
        if not part:
            break
        line += part
    return bytes(line)


def _failure(kind: str, text: str) -> QueryRefused | ComputingFailed:
    if kind == "refused":
        return QueryRefused(text, hint="what is computed from answers reads them and public tables, nothing else")
    first = text.split("\n", maxsplit=1)[0].partition("Error: ")
    return ComputingFailed((first[2] or first[0]) if kind == "error" else "it takes too long or too much memory")


# ── values on their way ──────────────────────────────────────────────────────────────────────────────────────────────


def _plain_table(table: HeldTable | CodedTable) -> dict[str, object]:
    about = {"name": table.name, "columns": [list(column) for column in table.columns]}
    if isinstance(table, CodedTable):
        values = [[_plain(value) for value in column] for column in table.values]
        codes = [base64.b64encode(column.astype("<i4").tobytes()).decode() for column in table.codes]
        return {**about, "values": values, "codes": codes}
    return {**about, "cells": [[_plain(cell) for cell in column] for column in table.cells]}


def _plain(cell: object) -> object:
    if isinstance(cell, (date, datetime)):
        return cell.isoformat()
    if isinstance(cell, Fraction):
        return float(cell)
    if isinstance(cell, dict):
        return {"key": [_plain(key) for key in cell], "value": [_plain(value) for value in cell.values()]}
    return [_plain(each) for each in cell] if isinstance(cell, list) else cell


def _computed(result: dict[str, Any]) -> Computed:
    rows = tuple(tuple(_value(cell) for cell in row) for row in result["rows"])
    return Computed(tuple(result["columns"]), tuple(result["types"]), rows)


def _value(plain: object) -> object:
    if isinstance(plain, list):
        return [_value(each) for each in plain]
    if isinstance(plain, dict):
        ((kind, inner),) = plain.items()
        if kind == "pairs":
            return {_hashable(_value(key)): _value(value) for key, value in inner}
        return datetime.fromisoformat(inner) if kind == "timestamp" else date.fromisoformat(inner)
    return plain


def _hashable(value: object) -> object:
    return str(value) if isinstance(value, (list, dict)) else value
