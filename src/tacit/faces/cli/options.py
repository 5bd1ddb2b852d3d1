"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.errors import InvalidParameter
from tacit.faces.formats import OutputFormat, Plain

PolicyFile = Annotated[
    Path, typer.Option("--policy", "-p", envvar="TACIT_POLICY", metavar="FILE", help="The policy.", show_default=True)
]
POLICY = Path("tacit.toml")
Analyst = Annotated[
    str | None, typer.Option("--as", envvar="TACIT_ANALYST", metavar="NAME", help="Who asks: an analyst of the policy.")
]
Question = Annotated[
    str | None,
    typer.Argument(metavar="SQL", help="The question; without it, -f or standard input.", show_default=False),
]
QuestionFile = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the question from a file.")
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--param", "-v", metavar="VALUE", help="A value for each ?, in order. '30' in quotes is text, 30 a number."
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", "--eps", "-e", metavar="NUMBER", help="What a plain SELECT costs: 0.5 or 1/3."),
]
Delta = Annotated[
    str | None,
    typer.Option("--delta", metavar="NUMBER", help="The delta of a question with private keys that states none."),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="The most one statement may take, at most the policy's. What is cut short stays charged.",
        show_default=False,
    ),
]
Dummy = Annotated[bool, typer.Option("--dummy", help="Ask made-up rows: free, and nothing is learnt of anyone.")]
FormatOption = Annotated[OutputFormat, typer.Option("--format", help="How to print the answer; parquet needs -o.")]
PlainOption = Annotated[Plain, typer.Option("--format", help="How to print it.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead of printing.")]


def needs_analyst(analyst: str | None) -> str:
    """The analyst's name, or a usage error."""
    if not analyst:
        raise InvalidParameter("nobody asks: no analyst is named", hint="add --as NAME, or set TACIT_ANALYST")
    return analyst
