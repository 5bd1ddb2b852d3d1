"""Ask: the editor, the price of what stands in it, and the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from starlette.responses import JSONResponse, Response

from tacit.core import Budget, Loss, decimal_text
from tacit.curator import Explanation, Release
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.forms.release import covering
from tacit.errors import BudgetExceeded, QueryRefused, TacitError
from tacit.faces.budget_status import BudgetStatus
from tacit.faces.completions import candidates
from tacit.faces.server.console.figures import AnswerFigure, figures
from tacit.faces.server.console.given_answers import AnsweredForm
from tacit.faces.server.console.guard import Console, Visit, moved, status_of
from tacit.faces.server.console.pages import HEADERS
from tacit.faces.server.console.question_form import QuestionForm
from tacit.faces.server.console.visitors import random_text
from tacit.policy import Accounting

MOST_ROWS = 200  # of a table on a page; downloads have all of them
LOOKED_THROUGH = 2_000  # entries of an analyst, among which an answer is looked for
_FIRST = "0.1"  # what the slider begins with, where the policy names no price


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """A release as its page shows it."""

    release: Release
    figures: tuple[AnswerFigure, ...]
    rows: list[list[str]]
    left_out: int

    @classmethod
    def of(cls, release: Release) -> ShownAnswer:
        """The answer with its figures, and with as many rows as a page holds."""
        return cls(release, figures(release), release.shown()[:MOST_ROWS], max(0, len(release) - MOST_ROWS))

    @property
    def covering(self) -> str:
        """What ± of this answer means, in words: how often it holds, and of what."""
        return covering(self.release.covers, self.release.confidence)


@dataclass(frozen=True, slots=True)
class ExpectedColumn:
    """What is known of a column before it is paid for."""

    name: str
    error: float | None
    is_exact: bool


async def show(console: Console, visit: Visit) -> Response:
    """The page with the editor: empty, or with the question that the address names."""
    await asyncio.to_thread(console.hub.check_policy)
    sql = visit.request.query_params.get("sql", "")[:20_000]
    return await _editor(console, visit, QuestionForm(sql or _example(console)))


async def ask(console: Console, visit: Visit) -> Response:
    """Answer what was typed, once for each form; then to the answer's own page, which can be loaded again."""
    form, name = _form(visit), visit.visitor.name
    try:
        if form.says_explain:
            return await _editor(console, visit, form, explained=await form.explain(console.hub, name))
        asked = form.id(visit.text("key"))
        await console.answers.once(name, asked, lambda: _answered(console, name, form=form, asked=asked))
    except TacitError as error:
        return await _editor(console, visit, form, error=error)
    return moved(f"/answers/{asked}")


async def price(console: Console, visit: Visit) -> Response:
    """What the question would cost and how far off its answer would be: a part of the page. Free."""
    form = _form(visit)
    if not form.sql.strip():
        return console.pages.part("_price.html", explained=None, error=None)
    try:
        explained = await form.explain(console.hub, visit.visitor.name)
        status = await asyncio.to_thread(console.hub.balance, visit.visitor.name)
    except TacitError as error:
        return console.pages.part("_price.html", explained=None, error=error)
    return console.pages.part("_price.html", error=None, **_expected(console, explained, status=status))


async def answer(console: Console, visit: Visit) -> Response:
    """The page of one answer: of a form, while it is remembered, or of an entry of the ledger."""
    given, form = await _answer_of(console, visit)
    answers = given.answers if isinstance(given, BatchRelease) else (given,)
    shown = [ShownAnswer.of(one) for one in answers]
    path = visit.request.url.path
    return await _editor(console, visit, form, answers=shown, place=path)


async def as_csv(console: Console, visit: Visit) -> Response:
    """An answer as a file for spreadsheets; the answers of a batch one below the other."""
    given, _ = await _answer_of(console, visit)
    answers = given.answers if isinstance(given, BatchRelease) else (given,)
    text = "\n".join(one.to_csv() for one in answers)
    return Response(text, media_type="text/csv; charset=utf-8", headers=_file("answer.csv"))


async def as_json(console: Console, visit: Visit) -> Response:
    """An answer as a file for programs, as the API has it."""
    given, _ = await _answer_of(console, visit)
    return Response(given.to_json(indent=1) + "\n", media_type="application/json", headers=_file("answer.json"))


def _file(name: str) -> dict[str, str]:
    return {**HEADERS, "content-disposition": f'attachment; filename="{name}"'}


async def words(console: Console, visit: Visit) -> Response:
    """What may be completed: names of the public schema, and words of the language."""
    await asyncio.to_thread(console.hub.check_policy)
    pairs = [list(pair) for pair in candidates(console.hub.catalogue)]
    return JSONResponse(pairs, headers=HEADERS)


