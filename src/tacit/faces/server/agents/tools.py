"""The tools that agents have: schema, explain, ask, budget. Every result says what is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import mcp_types as types

from tacit.core import decimal_text
from tacit.curator import Release
from tacit.errors import InvalidParameter, QueryRefused, TacitError
from tacit.faces.log_file import log
from tacit.faces.server.agents.conversation import Conversation
from tacit.faces.server.http.answers import release_body
from tacit.faces.server.http.bodies import asked
from tacit.faces.server.http.replies import finite, schema_body
from tacit.faces.server.serving import Hub
from tacit.sql import says_explain

Body = dict[str, Any]
_QUESTION: Body = {
    "type": "object",
    "properties": {
        "sql": {"type": "string", "description": "DP-SELECT 0.1 COUNT(*) AS n FROM … WHERE …"},
        "parameters": {"type": "array", "description": "a value for each ? of the question"},
        "epsilon": {"type": ["string", "number"], "description": "what a plain SELECT costs, such as 0.1"},
        "delta": {"type": ["string", "number"], "description": "for private keys, such as 1e-6"},
    },
    "required": ["sql"],
    "additionalProperties": False,
}
_NOTHING: Body = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The tools, on one hub. Each is given the conversation and the arguments, and gives a text and an object."""

    hub: Hub

    async def schema(self, conversation: Conversation, arguments: Body) -> tuple[str, Body]:
        """Show the tables and columns that may be asked about. Free."""
        _none(arguments)
        await asyncio.to_thread(self.hub.check_policy)
        return str(self.hub.catalogue), schema_body(self.hub.catalogue)

    async def explain(self, conversation: Conversation, arguments: Body) -> tuple[str, Body]:
        """Say what a question would cost and how far off its answer would be. Free."""
        question = asked(_exact(arguments))
        session = self.hub.session(conversation.analyst, question.epsilon, question.delta)
        explanation = await self.hub.explain(session, question.sql, question.parameters)
        return str(explanation), explanation.to_dict()

    async def ask(self, conversation: Conversation, arguments: Body) -> tuple[str, Body]:
        """Answer a question, with noise and error bars; it is charged."""
        question = asked(_exact(arguments))
        if says_explain(question.sql):
            raise QueryRefused("EXPLAIN gives no answer: ask pays for one", hint="the tool explain is free")
        session = self.hub.session(conversation.analyst, question.epsilon, question.delta)
        priced = await self.hub.explain(session, question.sql, question.parameters)
        if priced.piloted:
            raise QueryRefused(
                "WITHIN a share of the answer is refused in a conversation: its price is found by asking, and no limit"
                " could hold",
                hint="give a price, or WITHIN a number",
            )
        with conversation.reserved(priced.loss.epsilon) as answers:
            answer = await self.hub.ask(session, question.sql, question.parameters)
            if isinstance(answer, Release):
                answers.append(answer)
        return str(answer), release_body(answer)

    async def budget(self, conversation: Conversation, arguments: Body) -> tuple[str, Body]:
        """Say what is spent and left. Free."""
        _none(arguments)
        balance = await asyncio.to_thread(self.hub.balance, conversation.analyst)
        return str(balance), balance.to_dict()

    async def call(self, conversation: Conversation, name: str, arguments: Body) -> types.CallToolResult:
        """What a tool gives; a refusal is a result too, and says what is left as every other."""
        try:
            text, body = await _named(name)(self, conversation, arguments)
        except TacitError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            return await self._result(conversation, f"error: {error.message}{hint}", {}, failed=True)
        except Exception as error:  # whatever it is, it may hold cells
            log.error("%s: %s", type(error).__name__, error, exc_info=error)
            text = "error: something went wrong inside tacit\nhint: the curator's log says what"
            return await self._result(conversation, text, {}, failed=True)
        return await self._result(conversation, text, body)

    async def _result(
        self, conversation: Conversation, text: str, body: Body, *, failed: bool = False
    ) -> types.CallToolResult:
        left = {"epsilon": decimal_text(conversation.left), "of": decimal_text(conversation.limit)}
        lines = [text, "", f"left in this conversation: ε = {left['epsilon']} of {left['of']}"]
        try:
            balance = await asyncio.to_thread(self.hub.balance, conversation.analyst)
            lines.append(f"left of the budget of {conversation.analyst}: {balance.left}")
        except TacitError:
            lines.append("left of the budget: not known now")
        structured = None if failed else finite({**body, "conversation": left})
        return types.CallToolResult(
            content=[types.TextContent(type="text", text="\n".join(lines))],
            structured_content=structured,
            is_error=failed,
        )


_Tool = Callable[[AgentTools, Conversation, Body], Awaitable[tuple[str, Body]]]
_BY_NAME: Mapping[str, _Tool] = {
    "schema": AgentTools.schema,
    "explain": AgentTools.explain,
    "ask": AgentTools.ask,
    "budget": AgentTools.budget,
}


def _named(name: str) -> _Tool:
    if name not in _BY_NAME:
        raise InvalidParameter(f"there is no tool {name[:40]!r}", hint=f"there are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def listed() -> list[types.Tool]:
    """The tools as agents are told of them."""
    lines = []
    for name, tool in _BY_NAME.items():
        free = name != "ask"
        lines.append(
            types.Tool(
                name=name,
                description=tool.__doc__ or "",
                input_schema=_QUESTION if name in {"ask", "explain"} else _NOTHING,
                annotations=types.ToolAnnotations(
                    read_only_hint=free, destructive_hint=not free, idempotent_hint=True, open_world_hint=False
                ),
            )
        )
    return lines


def _none(arguments: Body) -> None:
    if arguments:
        raise InvalidParameter("this tool takes no arguments")


def _exact(value: Any) -> Any:
    """Numbers with a point as the decimals that were typed."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {name: _exact(inner) for name, inner in value.items()}
    return [_exact(inner) for inner in value] if isinstance(value, list) else value
