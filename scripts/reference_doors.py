"""Pages of docs/reference/ about the doors: the keys of a policy, the commands, the errors. Written from what runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from tacit import errors
from tacit.policy import keys_markdown

_WRITTEN = "Written by `make docs`."
_CHARGED = {  # of each branch of the tree: what it may have cost to get it
    "InvalidParameter": "nothing",
    "QueryRefused": "nothing: it is refused for what was written, whatever the data hold",
    "BudgetExceeded": "nothing",
    "AnswerWithheld": "the question, all of it: the noisy test that failed is part of it",
    "PolicyError": "nothing",
    "EngineError": "the question, all of it, once the engine was asked; nothing where a source cannot be opened",
    "LedgerError": "nothing, or the question: what the ledger had written down stays written down",
    "NoiseUnavailable": "the question, all of it",
    "Overloaded": "nothing",
    "AccessDenied": "nothing",
    "ServerUnreachable": "nothing, or the question, where the connection broke: the message says so",
}
_POLICY = """# The policy

A policy is one TOML file: what the curator declares of the data, and promises to the people in them. {written} The list
behind this page is the one that a policy is read by, so a key that is not here is refused by its line.
[Write a policy](../how-to/write-a-policy.md) says how to decide on them.
"""
_ERRORS = """# Errors

Whatever goes wrong is a `TacitError`: a message, `what is wrong: why`, and often a hint, which says what to do. Both
are made of the question, the policy and the ledger alone, because [an error is a release](../explanation/promise.md).
The command line prints them on standard error, as `error: …` and `hint: …`, and ends with the exit code of the kind.
{written}

A question that is refused costs nothing, and may be asked again in other words; only the looks of a `WITHIN`, by whose
answer a price is found or refused, is paid before. A question that fails after it was
charged stays charged, whoever or whatever made it fail: giving back what a failure cost would tell of the rows.
"""
_CLI = """# The command line

{written} `tacit COMMAND --help` shows the same. Exit codes are those of the [errors](errors.md); 0 is an answer, 130 an
interruption, 141 a reader who left.
"""


def pages() -> dict[str, str]:
    """The text of each page, by its name."""
    return {"policy.md": _policy(), "errors.md": _errors(), "cli.md": _cli()}


def _policy() -> str:
    return f"{_POLICY.format(written=_WRITTEN)}\n{keys_markdown().replace('### ', '## ')}"


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _errors() -> str:
    rows = ["| error | exit | SQLSTATE | when | what it cost |", "|---|---|---|---|---|"]
    for kind, depth in _tree(errors.TacitError):
        name = f"{'· ' * (depth - 1)}`{kind.__name__}`"
        said = (kind.__doc__ or "").split("\n")[0].rstrip(".")
        rows.append(f"| {name} | {kind.exit_code} | {kind.sqlstate} | {said} | {_charged(kind)} |")
    return f"{_ERRORS.format(written=_WRITTEN)}\n" + "\n".join(rows) + "\n"


def _tree(kind: type[errors.TacitError], depth: int = 0) -> Iterator[tuple[type[errors.TacitError], int]]:
    if depth:
        yield kind, depth
    for child in (each for each in kind.__subclasses__() if each.__module__ == errors.__name__):
        yield from _tree(child, depth + 1)


def _charged(kind: type[errors.TacitError]) -> str:
    return next(_CHARGED[parent.__name__] for parent in kind.__mro__ if parent.__name__ in _CHARGED)


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _cli() -> str:
    import typer

    from tacit.faces.cli.app import app

    parts = [_CLI.format(written=_WRITTEN).rstrip()]
    for name, command in _commands(typer.main.get_command(app), "tacit"):
        parts += [f"## {name}", *_described(name, command)]
    return "\n\n".join(parts) + "\n"


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for word, each in inner.items():
        yield from _commands(each, f"{name} {word}")


def _described(name: str, command: Any) -> Iterator[str]:
    text = (command.help or "").replace("\f", "").strip()
    said, _, examples = text.partition("\n\n\b\nExamples:")
    words = [each.metavar or str(each.name).upper() for each in command.params if each.param_type_name == "argument"]
    yield f"```text\n{' '.join([name, '[OPTIONS]', *words])}\n```"
    yield inspect.cleandoc(said)
    rows = [_row(each) for each in command.params if each.name != "help"]
    if rows:
        yield "\n".join(["| option | what |", "|---|---|", *rows])
    if examples.strip():
        lines = [line.strip() for line in examples.strip().splitlines()]
        yield "```sh\n" + "\n".join(line for line in lines if line) + "\n```"


def _row(each: Any) -> str:
    names = ", ".join(f"`{opt}`" for opt in (*each.opts, *each.secondary_opts))
    shown = f"`{each.metavar or each.name}`" if each.param_type_name == "argument" else names
    if each.param_type_name == "option" and each.metavar:
        shown += f" {each.metavar}"
    default = each.default if isinstance(each.default, (int, str)) and not isinstance(each.default, bool) else None
    help_text = (each.help or "").replace("|", "\\|")
    usual = f" Usually {getattr(default, 'value', default)}." if default not in {None, ""} else ""
    return f"| {shown} | {help_text}{usual} |"
