"""Durable debits: a charge is on the disk before the data are read, and stays there."""

from tacit.core import Grains, Zcdp
from tacit.ledger.amounts import Cap, Spent
from tacit.ledger.dataset import accept, adopt, open_books, second_ledger
from tacit.ledger.owner import accept_rollback, verify_file
from tacit.ledger.places import accept_ledger, has_ledger, open_ledger, verify_ledger
from tacit.ledger.protocol import Answers, Debits, Ledger, Log
from tacit.ledger.sqlite import SqliteLedger
from tacit.ledger.values import (
    AccountLine,
    Answer,
    Balance,
    BudgetLimits,
    Charge,
    Entry,
    Inquiry,
    Keep,
    KeptAnswer,
    KeptState,
    Replay,
    Reservation,
    Shelf,
    Verdict,
)

__all__ = [
    "AccountLine",
    "Answer",
    "Answers",
    "Balance",
    "BudgetLimits",
    "Cap",
    "Charge",
    "Debits",
    "Entry",
    "Grains",
    "Inquiry",
    "Keep",
    "KeptAnswer",
    "KeptState",
    "Ledger",
    "Log",
    "Replay",
    "Reservation",
    "Shelf",
    "Spent",
    "SqliteLedger",
    "Verdict",
    "Zcdp",
    "accept",
    "accept_ledger",
    "accept_rollback",
    "adopt",
    "has_ledger",
    "open_books",
    "open_ledger",
    "second_ledger",
    "verify_file",
    "verify_ledger",
]
