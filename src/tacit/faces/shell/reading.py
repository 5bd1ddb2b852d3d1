"""Lines into statements: from a prompt with history and completion, or from a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.faces.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

HISTORY = "TACIT_HISTORY"


def is_complete(text: str) -> bool:
    """Whether a statement is ready to run: a command, or SQL that ends in a semicolon or an empty line."""
    stripped = text.strip()
    return not stripped or stripped[0] == "\\" or stripped[-1] == ";" or text.endswith("\n")


def statements(lines: Iterable[str]) -> Iterator[str]:
    """The statements in lines of text; the last one needs no semicolon. Lines that only comment are left out."""
    held: list[str] = []
    for line in lines:
        text = line.rstrip("\n")
        if not held and (not text.strip() or text.lstrip().startswith("--")):
            continue
        held.append(text)
        if not text.strip() or is_complete("\n".join(held)):
            yield "\n".join(held).strip()
            held = []
    if any(line.strip() for line in held):
        yield "\n".join(held).strip()


def typed(catalogue: Catalogue, *, dataset: str, toolbar: Callable[[], str]) -> Iterator[str]:
    """Statements as a person types them, until control-D. `toolbar` is read before each of them."""
    session = _session(catalogue)
    while True:
        try:
            text = session.prompt(f"{dataset}> ", bottom_toolbar=toolbar())
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if text.strip():
            yield text.strip()


def is_interactive() -> bool:
    """Whether a person sits before the screen."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _session(catalogue: Catalogue) -> PromptSession[str]:
    from prompt_toolkit import PromptSession

    from tacit.faces.shell.completion import completer

    return PromptSession(
        history=_history(),
        completer=completer(catalogue),
        complete_while_typing=True,
        multiline=True,
        prompt_continuation=lambda width, number, wrapped: " " * max(0, width - 2) + "… ",
        key_bindings=_bindings(),
    )


def _bindings() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # what was chosen stays
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    bindings.add("enter")(enter)
    return bindings


def _history() -> History:
    """The history of this person's questions, readable by nobody else; none where it cannot be written."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(os.environ.get(HISTORY) or Path(state, "tacit", "history"))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
