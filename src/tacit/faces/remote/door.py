"""The door to a dataset behind a server: asks over the HTTP API what the door beside the data asks the curator."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar, Unpack

from tacit.core import Number, positive, probability
from tacit.curator import Explanation, Release, Session
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.jobs.job_plan import BatchOptions, BatchPrice, Question
from tacit.errors import InvalidParameter, ServerUnreachable
from tacit.faces.budget_status import BudgetStatus
from tacit.faces.catalogue import Catalogue
from tacit.faces.remote.decoding import batch_of, catalogue_of, explanation_of, release_of, status_of
from tacit.faces.remote.encoding import batch_body, question_body
from tacit.faces.remote.transport import HttpTransport
from tacit.ledger import Entry, Inquiry
from tacit.noise import SYSTEM
from tacit.sql import Parameters

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RemoteDoor:
    """Answers, explains and keeps accounts by asking a server. A question that is sent twice is charged once."""

    server: HttpTransport

    def ask(
        self, text: str, parameters: Parameters = (), *, session: Session, request_id: str | None = None
    ) -> Release | Explanation:
        """The server's answer."""
        body = question_body(text, parameters, epsilon=session.epsilon, delta=session.delta)
        return _read(release_of, self.server.post("/v1/query", body, key=_key(request_id)))

    def batch(
        self, questions: Sequence[Question], *, session: Session, **options: Unpack[BatchOptions]
    ) -> BatchRelease:
        """The server's answers, for one price."""
        key = _key(options.get("request_id"))
        return _read(batch_of, self.server.post("/v1/batch", batch_body(questions, options), key=key))

    def explain(self, text: str, parameters: Parameters = (), *, session: Session) -> Explanation:
        """What the question would cost."""
        body = question_body(text, parameters, epsilon=session.epsilon, delta=session.delta)
        return _read(explanation_of, self.server.post("/v1/explain", body))

    def explain_batch(
        self, questions: Sequence[Question], *, session: Session, **price: Unpack[BatchPrice]
    ) -> Explanation:
        """What a batch would cost."""
        body = batch_body(questions, price)
        return _read(explanation_of, self.server.post("/v1/explain", body))

    def status(self, analyst: str) -> BudgetStatus:
        """What is spent and left, for whom the token is of."""
        return _read(status_of, self.server.get("/v1/budget"))

    def log(self, analyst: str) -> tuple[Entry, ...]:
        """The newest entries of whoever the token belongs to."""
        return _read(lambda told: tuple(map(_entry, told["entries"])), self.server.get("/v1/log"))

    def close(self) -> None:
        """Close the connections to the server that nobody uses."""
        self.server.close()


def open_remote(
    url: str,
    *,
    token: str | None,
    analyst: str | None = None,
    default_epsilon: Number | None = None,
    default_delta: Number | None = None,
    timeout: float | None = None,
    ca: Path | str | None = None,
    fingerprint: str | None = None,
) -> tuple[RemoteDoor, Session, Catalogue]:
    """The door to a server, who asks there, and its schema. Raises AccessDenied, and ServerUnreachable."""
    if token is None:
        raise InvalidParameter("a server asks for a token", hint='tacit.open("https://…", token="tacit_…")')
    door = RemoteDoor(HttpTransport(url, token, ca=ca, fingerprint=fingerprint, timeout=timeout))
    with ExitStack() as undo:
        undo.enter_context(closing(door))
        known = _read(catalogue_of, door.server.get("/v1/schema"))
        (owner,) = (account.name for account in door.status("").analysts)
        if analyst is not None and analyst.casefold() != owner.casefold():
            raise InvalidParameter(
                f"the token is not that of {analyst!r}", hint="leave analyst out: the token says who asks"
            )
        undo.pop_all()
    session = Session(
        owner,
        None if default_epsilon is None else positive(default_epsilon, "default_epsilon"),
        None if default_delta is None else probability(default_delta, "default_delta"),
    )
    return door, session, known


def _key(request_id: str | None) -> str:
    """The request's id, or one of our own: a connection that breaks must not make a question cost twice."""
    return request_id if request_id is not None else base64.urlsafe_b64encode(SYSTEM.draw(18).tobytes()).decode()


def _read(read: Callable[[dict[str, Any]], T], told: dict[str, Any]) -> T:
    """What a reply says, in our values."""
    try:
        return read(told)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise ServerUnreachable(
            "the server's reply cannot be read: it may be of another version of tacit", hint="install the same version"
        ) from None


def _entry(told: dict[str, Any]) -> Entry:
    amounts: dict[str, Any] = {
        name: None if told[name] is None else Fraction(told[name]) for name in ("epsilon", "delta", "rho", "slack")
    }
    names = ("seq", "act", "dataset", "analyst", "plan_hash", "policy_version", "request_id", "kind", "note")
    return Entry(
        **{name: told[name] for name in names},
        **amounts,
        at=datetime.strptime(told["at"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp(),
        groups=tuple(told["groups"]),
        charge=told["charge"],
        digest=None,
        asked=_inquiry(told),
        state="",
        hash=told["hash"],
        outcome=told["outcome"],
    )


def _inquiry(told: dict[str, Any]) -> Inquiry | None:
    if told["questions"] is None:
        return None
    return Inquiry(
        questions=tuple(each["sql"] for each in told["questions"]),
        parameters=tuple(json.dumps(each["parameters"]) for each in told["questions"]),
        tables=tuple(told["tables"]),
        words=tuple(told["words"] or ()),
    )