async def _answered(console: Console, name: str, *, form: QuestionForm, asked: str) -> AnsweredForm:
    return AnsweredForm(form, await form.ask(console.hub, name, request_id=asked))


def _form(visit: Visit) -> QuestionForm:
    typed = {name: visit.text(name).strip() for name in ("epsilon", "delta", "parameters")}
    return QuestionForm(visit.text("sql"), **typed)


async def _answer_of(console: Console, visit: Visit) -> tuple[Release | BatchRelease, QuestionForm]:
    """An answer of this analyst's, with what its form held."""
    wanted, name = visit.request.path_params["id"], visit.visitor.name
    remembered = console.answers.find(name, wanted)
    if remembered is not None:
        return remembered.release, remembered.form
    entries = await asyncio.to_thread(console.hub.log, name, limit=LOOKED_THROUGH)
    settled = next((entry for entry in entries if entry.act == "settle" and entry.hash == wanted), None)
    number = None if settled is None else settled.charge
    charged = next((entry for entry in entries if entry.request_id == wanted or entry.seq == number), None)
    if charged is not None and settled is None:
        settled = next((entry for entry in entries if entry.act == "settle" and entry.charge == charged.seq), None)
    given = None
    if settled is not None:
        given = await console.hub.replay(console.hub.session(name), settled.hash)
    if given is None or charged is None:
        raise QueryRefused("no answer of yours has this address", hint="the log lists your answers")
    questions = () if charged.asked is None else charged.asked.questions
    return given, QuestionForm(questions[0] if len(questions) == 1 else "")


async def _editor(console: Console, visit: Visit, form: QuestionForm, **content: object) -> Response:
    status = await asyncio.to_thread(console.hub.balance, visit.visitor.name)
    error = content.get("error")
    price = form.epsilon or _first_price(console)
    said = {"form": form, "error": None, "explained": None, "answers": (), "place": "", **content}
    explained = said.pop("explained")
    if isinstance(explained, Explanation):
        said |= _expected(console, explained, status=status)
    return console.page(
        "ask.html",
        visitor=visit.visitor,
        status=status_of(error) if isinstance(error, TacitError) else 200,
        **{"explained": None, **said},
        key=random_text(),
        epsilon=price,
        highest=decimal_text(_highest(console)),
        left=status.left,
        here="/ask",
        is_spent=isinstance(error, BudgetExceeded),
    )


def _expected(console: Console, explained: Explanation, *, status: BudgetStatus) -> dict[str, Any]:
    return {
        "explained": explained,
        "columns": list(_columns(explained)),
        "covering": covering(explained.covers, explained.confidence),
        "left": status.left,
        "is_too_dear": _counts_in_epsilon(console) and _is_too_dear(explained.loss, status),
    }


def _columns(explained: Explanation) -> Iterator[ExpectedColumn]:
    """The columns to expect of every question, each with the question's number before its name."""
    for number, asked in enumerate(explained.questions, 1):
        for name, error in zip(asked.outputs, asked.errors, strict=True):
            yield ExpectedColumn(f"{number}: {name}", error, is_exact=error is None)
    for column in zip(explained.outputs, explained.errors, explained.exact, strict=True):
        yield ExpectedColumn(*column)


def _counts_in_epsilon(console: Console) -> bool:
    """Whether epsilons alone decide; what other currencies say is said when it is asked."""
    return console.hub.policy.budget.accounting in {Accounting.PURE, Accounting.APPROXIMATE}


def _is_too_dear(loss: Loss, status: BudgetStatus) -> bool:
    """Whether some account does not cover it."""
    lefts = (account.left for account in status.accounts)
    return any(loss.epsilon > left.epsilon for left in lefts if isinstance(left, Budget))


def _first_price(console: Console) -> str:
    price = console.hub.policy.budget.default_epsilon
    return _FIRST if price is None else decimal_text(price)


def _highest(console: Console) -> Fraction:
    return console.hub.policy.budget.max_epsilon or console.hub.policy.budget.epsilon


def _example(console: Console) -> str:
    """A first question that can be asked: how many rows the first private table has."""
    for table in _private(console):
        return f"SELECT COUNT(*) AS n\nFROM {table}"
    return ""


def _private(console: Console) -> Iterator[str]:
    for table in console.hub.catalogue:
        if table.hides:
            plain_name = table.name.isidentifier() and table.name.isascii() and table.name.islower()
            yield table.name if plain_name else '"' + table.name.replace('"', '""') + '"'
