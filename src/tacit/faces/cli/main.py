"""Where every command starts and ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tacit.errors import InvalidParameter
from tacit.faces.error_handler import INTERRUPTED, guarded, noting_interrupts
from tacit.faces.log_file import open_log

BROKEN_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # an ε on a screen that has none is no reason to fail
    try:
        with noting_interrupts():
            return guarded(lambda: _run(list(sys.argv[1:] if arguments is None else arguments)))
    except BrokenPipeError:  # whoever read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _run(arguments: list[str]) -> int:
    import typer

    from tacit.faces.cli.app import app

    open_log()
    try:
        code = app(args=arguments, prog_name="tacit", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        code = INTERRUPTED
    except typer.TyperException as error:  # a command line that cannot be read
        raise InvalidParameter(_first_small(error.format_message()), hint=_help_for(error)) from None
    if code == INTERRUPTED:  # typer has already caught it
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _first_small(text: str) -> str:
    text = text.strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _help_for(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{getattr(context, 'command_path', 'tacit')} --help shows how"
