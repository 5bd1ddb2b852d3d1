"""The MCP server on one hub: its tools, its prompt, and whose conversation a request belongs to."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from tacit.faces.server.agents.conversation import Conversation
from tacit.faces.server.agents.teaching import DESCRIPTION, INSTRUCTIONS, PROMPT, lesson
from tacit.faces.server.agents.tools import AgentTools, listed
from tacit.faces.server.serving import Hub

Request = ServerRequestContext[Any, Any]


def agent_server(hub: Hub, conversation_of: Callable[[Request], Conversation]) -> Server[Any]:
    """The server; `conversation_of` says whose conversation a request belongs to."""
    tools = AgentTools(hub)

    async def list_tools(request: Request, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed())

    async def call_tool(request: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await tools.call(conversation_of(request), params.name, dict(params.arguments or {}))

    async def list_prompts(request: Request, _: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name=PROMPT, description=DESCRIPTION)])

    async def get_prompt(request: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt of that name: there is {PROMPT}")
        text = types.TextContent(type="text", text=lesson(hub.catalogue))
        return types.GetPromptResult(description=DESCRIPTION, messages=[types.PromptMessage(role="user", content=text)])

    return Server(
        "tacit",
        version=version("tacit"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
