"""Errors at the door: two lines and an exit code, never a traceback."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tacit.errors import TacitError
from tacit.faces.log_file import VARIABLE, log
from tacit.faces.terminal import print_error

INTERRUPTED = 130
_interrupted = threading.Event()


class _Interrupted(TacitError):
    """A person wants it to stop."""

    exit_code = INTERRUPTED


class _Unexpected(TacitError):
    """Something that should not happen, happened. What it was may hold cells, so it is told to the log alone."""


@contextmanager
def noting_interrupts() -> Iterator[None]:
    """Remember an interrupt: an engine may turn it into an error of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _interrupted.set()
    raise KeyboardInterrupt


def guarded(act: Callable[[], int]) -> int:
    """The exit code of `act`. An error is printed as `error: …` and `hint: …`, one line each."""
    _interrupted.clear()
    try:
        return act()
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001, RUF100 - whatever it is, it may hold cells
        told = _told(error)
    print_error(told)
    return told.exit_code


def _told(error: BaseException) -> TacitError:
    """What may be said of an error."""
    if _interrupted.is_set() or isinstance(error, KeyboardInterrupt):
        return _Interrupted("interrupted: what was charged stays charged")
    if isinstance(error, TacitError):
        return error
    log.error("%s: %s", type(error).__name__, error, exc_info=error)
    hint = f"the curator's log says what; set {VARIABLE} to a file to keep one"
    return _Unexpected("something went wrong inside tacit", hint=hint)
