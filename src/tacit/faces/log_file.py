"""The curator's log: where what may hold cells goes, if the curator named a file for it, and nowhere else."""

from __future__ import annotations

import logging
import os
from typing import TextIO

from tacit.errors import InvalidParameter

VARIABLE = "TACIT_LOG"
_NAMES = ("tacit.engine", "tacit.ledger", "tacit.door", "uvicorn")

log = logging.getLogger("tacit.door")
for _silent in (log, logging.getLogger("uvicorn")):  # which writes a line for whatever a stranger sends
    _silent.addHandler(logging.NullHandler())
    _silent.propagate = False


class _PrivateFile(logging.StreamHandler[TextIO]):
    """A log that only its owner can read, and that fails in silence: a failure's own words would hold the record."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the base class's name
        """Say nothing."""


def open_log() -> None:
    """Send the curator's log to the file that TACIT_LOG names; without it, what engines say is said to nobody."""
    path = os.environ.get(VARIABLE)
    if not path or any(isinstance(known, _PrivateFile) for known in log.handlers):
        return
    try:
        file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise InvalidParameter(
            f"the curator's log cannot be written: {error.strerror}", hint=f"see {VARIABLE}"
        ) from None
    handler = _PrivateFile(file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    for name in _NAMES:
        logging.getLogger(name).addHandler(handler)
