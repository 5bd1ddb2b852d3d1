"""What each route of the HTTP API does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tacit.errors import InvalidParameter, QueryRefused, TacitError
from tacit.faces.entries import plain_entry
from tacit.faces.server.http import gate
from tacit.faces.server.http.answers import explanation_body, release_body
from tacit.faces.server.http.bodies import asked, asked_together, read_json
from tacit.faces.server.http.idempotency import RequestKeys
from tacit.faces.server.http.metrics import Metrics
from tacit.faces.server.http.replies import HEADERS, answer, problem, refusal, schema_body
from tacit.faces.server.serving import Hub
from tacit.sql import says_explain

MOST_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class Api:
    """The routes' handlers, on one hub. Each is given the request and who sent it."""

    hub: Hub
    keys: RequestKeys = field(default_factory=RequestKeys)
    metrics: Metrics = field(default_factory=Metrics)

    async def query(self, request: Request, analyst: str) -> Response:
        """Answer one question."""
        question = asked(read_json(await gate.read_body(request)))
        if says_explain(question.sql):
            raise QueryRefused("EXPLAIN gives no answer: /v1/query pays for one", hint="/v1/explain is free")
        session = self.hub.session(analyst, question.epsilon, question.delta)

        async def act(key: str | None) -> Response:
            given = await self.hub.ask(session, question.sql, question.parameters, request_id=key)
            return answer(release_body(given))

        return await self.keys.once(request, analyst, act)

    async def explain(self, request: Request, analyst: str) -> Response:
        """Say what a question, or a batch, would cost."""
        body = read_json(await gate.read_body(request))
        if "questions" in body:
            batch = asked_together(body)
            session = self.hub.session(analyst)
            explanation = await self.hub.explain_batch(
                session, batch.questions, epsilon=batch.epsilon, within=batch.within, delta=batch.delta
            )
        else:
            question = asked(body)
            session = self.hub.session(analyst, question.epsilon, question.delta)
            explanation = await self.hub.explain(session, question.sql, question.parameters)
        return answer(explanation_body(explanation))

    async def batch(self, request: Request, analyst: str) -> Response:
        """Answer several questions for one price."""
        batch = asked_together(read_json(await gate.read_body(request)))
        session = self.hub.session(analyst)

        async def act(key: str | None) -> Response:
            given = await self.hub.batch(
                session,
                batch.questions,
                epsilon=batch.epsilon,
                within=batch.within,
                delta=batch.delta,
                request_id=key,
                fresh=batch.fresh,
            )
            return answer(release_body(given))

        return await self.keys.once(request, analyst, act)

    async def budget(self, request: Request, analyst: str) -> Response:
        """Say what is spent and left."""
        return answer((await asyncio.to_thread(self.hub.balance, analyst)).to_dict())

    async def log(self, request: Request, analyst: str) -> Response:
        """List the analyst's newest entries."""
        said = request.query_params.get("limit", "50")
        if not (said.isascii() and said.isdigit() and len(said) < 6 and 1 <= int(said) <= MOST_ENTRIES):
            raise InvalidParameter(f"limit must be a whole number from 1 to {MOST_ENTRIES:,}")
        entries = await asyncio.to_thread(self.hub.log, analyst, limit=int(said))
        return answer({"entries": [plain_entry(entry) for entry in entries]})

    async def schema(self, request: Request, analyst: str) -> Response:
        """Show the public schema."""
        await asyncio.to_thread(self.hub.check_policy)
        return answer(schema_body(self.hub.catalogue))

    async def release(self, request: Request, analyst: str) -> Response:
        """Show an answer again."""
        given = await self.hub.replay(self.hub.session(analyst), request.path_params["id"])
        if given is None:
            return problem(404, "not_found", "no answer of yours has this id", hint="/v1/log lists your entries")
        return answer(release_body(given))

    async def health(self, request: Request) -> Response:
        """Say whether questions are taken."""
        try:
            await asyncio.to_thread(self.hub.check_policy)
        except TacitError as error:
            return refusal(error, status=503)
        return answer({"status": "ok"})

    async def metrics_text(self, request: Request) -> Response:
        """Count requests, for the curator."""
        gate.curator(request, self.hub)
        return PlainTextResponse(self.metrics.text(self.hub), media_type="text/plain; version=0.0.4", headers=HEADERS)
