"""`tacit audit`: hold what a question, a function or a server gives away against what it claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter
from tacit.faces.cli.options import POLICY, PlainOption, PolicyFile
from tacit.faces.cli.values import typed_value
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, show_json, working

if TYPE_CHECKING:
    from tacit.attack import Certificate, QueryAudit

QUERY_DRAWS, FUNCTION_DRAWS, ENDPOINT_DRAWS = 1_000_000, 100_000, 2_000
VIOLATED = 1  # the exit code of what gives away more than it claims; errors have others

Draws = Annotated[
    int | None, typer.Option("--draws", metavar="COUNT", help="Outcomes of each neighbour.", show_default=False)
]
Claimed = Annotated[
    float | None, typer.Option("--claimed", metavar="EPSILON", help="What a function or a server claims to cost.")
]
DELTA = typer.Option("--delta", metavar="NUMBER", help="The delta that it claims.")
ALARM = typer.Option(
    "--false-alarm", metavar="NUMBER", help="How often the bound may be too high, over all that is tried."
)


def audit(  # noqa: PLR0913 - the options of a command
    target: Annotated[str, typer.Argument(metavar="SQL|MODULE:FUNCTION", help="The question, or a Python function.")],
    *,
    policy: PolicyFile = POLICY,
    draws: Draws = None,
    door: Annotated[
        int | None,
        typer.Option("--door", metavar="COUNT", help="Whole answers asked of each neighbour, as analysts see them."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="VALUE", help="Of a function: two neighbouring inputs, given twice."),
    ] = None,
    endpoint: Annotated[
        list[str] | None,
        typer.Option("--endpoint", metavar="ADDRESS", help="Ask this server: postgresql://…; twice for two of them."),
    ] = None,
    neighbour: Annotated[
        str | None,
        typer.Option("--neighbour", metavar="SQL", help="Of a server: the same question with one person left out."),
    ] = None,
    claimed: Claimed = None,
    delta: Annotated[float, DELTA] = 0.0,
    false_alarm: Annotated[float, ALARM] = 1e-6,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Of a question: keep the result beside the policy, for the console's page Risk."),
    ] = False,
    early: Annotated[bool, typer.Option("--early", help="Of a function: stop as soon as enough is known.")] = False,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Certify how much is given away at the least, by playing neighbours; exit code 1 if that is more than the claim.

    A question is played on rows made up from the policy: no row of yours is read, and nothing is charged. The one unit
    in which the neighbours differ is the worst of those tried against the question's own plan.
    """
    with working("playing neighbours"):
        if endpoint:
            certificate = _of_endpoint(target, endpoint, neighbour, draws=draws, limits=(claimed, delta, false_alarm))
        elif _is_function(target):
            limits = (claimed, delta, false_alarm)
            certificate = _of_function(target, inputs or [], draws=draws, limits=limits, early=early)
        else:
            asked = _of_query(target, policy, draws=draws, door=door, false_alarm=false_alarm)
            if keep:
                from tacit.faces.attack.kept import keep_audit

                keep_audit(policy.parent, asked, question=target)
            _show_query(asked, form)
            return
    _show(certificate, form)


def _is_function(target: str) -> bool:
    return ":" in target and not any(letter.isspace() for letter in target)


def _of_query(question: str, policy: Path, *, draws: int | None, door: int | None, false_alarm: float) -> QueryAudit:
    from tacit.attack import audit_query
    from tacit.policy import load_policy

    return audit_query(load_policy(policy), question, draws=draws or QUERY_DRAWS, door=door, false_alarm=false_alarm)


def _of_function(
    name: str, inputs: list[str], *, draws: int | None, limits: tuple[float | None, float, float], early: bool
) -> Certificate:
    from tacit.attack import audit, audit_sequentially, callable_draw, load_callable

    claimed, delta, false_alarm = limits
    if len(inputs) != 2:
        raise InvalidParameter(
            f"a function is played on two neighbouring inputs: {len(inputs)} are given", hint="add -i 0 -i 1"
        )
    first, second = map(typed_value, inputs)
    draw = callable_draw(load_callable(name), (first, second))
    if early:
        if claimed is None:
            raise InvalidParameter("to stop early one must know what for", hint="add --claimed 1")
        return audit_sequentially(
            draw, claimed=claimed, most=draws or FUNCTION_DRAWS, delta=delta, false_alarm=false_alarm
        )
    return audit(draw, draws=draws or FUNCTION_DRAWS, delta=delta, claimed=claimed, false_alarm=false_alarm)


def _of_endpoint(
    question: str, addresses: list[str], neighbour: str | None, *, draws: int | None,
    limits: tuple[float | None, float, float],
) -> Certificate:  # fmt: skip
    from tacit.attack import EndpointDraw, audit

    claimed, delta, false_alarm = limits
    if len(addresses) > 2 or (len(addresses) == 1) == (neighbour is None):
        raise InvalidParameter(
            "an endpoint has two neighbours: two servers with one question, or one server with two",
            hint="add --neighbour with a question that leaves one person out, or a second --endpoint",
        )
    with EndpointDraw(addresses, [question, neighbour or question]) as draw:
        return audit(draw, draws=draws or ENDPOINT_DRAWS, delta=delta, claimed=claimed, false_alarm=false_alarm)


def _show(certificate: Certificate, form: Plain) -> None:
    if form is Plain.JSON:
        show_json(_plain(certificate))
    else:
        print_lines(str(certificate))
        print_lines(_how(certificate), dim=True)
    if certificate.violates:
        raise typer.Exit(VIOLATED)


def _show_query(outcome: QueryAudit, form: Plain) -> None:
    audits = [("the plan", outcome.replayed), ("the door", outcome.answered)]
    if form is Plain.JSON:
        moved = [
            {"measurement": one.label, "planned": one.planned, "found": one.found, "norm": one.norm, "holds": one.holds}
            for one in outcome.movements
        ]
        certificates = {name.split()[1]: _plain(one) for name, one in audits if one is not None}
        show_json(
            {"claimed": float(outcome.loss.epsilon), "violates": outcome.violates, "sensitivity": moved, **certificates}
        )
    else:
        print_lines(*map(str, outcome.movements), "")
        for name, one in audits:
            if one is not None:
                print_lines(f"{name}: {one}")
                print_lines(_how(one), dim=True)
        print_lines(
            "", f"hides {outcome.unit}; played on made-up rows: none of yours was read, nothing was charged", dim=True
        )
    if outcome.violates:
        raise typer.Exit(VIOLATED)


def _how(certificate: Certificate) -> str:
    looks = f", in {certificate.looks} looks" if certificate.looks > 1 else ""
    return (
        f"seen {certificate.likely:,} and {certificate.rare:,} times in {certificate.counted:,} draws of either"
        f" neighbour{looks}: {certificate.event}"
    )


def _plain(certificate: Certificate) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(certificate), "violates": certificate.violates}


COMMANDS = (
    Command(
        "audit",
        audit,
        "how much a question, a function or a server really gives away",
        examples="""
  tacit audit "DP-SELECT 1 COUNT(*) FROM visits"
  tacit audit "DP-SELECT 1 MEDIAN(age) FROM visits" --door 1000
  tacit audit mylib:noisy_count -i 0 -i 1 --claimed 1
  tacit audit --endpoint postgresql://ana@host/db "SELECT n()" --neighbour "SELECT n1()" --claimed 1
""",
    ),
)
