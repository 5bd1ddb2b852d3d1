"""The newest answers of each analyst, so that a form that is sent twice is answered once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tacit.curator import Release
from tacit.curator.forms.batch_release import BatchRelease
from tacit.faces.server.console.question_form import QuestionForm

MOST = 50  # of one analyst; what an older one paid for is in the ledger


@dataclass(frozen=True, slots=True)
class AnsweredForm:
    """What was typed into a form, and its answer."""

    form: QuestionForm
    release: Release | BatchRelease


class GivenAnswers:
    """Answers by the id of the form that asked. One event loop uses it.

    The ledger knows for ever which forms were charged. This remembers, beside it, answers that cost nothing, and
    questions that still run: the second of two clicks waits for the first.
    """

    def __init__(self) -> None:
        self._known: dict[str, OrderedDict[str, asyncio.Future[AnsweredForm]]] = {}

    async def once(self, analyst: str, asked: str, act: Callable[[], Awaitable[AnsweredForm]]) -> AnsweredForm:
        """The answer of `act`; or the one that was given to the same form."""
        known = self._known.setdefault(analyst, OrderedDict())
        if asked in known:
            return await asyncio.shield(known[asked])
        known[asked] = answer = asyncio.get_running_loop().create_future()
        try:
            given = await act()
        except BaseException as error:
            known.pop(asked, None)
            answer.set_exception(error)
            answer.exception()  # whoever waits is told; that nobody does is no mistake
            raise
        answer.set_result(given)
        while len(known) > MOST and next(iter(known.values())).done():
            known.popitem(last=False)
        return given

    def find(self, analyst: str, asked: str) -> AnsweredForm | None:
        """The answer to a form of this analyst's, if it is still remembered."""
        answer = self._known.get(analyst, OrderedDict()).get(asked)
        return answer.result() if answer is not None and answer.done() and not answer.exception() else None
