"""What stands in the form of Ask: one question or several, their parameters, and the price beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.core import positive
from tacit.curator import Explanation, Release
from tacit.curator.forms.batch_release import BatchRelease
from tacit.errors import InvalidParameter, QueryRefused
from tacit.faces.batches import questions
from tacit.faces.server.http.bodies import asked, read_json
from tacit.faces.server.serving import Hub
from tacit.sql import Parameters, says_explain

_HINT = 'write a list, as in ["CS", 30], or names and values, as in {"dept": "CS"}'


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """The fields as they were typed."""

    sql: str
    epsilon: str = ""
    delta: str = ""
    parameters: str = ""

    @property
    def says_explain(self) -> bool:
        """Whether it wants to know a price, and no answer."""
        return says_explain(self.sql)

    def id(self, key: str) -> str:
        """Under which it is charged once: the same form with anything else in it is another one."""
        more = (self.delta, self.parameters) if self.delta or self.parameters else ()
        return _id(key, self.sql, self.epsilon, *more)

    async def ask(self, hub: Hub, analyst: str, *, request_id: str) -> Release | BatchRelease:
        """Its answer. Several questions, with ; between them, are a batch: they cost together what stands beside."""
        session, values = hub.session(analyst, self.epsilon or None, self.delta or None), self._values()
        together = self._batch(values)
        if together:
            price, delta = positive(self.epsilon, "epsilon"), session.delta
            return await hub.batch(session, together, epsilon=price, delta=delta, request_id=request_id)
        answer = await hub.ask(session, self.sql, values, request_id=request_id)
        if isinstance(answer, Explanation):  # who shows the form looked before
            raise QueryRefused("EXPLAIN gives no answer: asking pays for one")
        return answer

    async def explain(self, hub: Hub, analyst: str) -> Explanation:
        """What it would cost, and how far off its answer would be. Free."""
        session, values = hub.session(analyst, self.epsilon or None, self.delta or None), self._values()
        together = self._batch(values)
        if together:
            price = positive(self.epsilon, "epsilon")
            return await hub.explain_batch(session, together, epsilon=price, delta=session.delta)
        return await hub.explain(session, self.sql, values)

    def _batch(self, values: Parameters) -> Sequence[str]:
        """The questions, where there are several."""
        texts = questions(self.sql)
        if len(texts) < 2:
            return ()
        if values:
            raise InvalidParameter("a batch has no parameters here", hint="write the values into its questions")
        if not self.epsilon:
            raise InvalidParameter("a batch has one price: write ε beside it")
        return texts

    def _values(self) -> Parameters:
        """The parameters, read as the API reads them."""
        if not self.parameters.strip():
            return ()
        if self.parameters.strip()[0] not in "[{":
            raise InvalidParameter("the parameters are no list", hint=_HINT)
        try:
            json.loads(self.parameters)  # a value of its own: nothing that would end where it is put
        except (ValueError, RecursionError):
            raise InvalidParameter("the parameters are no list of values", hint=_HINT) from None
        whole = f'{{"sql": "", "parameters": {self.parameters}}}'
        return asked(read_json(whole.encode("utf-8", "surrogatepass"))).parameters


def _id(key: str, *content: str) -> str:
    """The id of a form: of its key and of what was typed. The same form with another question is another one."""
    whole = "\x00".join((key, *content)).encode("utf-8", "surrogatepass")
    return f"console-{hashlib.sha256(whole).hexdigest()[:40]}"
