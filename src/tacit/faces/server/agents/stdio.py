"""MCP over standard input and output: one process is one conversation of one analyst."""

from __future__ import annotations

from fractions import Fraction

from mcp.server.stdio import stdio_server

from tacit.faces.server.agents.conversation import Conversation
from tacit.faces.server.agents.server import agent_server
from tacit.faces.server.serving import Hub


async def serve_stdio(hub: Hub, analyst: str, *, limit: Fraction) -> None:
    """Serve until standard input ends."""
    conversation = Conversation(hub.session(analyst).analyst, limit)
    server = agent_server(hub, lambda _: conversation)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
