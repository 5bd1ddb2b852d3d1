"""MCP over HTTP, at /mcp: behind the same gate as the API, and a session is its opener's alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tacit.errors import TacitError
from tacit.faces.server.agents.conversation import LIMIT, Conversation, Conversations
from tacit.faces.server.agents.server import agent_server
from tacit.faces.server.http import gate
from tacit.faces.server.http.bodies import MOST_BYTES
from tacit.faces.server.http.replies import refusal
from tacit.faces.server.serving import Hub

PATH = "/mcp"
_SESSION = "mcp-session-id"


class AgentDoor:
    """An ASGI application. Who has no token of an analyst hears what the API says."""

    def __init__(self, hub: Hub, rates: gate.RateLimit) -> None:
        self._hub, self._rates = hub, rates
        idle = hub.policy.server.idle.total_seconds()
        self._conversations = Conversations(idle)
        self._manager = StreamableHTTPSessionManager(
            agent_server(hub, self._conversation),
            json_response=True,
            session_idle_timeout=idle,
            max_request_body_size=MOST_BYTES,
            max_sessions=1_000,
        )

    @property
    def route(self) -> Route:
        """The route at which agents are served."""
        return Route(PATH, self)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this lasts, requests are served."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        try:
            gate.check_host(request, self._hub)
            analyst = await gate.analyst(request, self._hub)
            self._rates.check(analyst, self._hub.policy.server.rate)
        except gate.Forbidden as error:
            await refusal(error, status=403)(scope, receive, send)
        except TacitError as error:
            await refusal(error)(scope, receive, send)
        else:
            known = AccessToken(token="", client_id=analyst, scopes=[], subject=analyst)
            await self._manager.handle_request({**scope, "user": AuthenticatedUser(known)}, receive, send)

    def _conversation(self, context: ServerRequestContext[Any, Any]) -> Conversation:
        """A session is a conversation; requests without one, as the newest protocol has them, are one together."""
        request = cast("Request", context.request)  # of this transport every message has one
        limit = self._hub.policy.server.connection_epsilon or LIMIT
        name = request.headers.get(_SESSION, "")
        return self._conversations.of(request.scope["user"].access_token.client_id, name, limit=limit)
