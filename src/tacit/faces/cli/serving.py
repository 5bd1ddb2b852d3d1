"""`tacit serve` and `tacit mcp`: the doors, open to analysts on a network or to an agent of one analyst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import PolicyError
from tacit.faces.cli.options import POLICY, Analyst, PolicyFile, needs_analyst
from tacit.faces.commands import Command
from tacit.faces.terminal import console, print_lines

if TYPE_CHECKING:
    from tacit.faces.server.serving import Hub


def serve(
    *,
    policy: PolicyFile = POLICY,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen; the policy's if left out.")
    ] = None,
    http_port: Annotated[
        int | None,
        typer.Option("--http-port", metavar="PORT", min=0, max=65_535, help="Of the HTTP API and the web console."),
    ] = None,
    pg_port: Annotated[
        int | None, typer.Option("--pg-port", metavar="PORT", min=0, max=65_535, help="Of the PostgreSQL wire.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, max=256, help="Processes that answer questions; 1 if left out."),
    ] = None,
    analyst: Analyst = None,
) -> None:
    """Open the doors on one curator: HTTP, with the web console, and the PostgreSQL wire, until SIGTERM or Ctrl-C.

    What the section [server] of the policy says holds, unless an option says otherwise. What runs when it is told to
    stop is finished first; what is charged stays charged.
    """
    import asyncio

    from tacit.curator.forms.extras import needs
    from tacit.faces import owner
    from tacit.policy import load_policy

    owner.refuse_analyst(analyst, "serving the data")
    for module in ("starlette", "uvicorn", "jinja2"):
        needs(module, extra="server")
    from tacit.faces.server.processes import open_hub_in
    from tacit.faces.server.running import Doors
    from tacit.faces.server.running import serve as serve_doors

    hub = open_hub_in(policy, workers or load_policy(policy).server.processes)
    try:
        _say_accounts(hub)
        said = hub.policy.server
        doors = Doors(
            host or said.host,
            said.http_port if http_port is None else http_port,
            said.pg_port if pg_port is None else pg_port,
        )
        finished = asyncio.run(serve_doors(hub, doors, say=_say))
    finally:
        hub.close(0)
    print_lines("stopped" if finished else "stopped; some questions were cut short, and stay charged")


def mcp(
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit", metavar="EPSILON", help="What the conversation may cost; the policy's, or 1, if left out."
        ),
    ] = None,
) -> None:
    """Let an AI agent ask, in one analyst's name: the Model Context Protocol on standard input and output.

    The agent has four tools: schema, explain, ask and budget. It gets what the analyst would get, noise and refusals;
    the process is one conversation, and its limit holds beside the analyst's budget. A server has the same at /mcp.
    """
    import asyncio

    from tacit.core import positive
    from tacit.curator.forms.extras import needs

    who = needs_analyst(analyst)
    for module, extra in (("mcp", "mcp"), ("starlette", "server")):
        needs(module, extra=extra)
    from tacit.faces.server.agents.conversation import LIMIT
    from tacit.faces.server.agents.stdio import serve_stdio
    from tacit.faces.server.serving import open_hub

    most = None if limit is None else positive(limit, "--limit")
    hub = open_hub(policy)
    try:
        asyncio.run(serve_stdio(hub, who, limit=most or hub.policy.server.connection_epsilon or LIMIT))
    finally:
        hub.close(0)


def _say_accounts(hub: Hub) -> None:
    accounts = hub.accounts.all()
    if not accounts:
        _say("nobody has an account yet: tacit analyst add NAME")
    for account in accounts:
        try:
            if account.role == "analyst":
                hub.policy.analyst(account.name)
        except PolicyError:
            _say(f"account {account.name}: the policy names no such analyst, so it is refused at every door")


def _say(line: str) -> None:
    screen = console()
    screen.print(line, soft_wrap=True)
    screen.file.flush()


COMMANDS = (
    Command(
        "serve",
        serve,
        "open the doors: web console, HTTP and PostgreSQL",
        examples="""
  tacit serve
  tacit serve --policy clinic.toml --host 0.0.0.0 --http-port 8443
  tacit serve --workers 4
""",
    ),
    Command(
        "mcp",
        mcp,
        "let an AI agent ask, on standard input and output",
        examples="""
  tacit mcp --as ana
  tacit mcp --as ana --policy clinic.toml --limit 0.5
""",
    ),
)
