"""Surveys: what was collected from people who trust nobody, and the pages where they are asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.collect.surveys import Findings, Survey
from tacit.errors import TacitError
from tacit.faces.log_file import log
from tacit.faces.server.console.figures import AnswerFigure, placed_intervals
from tacit.faces.server.console.guard import Console, Visit, moved
from tacit.faces.survey import estimate, explain
from tacit.faces.survey.site import SurveySite


@dataclass(frozen=True, slots=True)
class ShownSurvey:
    """A survey, what its reports say, and what one of them costs."""

    survey: Survey
    name: str
    epsilon: float
    findings: Findings | None
    figure: AnswerFigure | None
    trouble: TacitError | None


async def surveys(console: Console, visit: Visit) -> Response:
    """Every survey with its estimates. They are made of reports that are private already, so all may see them."""
    sites = await asyncio.to_thread(console.surveys.of, console.hub.policy)
    shown = [await asyncio.to_thread(_shown, name, site.survey) for name, site in sites.items()]
    return console.page("surveys.html", visitor=visit.visitor, surveys=shown, here="/surveys")


def survey_routes(console: Console) -> tuple[Route, ...]:
    """The pages for those who are asked: open to everybody, and blind to who they are."""

    async def named(request: Request) -> SurveySite:
        try:
            sites = await asyncio.to_thread(console.surveys.of, console.hub.policy)
        except TacitError as error:
            log.error("a survey cannot be opened: %s", error.message)
            raise HTTPException(503) from None
        site = sites.get(request.path_params["name"])
        if site is None:
            raise HTTPException(404)
        return site

    async def answer(request: Request) -> Response:
        return await (await named(request)).answer(request, request.path_params["path"])

    async def enter(request: Request) -> Response:
        await named(request)
        return moved(f"/surveys/{request.path_params['name']}/")

    return (
        Route("/surveys/{name}", enter, methods=["GET"]),
        Route("/surveys/{name}/{path:path}", answer, methods=["GET", "POST"]),
    )


def _shown(name: str, survey: Survey) -> ShownSurvey:
    price = float(explain(survey).epsilon)
    if not survey.reports.exists() or not survey.reports.stat().st_size:
        return ShownSurvey(survey, name, price, None, None, None)
    try:
        findings = estimate(survey)
    except TacitError as error:
        return ShownSurvey(survey, name, price, None, None, error)
    style = "{:,.4g}" if findings.is_mean else "{:.1%}"
    rows = []
    for one in findings.findings:
        text = f"{style.format(one.value)} ({style.format(one.low)} … {style.format(one.high)})"
        rows.append((one.label, one.value, (one.low, one.high), text))
    return ShownSurvey(
        survey, name, price, findings, placed_intervals("share" if not findings.is_mean else "mean", rows), None
    )
