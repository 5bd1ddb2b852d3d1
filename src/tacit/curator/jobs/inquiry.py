"""What the ledger keeps of a question: its canonical text, its parameters, its tables, and whose words it came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.accounting import refined_charge
from tacit.core import Loss
from tacit.curator.jobs.pricing import Session
from tacit.errors import QueryRefused
from tacit.ledger import Entry, Inquiry, Zcdp
from tacit.policy import Policy
from tacit.sql import DefaultPrice, Parameters, Query, parse
from tacit.sql.parsing.question import parameters_text, question_text, read_parameters, tables_of


@dataclass(frozen=True, slots=True)
class Replayed:
    """An entry of the log, planned anew from its question alone: what should have run, and been charged."""

    entry: Entry
    plan_hash: str
    loss: Loss
    zcdp: Zcdp

    @property
    def agrees(self) -> bool:
        """Whether that is what was charged."""
        charged = (self.entry.plan_hash, self.entry.epsilon, self.entry.delta, self.entry.rho, self.entry.slack)
        return charged == (self.plan_hash, self.loss.epsilon, self.loss.delta, self.zcdp.rho, self.zcdp.delta)


def replayed(entry: Entry, plan_hash: str, loss: Loss, zcdp: Zcdp) -> Replayed:
    """An entry beside what its question costs; of a finer telling, what that adds to what it says was paid before."""
    if entry.kind == "telling" and entry.epsilon is not None and 0 < entry.epsilon < loss.epsilon:
        loss, zcdp = refined_charge(Loss(loss.epsilon - entry.epsilon), loss)
    return Replayed(entry, plan_hash, loss, zcdp)


def inquiry(queries: Sequence[Query], policy: Policy, *, loss: Loss | None, words: Sequence[str]) -> Inquiry:
    """Several questions of a batch have no price of their own: `loss` is None. Words are kept if the policy says."""
    return Inquiry(
        questions=tuple(question_text(query, loss) for query in queries),
        parameters=tuple(parameters_text(query) for query in queries),
        tables=tuple(sorted({name for query in queries for name in tables_of(query, policy)})),
        words=tuple(words) if policy.dataset.keep_words else (),
    )


def asked_again(entry: Entry) -> tuple[list[tuple[str, Parameters]], Session]:
    """The questions that an entry keeps, with their values, and in whose name they were asked."""
    if not entry.is_question or entry.asked is None or entry.analyst is None:
        raise QueryRefused("the entry keeps no question that could be asked again")
    values = map(read_parameters, entry.asked.parameters)
    return list(zip(entry.asked.questions, values, strict=True)), Session(entry.analyst)


def is_batch(questions: Sequence[tuple[str, Parameters]]) -> bool:
    """Whether the price stands beside the questions rather than in them."""
    return len(questions) > 1 or isinstance(parse(*questions[0]).price, DefaultPrice)
